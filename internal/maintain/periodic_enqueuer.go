package maintain

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/schedule"
)

// PeriodicEnqueuer enqueues the jobs of all schedules of the namespace as their ticks come. Only the worker with the
// lease does, so that a fleet asks once; two at a time would do no harm, since Redis takes each tick once.
//
// It knows the schedules and the clock of Redis from heartbeats and replies, so it asks nothing while nothing is due.
// The clock of this machine is only used to tell how long ago that was.
type PeriodicEnqueuer struct {
	store    *rdb.Store
	homes    Homes
	emit     func(event.Event)
	declared func() *schedule.Declared
	encode   func(schedule.Job) []byte
	health   healthreport.Reporter
	wakeup   chan struct{} // has room for one: look again

	mu       sync.Mutex
	leased   bool
	stale    bool            // the schedules have to be read
	loaded   string          // the revision of those that were read
	lost     bool            // Redis may have forgotten what this pool declares
	redis    time.Time       // what the clock of Redis showed
	seen     time.Time       // when
	pending  bool            // others may still declare what this pool's service no longer has
	withdrew time.Time       // when that was looked at last
	looks    []chan struct{} // each is closed by the round that follows

	known []*scheduled // of the loop
}

// scheduled is a schedule as the enqueuer knows it.
type scheduled struct {
	*schedule.Schedule
	stored rdb.Schedule
	next   time.Time // its next tick; zero for one that has none
	unsure bool      // a tick was sent and not answered
	failed error     // why Redis refused its last tick
	after  time.Time // when to try again, by this machine
}

// The times of a PeriodicEnqueuer.
const (
	PeriodicRest  = time.Second      // it does not sleep longer: clocks may jump
	refusedRest   = time.Second      // until a tick that Redis refused is sent again
	withdrawRest  = 30 * time.Second // between two looks at who still declares what
	maxTickRounds = 8                // of one wake-up: each is one more answer that something was otherwise
)

// NewPeriodicEnqueuer is one that stores again what the program declares, where Redis has lost it, and that encodes the
// records of jobs like that.
func NewPeriodicEnqueuer(env Env, declared func() *schedule.Declared,
	encode func(schedule.Job) []byte) *PeriodicEnqueuer {
	homes := env.Homes
	if homes == nil {
		homes = everything{}
	}
	return &PeriodicEnqueuer{
		store: env.Store, homes: homes, emit: env.Emit, declared: declared, encode: encode,
		health: healthreport.Reporter{Component: "periodic enqueuer", Emit: env.Emit}, wakeup: make(chan struct{}, 1),
	}
}

// Undeclared says whether others may still declare what the program's service no longer has, as it was seen at that
// time. They are asked again half a minute later.
func (e *PeriodicEnqueuer) Undeclared(pending bool, seen time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending, e.withdrew = pending, seen
}

// Pending tells whether others may still declare what the program's service no longer has.
func (e *PeriodicEnqueuer) Pending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pending
}

// Told learns from a heartbeat. Told, Hint, Forgotten and Wake may be called concurrently.
func (e *PeriodicEnqueuer) Told(p rdb.Pulse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gained := p.Leased && !e.leased
	e.leased, e.redis, e.seen = p.Leased, p.Time, time.Now()
	e.stale = e.stale || gained || p.Leased && p.Revision != e.loaded
	e.Wake()
}

// Hint has the schedules read again.
func (e *PeriodicEnqueuer) Hint() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale = true
	e.Wake()
}

// Forgotten has what this pool declares stored again, if it is missing.
func (e *PeriodicEnqueuer) Forgotten() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost = true
	e.Wake()
}

// Wake has it look what is due.
func (e *PeriodicEnqueuer) Wake() {
	select {
	case e.wakeup <- struct{}{}:
	default:
	}
}

// Look has it look what is due, and returns when it has, or ctx has ended.
func (e *PeriodicEnqueuer) Look(ctx context.Context) {
	looked := make(chan struct{})
	e.mu.Lock()
	e.looks = append(e.looks, looked)
	e.mu.Unlock()
	e.Wake()
	select {
	case <-looked:
	case <-ctx.Done():
	}
}

// looked returns what ends the looks that were asked for before the round that it is called for.
func (e *PeriodicEnqueuer) looked() func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	looks := e.looks
	e.looks = nil
	return func() {
		for _, look := range looks {
			close(look)
		}
	}
}

