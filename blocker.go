package work

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// blocker waits for tokens on a connection of its own. A token is only a hint: the heartbeats of a worker that waits
// ask whether one of its queues has jobs.
//
// To begin and end a wait costs Redis the more the more names it is for. So one goes on, if nothing comes, for a time
// that grows with their number, and also while the fetcher looks up for a moment. A worker of many names that is called
// again and again waits for those that called last in between, and for all of them once in a while.
type blocker struct {
	worker  *worker
	health  health
	queues  []string
	version int      // of queues
	recent  []string // those that called last, the last one at the end

	conn    rdb.Conn
	waiting *tokenWait // nil while nothing is under way
	whole   time.Time  // when all names were sent last
	renewal time.Time  // when the connection is to be made anew; zero if it is not
	lap     int        // failures in a row
}

// The bounds of a wait. What it costs to wait for one name is below a microsecond of Redis.
const (
	fewNames     = 256                    // so many are always sent
	wholePerName = 100 * time.Microsecond // so often, for each of more names, all of them are sent while tokens come
	recentNames  = 32
	spanPerName  = 250 * time.Millisecond // for so long, for each name, a wait goes on if nothing comes
	// and at the least: proxies often take a connection for dead that is silent for a minute
	shortestSpan = 40 * time.Second
	longestSpan  = 10 * time.Minute
	trialSpan    = time.Second     // after a failure: that it is over is told by an answer
	renewWithin  = 5 * time.Second // all workers of a fleet may have to
)

// waking is why a wait has ended.
type waking int

const (
	wokenByTime waking = iota
	wokenByToken
	wokenByNudge
	wokenByLook    // a heartbeat has seen that a queue has jobs
	wokenByTrouble // it could not wait
)

func newBlocker(w *worker) *blocker {
	names, _ := w.pool.roster.now()
	return &blocker{worker: w, health: health{component: "blocker", events: w.events}, queues: slices.Clone(names)}
}

// serve changes the names to wait for.
func (b *blocker) serve(names []string) {
	b.queues = slices.Clone(names)
	b.recent = slices.DeleteFunc(b.recent, func(name string) bool {
		_, serves := slices.BinarySearch(names, name)
		return !serves // its token would come again and again
	})
	b.version++
}

// wait returns the name of a queue that called, but for some, or "" and why it has looked up.
func (b *blocker) wait(ctx context.Context, atMost time.Duration, but map[string]bool) (name string, why waking) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		name, err := b.begin(ctx, but)
		if err != nil {
			return "", b.failed(ctx, err)
		}
		var over chan struct{}
		if w := b.waiting; name == "" && w != nil {
			name, over = w.attend(true), w.over
		}
		why = wokenByTime
		if name == "" {
			select {
			case <-over:
				why = wokenByToken
			case <-b.worker.nudged.given:
				why = wokenByNudge
			case <-b.worker.looks.given:
				why = wokenByLook
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		if b.waiting != nil {
			name += b.waiting.attend(false)
		}
		switch {
		case name != "":
			b.note(name)
			return name, wokenByToken
		case why != wokenByToken:
			return "", why
		}
		if err := b.waiting.err; err != nil { // it is over, so nobody writes it
			return "", b.failed(ctx, err)
		}
		b.lap = 0 // for so long nobody called
		b.health.report(nil)
	}
}

// begin makes sure that a wait is under way which misses no queue. It returns a token that the wait before has brought.
func (b *blocker) begin(ctx context.Context, but map[string]bool) (name string, err error) {
	if b.worker.disturbed.Swap(false) && b.renewal.IsZero() {
		b.renewal = time.Now().Add(rand.N(renewWithin))
	}
	if w := b.waiting; w != nil {
		select {
		case <-w.over:
			b.waiting, name = nil, w.attend(true)
			if name == "" && w.err != nil {
				return "", w.err
			}
		default:
			if !b.outdated(but) {
				return "", nil
			}
			b.waiting, name = nil, w.end()
			b.disconnect()
		}
	}
	if name != "" {
		return name, nil
	}
	queues, span := b.choose(but)
	if len(queues) == 0 {
		return "", nil
	}
	if err := b.connect(ctx); err != nil {
		return "", err
	}
	// BLPOP serves the first key that has data: in a fixed order the last ones would starve.
	rand.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
	b.waiting = &tokenWait{version: b.version, but: maps.Clone(but), store: b.worker.store, passOn: b.passOn}
	b.waiting.begin(b.conn, queues, span)
	return "", nil
}

