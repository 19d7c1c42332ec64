package subscription

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/workgroup"
)

// Waiter waits for tokens on a connection of its own. A token is only a hint: the heartbeats of a worker that waits ask
// whether one of its queues has jobs.
//
// To begin and end a wait costs Redis the more the more names it is for. So one goes on, if nothing comes, for a time
// that grows with their number, and also while the fetcher looks up for a moment. A worker of many names that is called
// again and again waits for those that called last in between, and for all of them once in a while.
//
// It belongs to the goroutine of the fetcher; only Waits, Disturb and Poll are for others.
type Waiter struct {
	w       WaiterOptions
	trouble healthreport.Reporter
	poll    workgroup.Wakeup
	waits   atomic.Bool // the fetcher is in Wait
	disturb atomic.Bool // the connection may be dead

	queues  []string // in order
	version int      // of queues
	recent  []string // those that called last, the last one at the end

	conn     redisconn.Conn
	waiting  *tokenWait // nil while nothing is under way
	whole    time.Time  // when all names were sent last
	renewal  time.Time  // when the connection is to be made anew; zero if it is not
	failures int        // in a row
}

// WaiterOptions are what a Waiter needs.
type WaiterOptions struct {
	Driver  redisconn.Driver
	Store   *rdb.Store
	Life    context.Context   // of the worker: tokens are passed on as long as it lasts
	Timeout time.Duration     // of a call that passes tokens on, or repairs some
	Wakeup  <-chan struct{}   // ends a wait
	Emit    func(event.Event) // is told of trouble, and of broken keys
}

// The bounds of a wait. What it costs to wait for one name is below a microsecond of Redis.
const (
	FewNames     = 256                    // so many are always sent
	wholePerName = 100 * time.Microsecond // so often, for each of more names, all of them are sent while tokens come
	recentNames  = 32
	spanPerName  = 250 * time.Millisecond // for so long, for each name, a wait goes on if nothing comes
	// and at the least: proxies often take a connection for dead that is silent for a minute
	shortestSpan = 40 * time.Second
	longestSpan  = 10 * time.Minute
	trialSpan    = time.Second     // after a failure: that it is over is told by an answer
	renewWithin  = 5 * time.Second // all workers of a fleet may have to
)

// Woken is why a wait has ended.
type Woken int

// The reasons.
const (
	ByTime    Woken = iota
	ByToken         // a queue has called
	ByWakeup        // there is something else to look into
	ByPoll          // a heartbeat has seen that a queue has jobs
	ByTrouble       // it could not wait
)

// NewWaiter makes what waits for these names, which are in order.
func NewWaiter(options WaiterOptions, names []string) *Waiter {
	return &Waiter{
		w: options, trouble: healthreport.Reporter{Component: "blocker", Emit: options.Emit},
		poll:   workgroup.NewWakeup(),
		queues: slices.Clone(names),
	}
}

// Serve changes the names to wait for, which are in order.
func (b *Waiter) Serve(names []string) {
	b.queues = slices.Clone(names)
	b.recent = slices.DeleteFunc(b.recent, func(name string) bool { return !b.serves(name) })
	b.version++
}

func (b *Waiter) serves(name string) bool {
	_, serves := slices.BinarySearch(b.queues, name)
	return serves
}

// Waits tells whether the fetcher waits now.
func (b *Waiter) Waits() bool { return b.waits.Load() }

// Poll has the fetcher look which queues have jobs, since a heartbeat has seen that some have.
func (b *Waiter) Poll() { b.poll.Wake() }

// Disturb has the connection made anew soon: another one of the worker has failed, so this one may be dead too.
func (b *Waiter) Disturb() { b.disturb.Store(true) }

// Wait returns the name of a served queue that has called, or "" and why it has looked up. Some queues may not call.
func (b *Waiter) Wait(ctx context.Context, atMost time.Duration, except map[string]bool) (name string, why Woken) {
	b.waits.Store(true)
	defer b.waits.Store(false)
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for {
		name, err := b.begin(ctx, except)
		if err != nil {
			return "", b.failed(ctx, err)
		}
		if name, why = b.attend(ctx, name, timer.C); name != "" {
			if b.serves(name) {
				b.note(name)
				return name, ByToken
			}
			b.passOn(name) // the wait had begun before it was withdrawn
			continue
		}
		if why != ByToken {
			return "", why
		}
		if err := b.waiting.err; err != nil { // it is over, so nobody writes it
			return "", b.failed(ctx, err)
		}
		b.failures = 0 // for so long nobody called
		b.trouble.Report(nil)
	}
}

// attend takes what the wait under way brings. It returns a token, which may have come before, or why there is none:
// ByToken where the wait is over.
func (b *Waiter) attend(ctx context.Context, before string, end <-chan time.Time) (name string, why Woken) {
	var over chan struct{}
	if t := b.waiting; before == "" && t != nil {
		before, over = t.attend(true), t.over
	}
	why = ByTime
	if before == "" {
		select {
		case <-over:
			why = ByToken
		case <-b.w.Wakeup:
			why = ByWakeup
		case <-b.poll:
			why = ByPoll
		case <-end:
		case <-ctx.Done():
		}
	}
	if b.waiting != nil {
		before += b.waiting.attend(false)
	}
	return before, why
}

