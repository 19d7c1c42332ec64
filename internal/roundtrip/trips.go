package roundtrip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// Trips are those of one worker: of its settler, which calls Pipeline and says what it does by Ready, Meet, Idle
// and Rest, and of its fetcher, which calls Fetch and Seek. Each is one goroutine at a time.
type Trips struct {
	driver redisconn.Driver
	signs  Signs

	mu     sync.Mutex
	state  state
	seeks  bool          // the fetcher knows of work, and comes when there is room
	met    chan struct{} // closed when the fetcher has come, or will not; nil where nobody waits for it
	apart  bool          // each goes by itself
	alone  chan struct{} // closed when a fetch is over that is under way by itself; nil where none is
	behind *passenger    // the fetch that waits for a settlement
}

// Signs are what the trips look at. They are asked under a lock, and must not wait.
type Signs struct {
	Due    func() bool // an outcome waits for the settler, which is woken by it
	Urgent func() bool // a processor has nothing to do until a fetch is answered
	Soon   func() bool // a fetcher that knows of work comes now, or once a few short jobs have ended
}

// state is what the settler does.
type state int

const (
	away  state = iota // something else
	idle               // it waits for outcomes
	ready              // it is about to send a settlement
	under              // a settlement is under way
)

// patience is how long outcomes wait for a fetch that is under way, or expected: about as long as some round trips.
// Jobs may take longer than those before did, and a connection may hang.
const patience = time.Millisecond

// passenger is a fetch that waits for a settlement.
type passenger struct {
	call   redisconn.Call
	called chan struct{} // closed when it is in a pipeline, or is to go by itself
	over   chan struct{} // closed when that pipeline is answered; nil where it goes by itself

	reply redisconn.Reply
	err   error
}

// errCut is what a fetch gets whose settlement did not return.
var errCut = errors.New("the goroutine that sent a settlement, and with it this fetch, ended before the answer")

// New makes the trips of a worker whose calls go to that Redis.
func New(driver redisconn.Driver, signs Signs) *Trips { return &Trips{driver: driver, signs: signs} }

// Fetch makes a call, behind a settlement if one is about to be sent. An error means what one of Pipeline does.
func (t *Trips) Fetch(ctx context.Context, call redisconn.Call) (any, error) {
	p := t.board(call)
	if p == nil {
		return t.goAlone(ctx, call)
	}
	select {
	case <-p.called:
	case <-ctx.Done():
		if t.unboard(p) {
			return nil, fmt.Errorf("a fetch has waited for a settlement, and was not sent: %w", ctx.Err())
		}
	}
	if p.over == nil {
		return t.goAlone(ctx, call)
	}
	select {
	case <-p.over:
	case <-ctx.Done():
		return nil, ctx.Err() // it may count or not, like any other that is given up
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.reply.Value, p.reply.Err
}

// board returns nil where a fetch is to go by itself: no settlement is about to be sent, or it is urgent and would have
// to wait for the answer to one.
func (t *Trips) board(call redisconn.Call) *passenger {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.come()
	wait := false
	switch t.state {
	case idle:
		wait = t.signs.Due()
	case ready:
		wait = true
	case under:
		wait = !t.signs.Urgent()
	}
	if !wait || t.apart {
		t.alone = make(chan struct{})
		return nil
	}
	t.behind = &passenger{call: call, called: make(chan struct{})}
	return t.behind
}

// unboard has a fetch wait no longer. It returns false where it was called by now.
func (t *Trips) unboard(p *passenger) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.behind != p {
		return false
	}
	t.behind = nil
	return true
}

// goAlone sends a fetch by itself; alone is set.
func (t *Trips) goAlone(ctx context.Context, call redisconn.Call) (any, error) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		close(t.alone)
		t.alone = nil
	}()
	return redisconn.Do(ctx, t.driver, call)
}

// Pipeline makes the calls of a settlement, and behind them a fetch that waits. Of an error both learn, and each does
// what it would by itself. Afterwards the settler is taken to be about to send the next one, until it says otherwise.
func (t *Trips) Pipeline(ctx context.Context, calls ...redisconn.Call) (replies []redisconn.Reply, err error) {
	p := t.depart()
	defer func() { t.arrive(p, err == nil && replies != nil) }()
	if p == nil {
		return t.driver.Pipeline(ctx, calls...)
	}
	p.err = errCut
	all := append(calls[:len(calls):len(calls)], p.call)
	replies, p.err = t.driver.Pipeline(ctx, all...)
	if p.err != nil {
		return nil, p.err
	}
	p.reply = replies[len(calls)]
	return replies[:len(calls)], nil
}

// depart notes that a settlement is under way, and returns the fetch that goes along.
func (t *Trips) depart() *passenger {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = under
	p := t.behind
	if p == nil || t.apart {
		return nil
	}
	t.behind, p.over = nil, make(chan struct{})
	close(p.called)
	return p
}

// arrive notes that a settlement was answered, or not.
func (t *Trips) arrive(p *passenger, answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p != nil {
		close(p.over)
	}
	if t.apart = !answered; t.apart {
		t.state = away
		t.release()
		return
	}
	t.state = ready
}

// Meet is called behind Ready, when outcomes are about to be sent. It waits for a fetch that is under way by itself, since what ends
// meanwhile can go along, and for one that is about to be sent.
func (t *Trips) Meet(ctx context.Context) {
	for _, wait := range []func() chan struct{}{t.oneAlone, t.oneToCome} {
		c := wait()
		if c == nil {
			continue
		}
		timer := time.NewTimer(patience)
		select {
		case <-c:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (t *Trips) oneAlone() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.apart {
		return nil
	}
	return t.alone
}

func (t *Trips) oneToCome() chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.apart || !t.seeks || t.behind != nil || !t.signs.Soon() {
		return nil
	}
	t.met = make(chan struct{})
	return t.met
}

// Ready notes that the settler has seen outcomes, and takes and sends them: a fetch that comes goes along.
func (t *Trips) Ready() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = ready
}

// Idle notes that the settler waits for outcomes, and sends them as soon as they come.
func (t *Trips) Idle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state = idle; !t.signs.Due() {
		t.release()
	}
}

// Rest notes that the settler does something else that may take time: a fetch that waits goes by itself.
func (t *Trips) Rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = away
	t.release()
}

// release has a fetch that waits go by itself; mu is held.
func (t *Trips) release() {
	if p := t.behind; p != nil {
		t.behind, t.alone = nil, make(chan struct{})
		close(p.called)
	}
}

// Seek notes whether the fetcher knows of work, and fetches as soon as there is room.
func (t *Trips) Seek(seeks bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !seeks {
		t.come()
	}
	t.seeks = seeks
}

// come has a settler that waits for the fetcher go on; mu is held.
func (t *Trips) come() {
	t.seeks = false
	if t.met != nil {
		close(t.met)
		t.met = nil
	}
}