// outdated tells whether the wait under way misses a queue, or its connection may be dead.
func (b *blocker) outdated(but map[string]bool) bool {
	w := b.waiting
	if w.version != b.version || b.conn.Broken() || !b.renewal.IsZero() && time.Now().After(b.renewal) {
		return true
	}
	for name := range w.but {
		if !but[name] {
			return true
		}
	}
	return false
}

// choose says for which queues to wait, and for how long if nothing comes.
func (b *blocker) choose(but map[string]bool) ([]string, time.Duration) {
	now := time.Now()
	pauses := time.Duration(len(b.queues))*wholePerName - now.Sub(b.whole)
	if len(b.queues) > fewNames && pauses > rdb.ShortestBlock {
		if recent := without(b.recent, but); len(recent) > 0 {
			return recent, pauses
		}
	}
	b.whole = now
	span := spanFor(len(b.queues))
	if b.lap > 0 {
		span = trialSpan
	}
	return without(b.queues, but), span*8/10 + rand.N(span*4/10)
}

// spanFor is how long a wait for so many names goes on if nothing comes, about.
func spanFor(names int) time.Duration {
	return min(longestSpan, max(shortestSpan, time.Duration(names)*spanPerName))
}

func without(names []string, but map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return but[name] })
}

// note notes that a queue has called. A wait that began before a name was withdrawn may still bring its token.
func (b *blocker) note(name string) {
	if _, serves := slices.BinarySearch(b.queues, name); !serves || len(b.queues) <= fewNames {
		return
	}
	b.recent = append(slices.DeleteFunc(b.recent, func(other string) bool { return other == name }), name)
	b.recent = b.recent[max(0, len(b.recent)-recentNames):]
}

// passOn gives a token to others.
func (b *blocker) passOn(name string) {
	ctx, cancel := context.WithTimeout(b.worker.life, fetchTimeout)
	defer cancel()
	_ = b.worker.store.Wake(ctx, []string{name}) // what is lost so the heartbeats of those who wait find
}

func (b *blocker) connect(ctx context.Context) error {
	if b.conn != nil && b.conn.Broken() { // by a ctx that ended just when a token had come
		b.disconnect()
	}
	if b.conn == nil {
		conn, err := b.worker.driver.Dial(ctx)
		if err != nil {
			return err
		}
		b.conn, b.renewal = conn, time.Time{}
	}
	return nil
}

// failed is what comes of a wait that could not be.
func (b *blocker) failed(ctx context.Context, err error) waking {
	b.waiting = nil
	b.disconnect()
	if ctx.Err() != nil {
		return wokenByTime
	}
	b.lap++
	if !b.repair(ctx, err) {
		b.health.report(err)
	}
	return wokenByTrouble
}

// repair removes tokens that are no list, after Redis has refused to wait because of some: one of them would keep all
// queues of this worker from calling. Nothing is lost with it, since what waits is in the ready set.
func (b *blocker) repair(ctx context.Context, cause error) bool {
	var refused *rdb.ServerError
	if !errors.As(cause, &refused) || refused.Code != "WRONGTYPE" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	broken, err := b.worker.store.DropBrokenTokens(ctx, b.queues)
	for _, key := range broken {
		b.worker.events.emit(event.KeyBroken{Key: key})
	}
	return err == nil
}

// backoff is how long to wait after a failure instead of waiting for a token.
func (b *blocker) backoff() time.Duration { return backoff.For(b.lap) }

// close ends the wait that is under way. A token that came now is passed on when the worker leaves.
func (b *blocker) close() {
	if b.waiting != nil {
		b.waiting.end()
		b.waiting = nil
	}
	b.disconnect()
}

func (b *blocker) disconnect() {
	if b.conn != nil {
		_ = b.conn.Close() // it is not used again
		b.conn = nil
	}
}
