package worktest

import (
	"fmt"
	"testing"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// WaitEnded waits until the job of that id has ended, in a pool with the Options of r, and returns how. It does not
// matter whether that was before the call. An attempt that is followed by another is no end: what is to be retried at a
// later time needs [Redis.Advance] or [DrainAll], and a job in the morgue has ended. When it returns, the end is in
// Redis. After 20 seconds it ends the test.
func WaitEnded(t testing.TB, r *Redis, id string) *Outcome {
	t.Helper()
	end := await(t, r.spy, fmt.Sprintf("job %q has not ended", id), func(e event.Event) bool {
		outcome := outcomeOf(e)
		return outcome != nil && outcome.ID == id && outcome.ended()
	})
	ctx, cancel := within(t)
	defer cancel()
	_ = r.Enqueuer(t).WaitEnd(ctx, id) // the event comes a moment before Redis knows; how the job ended it has told
	return r.complete(outcomeOf(end))
}

// ended tells whether no other attempt follows by itself.
func (o *Outcome) ended() bool {
	switch o.Ending {
	case work.EndingRetry, work.EndingSnooze, work.EndingRelease:
		return false
	}
	return true
}
