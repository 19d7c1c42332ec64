package intake

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/replicas"
)

// ErrLost says that jobs which were stored are not proven to be there any more: the server that answers now does not
// know their call. They may have begun, and in rare cases be there all the same (its memory of calls was evicted).
var ErrLost = errors.New("it was stored, and is not proven to be there: the server that took over does not know the " +
	"call. A worker may have begun it. To repeat it without doubling it, use the same ID")

// pendingConfirmation is the wait for replicas of the jobs of one caller that one call has stored. The lane of the call
// is free meanwhile.
type pendingConfirmation struct {
	lanes    *lanes
	of       callID
	jobs     []rdb.NewJob
	problems map[int]rdb.Problem
	arrived  chan replicas.Result
	leave    func()

	resolved bool
	result   replicas.Result
}

// wanted is for how many replicas the jobs wait, and for how long, at the most.
func wanted(jobs []Job) (most int, wait time.Duration) {
	for i := range jobs {
		most, wait = max(most, jobs[i].Replicas), max(wait, jobs[i].Wait)
	}
	return most, wait
}

// confirm begins to wait for replicas, where the answer tells that something was stored.
func (l *lanes) confirm(a *answer, jobs []rdb.NewJob, most int, wait time.Duration) {
	if most == 0 || a.outcome != Stored || len(a.problems) == len(jobs) {
		return
	}
	c := &pendingConfirmation{lanes: l, of: a.of, jobs: jobs, problems: a.problems,
		arrived: make(chan replicas.Result, 1)}
	a.confirmation = c
	c.leave = c.of.lane.site.confirmer.Confirm(replicas.Call{Lane: c.of.lane.id, Number: c.of.number, Replicas: most,
		Until: time.Now().Add(wait)}, func(result replicas.Result) { c.arrived <- result })
}

// resolve waits for what comes of it, or until ctx ends or the intake is cut off: the jobs are stored then, as far as
// is known.
func (c *pendingConfirmation) resolve(ctx context.Context) {
	if c == nil || c.resolved {
		return
	}
	select {
	case c.result = <-c.arrived:
	case <-ctx.Done():
		c.leave()
		c.result.Err = context.Cause(ctx)
	case <-c.lanes.life.Done():
		c.leave()
		c.result.Err = c.lanes.Closed
	}
	c.resolved = true
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	lane := c.of.lane
	// What a later call of the lane was told came before any server could be asked that has executed this later one.
	c.result.Lost = c.result.Lost || lane.lost(c.of.number)
	if !c.result.Lost {
		lane.recent.add(c.of.number, c.jobs, c.problems)
	}
}

// tell adds to the result of a job that was stored what came of the wait.
func (c *pendingConfirmation) tell(result *Result) {
	switch {
	case c == nil:
	case c.result.Lost:
		*result = Result{Outcome: Unknown, Err: ErrLost}
	default:
		result.Confirmed, result.Few = c.result.Confirmed, c.result.Err
		result.Partition, result.Divided = c.of.lane.site.number, c.lanes.divided(c.of.lane.site)
	}
}