// begin makes sure that a wait is under way which misses no queue. It returns a token that the wait before has brought.
func (b *Waiter) begin(ctx context.Context, except map[string]bool) (name string, err error) {
	if b.disturb.Swap(false) && b.renewal.IsZero() {
		b.renewal = time.Now().Add(rand.N(renewWithin))
	}
	if t := b.waiting; t != nil {
		select {
		case <-t.over:
			b.waiting, name = nil, t.attend(true)
			if name == "" && t.err != nil {
				return "", t.err
			}
		default:
			if !b.outdated(except) {
				return "", nil
			}
			b.waiting, name = nil, t.end()
			b.disconnect()
		}
	}
	if name != "" {
		return name, nil
	}
	queues, span := b.choose(except)
	if len(queues) == 0 {
		return "", nil
	}
	if err := b.connect(ctx); err != nil {
		return "", err
	}
	// BLPOP serves the first key that has data: in a fixed order the last ones would starve.
	rand.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
	b.waiting = &tokenWait{version: b.version, except: maps.Clone(except), store: b.w.Store, passOn: b.passOn}
	b.waiting.begin(b.conn, queues, span)
	return "", nil
}

// outdated tells whether the wait under way misses a queue, or its connection may be dead.
func (b *Waiter) outdated(except map[string]bool) bool {
	t := b.waiting
	if t.version != b.version || b.conn.Broken() || !b.renewal.IsZero() && time.Now().After(b.renewal) {
		return true
	}
	for name := range t.except {
		if !except[name] {
			return true
		}
	}
	return false
}

// choose says for which queues to wait, and for how long if nothing comes.
func (b *Waiter) choose(except map[string]bool) ([]string, time.Duration) {
	now := time.Now()
	pauses := time.Duration(len(b.queues))*wholePerName - now.Sub(b.whole)
	if len(b.queues) > FewNames && pauses > redisconn.ShortestBlock {
		if recent := without(b.recent, except); len(recent) > 0 {
			return recent, pauses
		}
	}
	b.whole = now
	span := Span(len(b.queues))
	if b.failures > 0 {
		span = trialSpan
	}
	return without(b.queues, except), span*8/10 + rand.N(span*4/10)
}

// Span is how long a wait for so many names goes on if nothing comes, about.
func Span(names int) time.Duration {
	return min(longestSpan, max(shortestSpan, time.Duration(names)*spanPerName))
}

func without(names []string, except map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return except[name] })
}

// note notes that a queue has called.
func (b *Waiter) note(name string) {
	if len(b.queues) <= FewNames {
		return
	}
	b.recent = append(slices.DeleteFunc(b.recent, func(other string) bool { return other == name }), name)
	b.recent = b.recent[max(0, len(b.recent)-recentNames):]
}

// passOn gives a token to others.
func (b *Waiter) passOn(name string) {
	ctx, cancel := context.WithTimeout(b.w.Life, b.w.Timeout)
	defer cancel()
	_ = b.w.Store.Wake(ctx, []string{name}) // what is lost so the heartbeats of those who wait find
}

func (b *Waiter) connect(ctx context.Context) error {
	if b.conn != nil && b.conn.Broken() { // by a ctx that ended just when a token had come
		b.disconnect()
	}
	if b.conn == nil {
		conn, err := b.w.Driver.Dial(ctx)
		if err != nil {
			return err
		}
		b.conn, b.renewal = conn, time.Time{}
	}
	return nil
}

// failed is what comes of a wait that could not be.
func (b *Waiter) failed(ctx context.Context, err error) Woken {
	b.waiting = nil
	b.disconnect()
	if ctx.Err() != nil {
		return ByTime
	}
	b.failures++
	if !b.repair(ctx, err) {
		b.trouble.Report(err)
	}
	return ByTrouble
}

// repair removes tokens that are no list, after Redis has refused to wait because of some: one of them would keep all
// queues of this worker from calling. Nothing is lost with it, since what waits is in the ready set.
func (b *Waiter) repair(ctx context.Context, cause error) bool {
	var refused *redisconn.ServerError
	if !errors.As(cause, &refused) || refused.Code != "WRONGTYPE" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, b.w.Timeout)
	defer cancel()
	broken, err := b.w.Store.DropBrokenTokens(ctx, b.queues)
	for _, key := range broken {
		b.w.Emit(event.KeyBroken{Key: key})
	}
	return err == nil
}

// Backoff is how long to wait after a failure instead of waiting for a token.
func (b *Waiter) Backoff() time.Duration { return backoff.For(b.failures) }

// Close ends the wait that is under way. A token that came now is passed on when the worker leaves. The next Wait
// begins anew.
func (b *Waiter) Close() {
	if b.waiting != nil {
		b.waiting.end()
		b.waiting = nil
	}
	b.disconnect()
}

func (b *Waiter) disconnect() {
	if b.conn != nil {
		_ = b.conn.Close() // it is not used again
		b.conn = nil
	}
}