// Run enqueues what is due until ctx ends.
func (e *PeriodicEnqueuer) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wakeup:
		case <-timer.C:
		}
		looked := e.looked()
		rest, err := e.Round(ctx)
		looked()
		if ctx.Err() != nil {
			return // a stop cut it off: no trouble
		}
		e.health.Report(err)
		if err == nil {
			failures = 0
		} else {
			rest = min(rest, max(failures.Next(), refusedRest/2))
		}
		timer.Reset(rest)
	}
}

// Round does what is to be done now, and returns how long there is nothing.
func (e *PeriodicEnqueuer) Round(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := e.keepDeclared(ctx); err != nil {
		return PeriodicRest, err
	}
	leased, err := e.refresh(ctx)
	if err != nil || !leased {
		return withdrawRest, err
	}
	if err := e.fire(ctx); err != nil {
		return PeriodicRest, err
	}
	return e.rest(), e.refused()
}

// keepDeclared stores again what Redis has lost, and removes what nobody declares any more.
func (e *PeriodicEnqueuer) keepDeclared(ctx context.Context) error {
	e.mu.Lock()
	lost, look := e.lost, e.pending && time.Since(e.withdrew) >= withdrawRest
	e.mu.Unlock()
	if lost {
		if err := e.declared().Restore(ctx); err != nil {
			return err
		}
	}
	pending, err := false, error(nil)
	if look {
		pending, err = e.declared().Withdraw(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if lost {
		e.lost = false
	}
	if look {
		e.pending, e.withdrew = pending, time.Now()
	}
	return err
}

// refresh reads the schedules if there is news. It returns whether this worker is the one to enqueue.
func (e *PeriodicEnqueuer) refresh(ctx context.Context) (leased bool, err error) {
	e.mu.Lock()
	leased, stale := e.leased, e.stale
	e.stale = false
	e.mu.Unlock()
	if !leased {
		e.known = nil
		return false, nil
	}
	if !stale {
		return true, nil
	}
	all, revision, err := e.store.Schedules(ctx)
	if err != nil {
		e.mu.Lock()
		e.stale = true // without a Wake: Run waits before it asks again
		e.mu.Unlock()
		return true, err
	}
	e.mu.Lock()
	e.loaded = revision
	e.mu.Unlock()
	e.know(all)
	return true, nil
}

// know takes up what was read. What cannot be understood is told once for each definition, and left alone.
func (e *PeriodicEnqueuer) know(all []rdb.Schedule) {
	before := map[string]*scheduled{}
	for _, s := range e.known {
		before[s.stored.ID] = s
	}
	e.known = e.known[:0]
	for _, stored := range all {
		s := before[stored.ID]
		if s == nil || string(s.stored.Definition) != string(stored.Definition) {
			made, err := schedule.Read(stored.ID, stored.Definition)
			if err != nil {
				e.emit(event.PeriodicBroken{Schedule: stored.ID, Err: err})
			}
			s = &scheduled{Schedule: made, unsure: s != nil && s.unsure}
		}
		s.stored = stored
		s.foresee()
		e.known = append(e.known, s)
	}
}

// foresee finds the next tick.
func (s *scheduled) foresee() {
	last, _ := rdb.LastTick(s.stored.Entry)
	switch {
	case s.Table == nil || s.Definition.Paused:
		s.next = time.Time{}
	case last.IsZero():
		s.next = time.UnixMilli(1) // Redis will say when its ticks begin
	default:
		s.next = s.Table.Next(last)
	}
}

// now is the clock of Redis, or a little before it: by the time that a reply took.
func (e *PeriodicEnqueuer) now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.redis.Add(time.Since(e.seen))
}

// Saw notes what the clock of Redis shows now.
func (e *PeriodicEnqueuer) Saw(redis time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.redis, e.seen = redis, time.Now()
}

// rest is how long nothing is due.
func (e *PeriodicEnqueuer) rest() time.Duration {
	rest, now := PeriodicRest, e.now()
	for _, s := range e.known {
		if !s.next.IsZero() && s.failed == nil && e.homes.HasSchedule(s.Schedule) {
			rest = min(rest, s.next.Sub(now))
		}
	}
	return max(rest, 0)
}

// refused is what Redis has refused and not taken since.
func (e *PeriodicEnqueuer) refused() error {
	var all []error
	for _, s := range e.known {
		var route *rdb.RouteError
		if s.failed != nil && !errors.As(s.failed, &route) { // that one is sent again by the map that there is then
			all = append(all, s.failed)
		}
	}
	return excerpt.Join(all...)
}
