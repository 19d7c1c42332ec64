package worktest

import (
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
)

// Run runs one job with these args, through the middleware and the handler that are registered with pool, and returns
// what came of it. It fails the test if the job cannot be run: a name that is not registered, args that the handler
// cannot take, a mistake in the set-up, or no end after 20 seconds. A handler that fails does not fail the test.
//
// The pool itself, its Redis and its observers have no part in it, and it need not be started: a
// [work.WorkerPool.Clone] on a Redis of its own runs the job, all as in production, and is stopped when Run returns.
// The clock of that Redis stands, so there is one attempt. What the handler enqueues through
// [work.EnqueuerFromContext] is in [Outcome.Enqueued]; through another Enqueuer it goes to where that one goes. None of
// it runs: a handler that waits for such jobs is tested with [Redis.Start] and [Drain]. Tests may call Run at the same
// time.
func Run(t testing.TB, pool *work.WorkerPool, name string, args ...any) *Outcome {
	t.Helper()
	return RunEntry(t, pool, work.Entry{Name: name, Args: args})
}

// RunTogether is [Run] of jobs that are taken together (see [work.Together]): a job for each of args, which is its only
// argument. They are one batch, that waits for no others, unless Most is fewer. It returns what came of each, in their
// order.
func RunTogether(t testing.TB, pool *work.WorkerPool, name string, args ...any) []*Outcome {
	t.Helper()
	entries := make([]work.Entry, len(args))
	for i, arg := range args {
		entries[i] = work.Entry{Name: name, Args: []any{arg}}
	}
	return runEntries(t, pool, name, entries)
}

// RunEntry is [Run] of an entry with options, a source, or a time: the clock is moved to it first.
func RunEntry(t testing.TB, pool *work.WorkerPool, entry work.Entry) *Outcome {
	t.Helper()
	return runEntries(t, pool, entry.Name, []work.Entry{entry})[0]
}

// runEntries runs jobs of one name.
func runEntries(t testing.TB, pool *work.WorkerPool, name string, entries []work.Entry) []*Outcome {
	t.Helper()
	r := New(t)
	r.Hold(t)
	options := r.Options()
	options.Only = []string{name}
	options.ShutdownTimeout = -1 // it is stopped when the attempt is over, or not worth waiting for
	clone := pool.Clone(options)
	inside.Pool(clone).Times.Hasty = true

	ctx, cancel := within(t)
	defer cancel()
	for i := range entries { // so that a result which cannot be kept fails the attempt
		entries[i].Options = append([]work.EnqueueOption{work.Retention(time.Hour)}, entries[i].Options...)
	}
	receipts, err := clone.Enqueuer().EnqueueMany(ctx, entries)
	if err != nil {
		_ = clone.Stop(ctx) // it has only a connection to close
		t.Fatalf("worktest: job %q cannot be run: %v", name, err)
	}
	if due := receipts[0].RunAt; due.After(r.Now()) {
		r.moveTo(ctx, func(time.Time) time.Time { return due })
	}
	r.Start(t, clone)
	outcomes := make([]*Outcome, len(receipts))
	for i, receipt := range receipts {
		outcomes[i] = awaitOutcome(t, r.spy, receipt)
	}
	if err := clone.Stop(ctx); err != nil { // after it the outcomes are in Redis
		t.Errorf("worktest: the pool that ran job %q did not stop in good order: %v", name, err)
	}
	for _, outcome := range outcomes {
		r.complete(outcome)
	}
	return outcomes
}
