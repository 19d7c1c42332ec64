package replicas

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/rdb"
)

const (
	// mostWitnesses is how many connections wait at a time. Each is held by one WAIT for as long as replicas lag: with
	// four of them, spread over that time, a call waits an eighth of the lag for its turn, on the average.
	mostWitnesses = 4
	// idleAfter is how long a connection is kept that nobody needs.
	idleAfter = 5 * time.Second
	// mostCalls is how many calls one question is about.
	mostCalls = 1000
	// grain is how exactly the ends of waits are kept: those of a question that end within so long end together.
	grain = 10 * time.Millisecond
	// longestPause is how long a witness waits at the most before it asks again after a failure: calls have not much
	// time.
	longestPause = 500 * time.Millisecond
	// grace is how long an answer may take beyond the wait itself.
	grace = time.Second
)

// Witness is a connection on which Redis is asked. *rdb.Witness is one.
type Witness interface {
	// Ask asks what the server knows of lanes, and for its replicas: see rdb.Witness.
	Ask(ctx context.Context, lanes []string, replicas int, wait time.Duration) (rdb.Testimony, error)
	Close() error
}

// Of dials the witnesses of a store.
func Of(store *rdb.Store) func(context.Context) (Witness, error) {
	return func(ctx context.Context) (Witness, error) {
		witness, err := store.Witness(ctx)
		if err != nil {
			return nil, err
		}
		return witness, nil
	}
}

// Config is what a Confirmer is made of.
type Config struct {
	Dial   func(ctx context.Context) (Witness, error)
	Closed error // what those get who wait when it is closed
}

// Call is a call that was answered, and is to be on replicas.
type Call struct {
	Lane     string
	Number   int64
	Replicas int       // how many are to have it, one at the least
	Until    time.Time // when it is not waited for any longer
}

// Result is what came of a wait.
type Result struct {
	Confirmed int   // how many replicas have it, as far as is known
	Lost      bool  // the server that answers now does not have the call: a failover has lost it
	Err       error // what was in the way of asking; may be nil where there were too few
}

// Confirmer waits for replicas. It has no goroutines and no connections while nobody waits, and for a few seconds after
// that. Its methods may be called concurrently.
type Confirmer struct {
	Config
	life   context.Context
	end    context.CancelFunc
	turn   chan struct{} // held by the witness that gathers what to ask for next
	filled chan struct{}

	mu        sync.Mutex
	line      []*waiting
	witnesses int
	asking    int           // witnesses
	asked     time.Time     // when the last question was sent
	took      time.Duration // that the last answer took
	closed    bool
	running   sync.WaitGroup
}

// waiting is a call with who waits for it.
type waiting struct {
	Call
	answer func(Result) // nil once it has been called, or nobody waits any longer
}

// New makes a confirmer; the caller closes it.
func New(config Config) *Confirmer {
	c := &Confirmer{Config: config, turn: make(chan struct{}, 1), filled: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Confirm waits for the replicas of a call, and calls answer once, in a goroutine of its own that must not be held up.
// It is not called after leave, which says that nobody waits any longer, unless it is under way already.
func (c *Confirmer) Confirm(call Call, answer func(Result)) (leave func()) {
	w := &waiting{Call: call, answer: answer}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		answer(Result{Err: c.Closed})
		return func() {}
	}
	c.line = append(c.line, w)
	c.hire()
	c.mu.Unlock()
	c.signal()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.answer = nil
		c.line = slices.DeleteFunc(c.line, func(other *waiting) bool { return other == w })
	}
}

// hire begins with one more witness where all are asking and something stands in line; mu is held.
func (c *Confirmer) hire() {
	if !c.closed && len(c.line) > 0 && c.asking == c.witnesses && c.witnesses < mostWitnesses {
		c.witnesses++
		c.running.Go(c.serve)
	}
}

func (c *Confirmer) signal() {
	select {
	case c.filled <- struct{}{}:
	default:
	}
}

// Close ends all waits, and returns when nothing runs any more.
func (c *Confirmer) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
	c.mu.Lock()
	rest := c.line
	c.line = nil
	c.mu.Unlock()
	for _, w := range rest {
		c.tell(w, Result{Err: c.Closed})
	}
}

// tell answers a call, unless nobody waits for it.
func (c *Confirmer) tell(w *waiting, result Result) {
	c.mu.Lock()
	answer := w.answer
	w.answer = nil
	c.mu.Unlock()
	if answer != nil {
		answer(result)
	}
}

// serve asks on one connection for as long as there is something to ask for.
func (c *Confirmer) serve() {
	var witness Witness
	defer func() {
		if witness != nil {
			_ = witness.Close() // nothing of it is needed
		}
	}()
	failures := 0
	for batch := c.next(); batch != nil; batch = c.next() {
		err := c.ask(&witness, batch)
		if failures++; err == nil {
			failures = 0
		} else {
			backoff.Pause(c.life, min(backoff.For(failures), longestPause))
		}
		c.mu.Lock()
		c.asking--
		c.mu.Unlock()
		c.signal()
	}
}

