package worktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
)

// EndingExpired is the Ending of an Outcome whose job was not begun, because of its option ExpireAt.
const EndingExpired work.Ending = "expired"

// Outcome is what came of one attempt of a job.
type Outcome struct {
	ID     string
	Ending work.Ending     // what became of the job: done, to be retried, buried, ...
	Err    error           // what its handler or a middleware returned, the very value; *work.PanicError after a panic
	Reason string          // of a burial: why, as it stands in the morgue
	In     time.Duration   // until the next attempt, of one that is to be retried or is put off
	Result json.RawMessage // what the handler returned beside its error, as JSON; nil if it returns nothing, or failed

	Checkins []string          // what it said by Checkin
	Progress []json.RawMessage // what it said by Progress
	Log      []inspect.LogLine // what it wrote to Job.Logger
	// in middleware and handler, where they were called and returned without a verdict of their own
	Elapsed time.Duration

	enqueued []Enqueued
}

// Enqueued are the jobs that its handler and middleware enqueued through [work.EnqueuerFromContext], for the
// assertions of this package. None of them runs.
func (o *Outcome) Enqueued() []Enqueued { return slices.Clone(o.enqueued) }

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
	lines := &jobLogs{}
	options := r.Options()
	options.Only, options.MirrorJobLogs = []string{name}, true
	options.ShutdownTimeout = -1 // it is stopped when the attempt is over, or not worth waiting for
	options.Logger = slog.New(newRunLog(options.Logger.Handler(), lines))
	clone := pool.Clone(options)
	inside.Pool(clone).Times.Hasty = true

	ctx, cancel := within(t)
	defer cancel()
	for i := range entries { // so that there is a result to read
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
	enq := r.Enqueuer(t)
	for _, outcome := range outcomes {
		outcome.Log = lines.of(outcome.ID).all()
		outcome.enqueued = slices.DeleteFunc(r.Enqueued(),
			func(e Enqueued) bool { return e.Settings.Parent != outcome.ID })
		outcome.Result, err = work.Result[json.RawMessage](ctx, enq, outcome.ID)
		var none *work.NoResultError
		if err != nil && !errors.As(err, &none) && !errors.Is(err, work.ErrGone) {
			t.Errorf("worktest: the result of job %q cannot be read: %v", name, err)
		}
	}
	return outcomes
}

// ResultOf decodes the result of an outcome. It fails the test if there is none, or if it does not fit T.
func ResultOf[T any](t testing.TB, outcome *Outcome) T {
	t.Helper()
	var result T
	if outcome.Result == nil {
		t.Fatalf("worktest: the job has no result: it ended as %s, error: %v", outcome.Ending, outcome.Err)
	} else if err := json.Unmarshal(outcome.Result, &result); err != nil {
		t.Fatalf("worktest: the result %s does not fit a %T: %v", outcome.Result, result, err)
	}
	return result
}

// awaitOutcome waits until the first attempt of a job is over.
func awaitOutcome(t testing.TB, s *Spy, job work.Receipt) *Outcome {
	t.Helper()
	outcome := outcomeOf(await(t, s, fmt.Sprintf("job %q has not ended", job.Name), func(e event.Event) bool {
		outcome := outcomeOf(e)
		return outcome != nil && outcome.ID == job.ID
	}))
	for _, e := range s.Events() {
		said, ok := e.(event.JobCheckedIn)
		switch {
		case !ok || said.ID != job.ID:
		case said.Progress != nil:
			outcome.Progress = append(outcome.Progress, said.Progress)
		default:
			outcome.Checkins = append(outcome.Checkins, said.Message)
		}
	}
	return outcome
}

// outcomeOf is what an event tells of the end of an attempt; nil for all others.
func outcomeOf(e event.Event) *Outcome {
	switch e := e.(type) {
	case event.JobDone:
		return &Outcome{ID: e.ID, Ending: work.EndingDone, Elapsed: e.Elapsed}
	case event.JobFailed:
		return &Outcome{ID: e.ID, Ending: work.EndingRetry, Err: e.Err, In: e.RetryIn, Elapsed: e.Elapsed}
	case event.JobBuried:
		return &Outcome{ID: e.ID, Ending: work.EndingBury, Err: e.Err, Reason: e.Reason}
	case event.JobDiscarded:
		return &Outcome{ID: e.ID, Ending: work.EndingDiscard, Err: e.Err}
	case event.JobSnoozed:
		return &Outcome{ID: e.ID, Ending: work.EndingSnooze, Err: e.Err, In: e.For}
	case event.JobReleased:
		return &Outcome{ID: e.ID, Ending: work.EndingRelease, Err: e.Err}
	case event.JobCancelled:
		return &Outcome{ID: e.ID, Ending: work.EndingCancel, Err: work.ErrCancelled}
	case event.JobExpired:
		return &Outcome{ID: e.ID, Ending: EndingExpired}
	}
	return nil
}
