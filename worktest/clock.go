package worktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/265d0351/work"
)

// Hold stops the clock of this Redis: nothing that waits for a time becomes due by itself any more, no retry, no
// scheduled job, no tick of a schedule, and nothing expires. The timeouts of handlers go by the real clock. Holding it
// again does nothing.
func (r *Redis) Hold(t testing.TB) {
	t.Helper()
	r.Advance(t, 0)
}

// Advance moves the clock of this Redis by d, which is zero or more, and holds it there. When it returns, the pools of
// Start and the enqueuers of Enqueuer go by that clock, and what has become due is on its way; [WaitFor] and [Drain]
// wait for it. Other pools follow within a second. Handlers that run are not disturbed.
//
// The event of a failed attempt comes a moment before Redis knows of the retry, which then counts from the time that it
// is there. So call [Drain] between the two; [DrainAll] and [DrainFor] do.
func (r *Redis) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	if d < 0 {
		t.Fatalf("worktest: the clock cannot be moved by %s: give zero or more", d)
	}
	r.moveTo(t.Context(), func(now time.Time) time.Time { return now.Add(d) })
}

// Now is what the clock of this Redis shows.
func (r *Redis) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

func (r *Redis) now() time.Time {
	if r.held.IsZero() {
		return time.Now()
	}
	return r.held
}

// moveTo sets the clock to what next makes of its time, and holds it there.
func (r *Redis) moveTo(ctx context.Context, next func(now time.Time) time.Time) {
	r.mu.Lock()
	// Redis counts in these: a job is due at one, not a part of it later
	r.held = next(r.now()).Truncate(time.Millisecond)
	r.server.SetTime(r.held)
	pools, enqueuers := r.pools, r.enqueuers
	r.mu.Unlock()
	r.tell(ctx, pools, enqueuers)
}

// tell lets those who estimate the clock of Redis know it. Each is asked at the same time as the others, and what fails
// is no matter: they learn it from the next reply.
func (r *Redis) tell(ctx context.Context, pools []*work.WorkerPool, enqueuers []*work.Enqueuer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var told sync.WaitGroup
	for _, pool := range pools {
		told.Go(func() { pool.Poll(ctx) })
	}
	for _, enq := range enqueuers {
		told.Go(func() { _ = enq.SyncClock(ctx) })
	}
	told.Wait()
}