// next waits for calls and takes those for one question; nil when there were none for long, or it is closed: the
// witness is not counted any more then. One witness at a time gathers. While others wait for answers it lets some time
// pass between two questions, so that they are spread over the time that an answer takes: all calls would go with the
// first one otherwise, and those that come just after it wait for all of that.
func (c *Confirmer) next() []*waiting {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.life.Done():
	}
	for c.life.Err() == nil {
		batch, pause := c.cut()
		if batch != nil {
			return batch
		}
		if pause > 0 {
			backoff.Pause(c.life, pause)
			continue
		}
		timer := time.NewTimer(idleAfter)
		select {
		case <-c.life.Done():
		case <-c.filled:
		case <-timer.C:
			if c.retire() {
				return nil
			}
		}
		timer.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.witnesses--
	return nil
}

// retire takes a witness out of the count, unless something has come for it.
func (c *Confirmer) retire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) > 0 {
		return false
	}
	c.witnesses--
	return true
}

// cut takes the calls for one question, all for the same number of replicas, or says how long to wait before the next.
func (c *Confirmer) cut() (batch []*waiting, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.line) == 0 {
		return nil, 0
	}
	if c.asking > 0 {
		if pause = time.Until(c.asked.Add(c.took / mostWitnesses)); pause > 0 {
			return nil, pause
		}
	}
	replicas := c.line[0].Replicas
	c.line = slices.DeleteFunc(c.line, func(w *waiting) bool {
		if w.Replicas != replicas || len(batch) == mostCalls {
			return false
		}
		batch = append(batch, w)
		return true
	})
	c.asking++
	c.asked = time.Now()
	c.hire()
	return batch, 0
}

// ask asks one question, and answers the calls of which it is the last one. The others stand in line again. What has
// failed is asked on another connection the next time.
func (c *Confirmer) ask(witness *Witness, batch []*waiting) error {
	first := slices.MinFunc(batch, func(a, b *waiting) int { return a.Until.Compare(b.Until) }).Until
	wait := max(grain, time.Until(first))
	ctx, cancel := context.WithTimeout(c.life, wait+grace)
	defer cancel()
	lanes, at := lanesOf(batch)
	began, fresh := time.Now(), *witness == nil
	said, err := c.question(ctx, witness, lanes, batch[0].Replicas, wait)
	if err != nil && *witness != nil {
		_ = (*witness).Close() // it is of no use any more
		*witness = nil
	}
	took := time.Since(began)
	var again []*waiting
	doubted := false
	for i, w := range batch {
		over := time.Until(w.Until) < grain
		switch {
		case c.life.Err() != nil:
			c.tell(w, Result{Err: c.Closed})
		case err != nil && over:
			c.tell(w, Result{Err: err})
		case err != nil:
			again = append(again, w)
		case !said.Lanes[at[i]].Has(w.Number) && !fresh:
			// It may be this connection that leads to the wrong server: one that was cut off from the others.
			doubted = true
			if over {
				c.tell(w, Result{})
			} else {
				again = append(again, w)
			}
		case !said.Lanes[at[i]].Has(w.Number):
			c.tell(w, Result{Lost: true})
		case said.Confirmed >= w.Replicas || over || said.Unable != nil:
			c.tell(w, Result{Confirmed: said.Confirmed, Err: said.Unable})
		default:
			again = append(again, w)
		}
	}
	if doubted {
		_ = (*witness).Close() // as above
		*witness = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.took = took
	}
	again = slices.DeleteFunc(again, func(w *waiting) bool { return w.answer == nil })
	c.line = append(again, c.line...)
	return err
}

// question asks, on a new connection where there is none.
func (c *Confirmer) question(ctx context.Context, witness *Witness, lanes []string, replicas int,
	wait time.Duration) (said rdb.Testimony, err error) {
	if *witness == nil {
		dialled, err := c.Dial(ctx)
		if err != nil {
			return said, errchain.Tame(err)
		}
		*witness = dialled
		wait = grain // another server may answer: whether it has the calls is known before it waits for replicas
	}
	said, err = (*witness).Ask(ctx, lanes, replicas, wait)
	if err == nil && len(said.Lanes) < len(lanes) {
		err = errors.New("redis has answered for fewer lanes than it was asked for")
	}
	return said, errchain.Tame(err)
}

// lanesOf are the lanes of the calls, each once, and which of them is that of each call.
func lanesOf(batch []*waiting) (lanes []string, at []int) {
	known := map[string]int{}
	for _, w := range batch {
		n, ok := known[w.Lane]
		if !ok {
			n = len(lanes)
			known[w.Lane] = n
			lanes = append(lanes, w.Lane)
		}
		at = append(at, n)
	}
	return lanes, at
}
