package worktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
)

// EndingExpired is the Ending of an Outcome whose job was not begun, because of its option ExpireAt.
const EndingExpired work.Ending = "expired"

// Outcome is what came of one attempt of a job. It is the same from [Run], [WaitEnded] and [RunFlow]. What the job said
// and enqueued is that of all its attempts.
type Outcome struct {
	ID     string
	Ending work.Ending     // what became of the job: done, to be retried, buried, ...
	Err    error           // what its handler or a middleware returned, the very value; *work.PanicError after a panic
	Reason string          // of a burial: why, as it stands in the morgue
	In     time.Duration   // until the next attempt, of one that is to be retried or is put off
	Result json.RawMessage // what the handler returned beside its error, as JSON; nil if it returns nothing, or failed

	Checkins []string          // what it said by Checkin
	Progress []json.RawMessage // what it said by Progress
	Log      []inspect.LogLine // what it wrote to Job.Logger, unless the pool has another Logger than that of Options
	// in middleware and handler, where they were called and returned without a verdict of their own
	Elapsed time.Duration

	enqueued []Enqueued
}

// Enqueued are the jobs that its handler and middleware enqueued through [work.EnqueuerFromContext], for the
// assertions of this package. After [Run] none of them runs.
func (o *Outcome) Enqueued() []Enqueued { return slices.Clone(o.enqueued) }

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
	return outcomeOf(await(t, s, fmt.Sprintf("job %q has not ended", job.Name), func(e event.Event) bool {
		outcome := outcomeOf(e)
		return outcome != nil && outcome.ID == job.ID
	}))
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

// complete adds what no event of an end tells.
func (r *Redis) complete(o *Outcome) *Outcome {
	for _, e := range r.spy.Events() {
		said, ok := e.(event.JobCheckedIn)
		switch {
		case !ok || said.ID != o.ID:
		case said.Progress != nil:
			o.Progress = append(o.Progress, said.Progress)
		default:
			o.Checkins = append(o.Checkins, said.Message)
		}
	}
	if o.Ending == work.EndingDone {
		o.Result = r.results.of(o.ID)
	}
	o.Log = r.lines.of(o.ID).all()
	o.enqueued = slices.DeleteFunc(r.Enqueued(), func(e Enqueued) bool { return e.Settings.Parent != o.ID })
	return o
}

// results are what handlers have returned, by the ids of their jobs.
type results struct {
	mu   sync.Mutex
	byID map[string]json.RawMessage
}

func (r *results) note(id string, result []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]json.RawMessage{}
	}
	r.byID[id] = slices.Clone(result)
}

func (r *results) of(id string) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}
