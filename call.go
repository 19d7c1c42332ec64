package work

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// fate is what became of the jobs of a call.
type fate int

const (
	unknown fate = iota // an attempt was not answered, and may be executed, or may have been
	stored              // except those with problems
	notStored
)

// answer is what a caller is told.
type answer struct {
	fate     fate
	at       time.Time           // by the clock of Redis, when stored
	problems map[int]rdb.Problem // by index, when stored
	missing  map[int]string      // by index: the object that was not there
	owners   map[int]string      // by index: the job that has the lock
	later    map[int]answer      // by index: what came of sending that job alone again
	replicas int                 // that have it, where a job wanted some
	err      error               // otherwise
}

// call is one numbered call of a lane, with the parcels that go with it. It is sent until it is answered, or refused,
// or nobody waits for it any longer; always with the same number, so it counts once.
type call struct {
	lanes *lanes
	lane  *lane

	// Guarded by the mu of lanes.
	parcels []*parcel
	waiting int  // callers
	doubt   bool // an attempt is under way or was not answered
	trouble error
	cancel  context.CancelFunc
}

// run makes the call and answers its parcels. ctx ends when nobody waits any longer.
func (c *call) run(ctx context.Context) {
	defer func() {
		if value := recover(); value != nil {
			c.finish(answer{err: &PanicError{Value: value, Stack: cutStack(string(debug.Stack()))}})
		}
	}()
	for attempt := 1; ; attempt++ {
		jobs, first := c.begin()
		if len(jobs) == 0 {
			return // everybody left before anything was sent
		}
		sent := c.lanes.clock.ours()
		reply, err := c.lanes.store.Enqueue(ctx, c.lane.id, c.lane.number, jobs)
		if err == nil {
			if first {
				c.lanes.clock.saw(reply.Time, sent, c.lanes.clock.ours())
			}
			c.finish(answer{fate: stored, at: reply.Time, problems: reply.Problems, missing: reply.Missing,
				owners: reply.Owners, replicas: reply.Confirmed})
			return
		}
		v := judge(err)
		c.failed(v, first, over(ctx))
		if !v.again || !backoff.Pause(ctx, backoff.For(attempt)) {
			c.giveUp(ctx, v)
			return
		}
	}
}

// over tells whether ctx has ended, or is about to: sockets watch its deadline as well, and may come first.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// begin returns the jobs of the next attempt, and whether no attempt before may have counted. Then, and only then,
// those whose callers have left need not go with it.
func (c *call) begin() (jobs []rdb.NewJob, first bool) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	first = !c.doubt
	c.doubt = true
	c.lane.call = c
	if c.cancel != nil && c.lanes.life.Err() != nil {
		c.cancel() // it began after what was under way had been cut off
	}
	if first {
		c.dropLeft()
	}
	if len(c.parcels) == 1 {
		return c.parcels[0].jobs, first
	}
	jobs = c.lane.jobs[:0]
	for _, p := range c.parcels {
		jobs = append(jobs, p.jobs...)
	}
	c.lane.jobs = jobs
	return jobs, first
}

func (c *call) dropLeft() {
	kept := c.parcels[:0]
	for _, p := range c.parcels {
		if !p.left {
			kept = append(kept, p)
		}
	}
	clear(c.parcels[len(kept):])
	c.parcels = kept
}

// failed notes what came of an attempt. What an attempt says that was cut short by the end of ctx is worth less than
// what the one before said.
func (c *call) failed(v verdict, first, cutShort bool) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	if first && !v.mayCount {
		c.doubt = false
	}
	if c.trouble == nil || !cutShort {
		c.trouble = v.err
	}
}

// leave is called, with mu held, when a caller waits no longer.
func (c *call) leave(p *parcel, cause error) answer {
	p.left = true
	c.waiting--
	if c.waiting == 0 && c.cancel != nil {
		c.cancel()
	}
	a := answer{fate: notStored, err: blame(cause, c.trouble)}
	if c.doubt {
		a.fate = unknown
	}
	if c.trouble == nil {
		a.err = fmt.Errorf("no reply from Redis yet: %w", cause)
	}
	return a
}

func (c *call) setCancel(cancel context.CancelFunc) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	c.cancel = cancel
	if c.waiting == 0 {
		cancel()
	}
}

// giveUp answers a call that is not made again.
func (c *call) giveUp(ctx context.Context, v verdict) {
	c.lanes.mu.Lock()
	a := answer{fate: notStored, err: v.err}
	if c.doubt {
		a.fate = unknown
	}
	trouble := c.trouble
	c.lanes.mu.Unlock()
	switch {
	case c.lanes.life.Err() != nil:
		a.err = blame(ErrClosed, trouble)
	case v.again:
		a.err = blame(context.Cause(ctx), trouble)
	}
	c.finish(a)
}

// blame names why the waiting ended and what was wrong with Redis until then.
func blame(cause, trouble error) error {
	switch {
	case trouble == nil:
		return cause
	case errors.Is(trouble, cause):
		return trouble
	}
	return fmt.Errorf("%w: %w", cause, trouble)
}

// finish gives each parcel its part of the answer.
func (c *call) finish(whole answer) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	from := 0
	for _, p := range c.parcels {
		p.answer = whole
		p.answer.problems = part(whole.problems, from, len(p.jobs))
		p.answer.missing = part(whole.missing, from, len(p.jobs))
		p.answer.owners = part(whole.owners, from, len(p.jobs))
		p.answered = true
		from += len(p.jobs)
		if p.inLine {
			p.arrived <- struct{}{}
		}
	}
}

// part is what concerns the jobs from..from+n, counted from the first of these.
func part[V any](whole map[int]V, from, n int) map[int]V {
	var own map[int]V
	for i, value := range whole {
		if i >= from && i < from+n {
			if own == nil {
				own = map[int]V{}
			}
			own[i-from] = value
		}
	}
	return own
}

// verdict is what an error of an attempt means.
type verdict struct {
	err      error
	mayCount bool // it may have been executed, or still be
	again    bool // another attempt may go well
}

// judge says what an error of an attempt means.
func judge(err error) verdict {
	err = tame(err) // a connection may be the program's
	class := rdb.Classify(err)
	if rdb.IsFull(err) {
		err = fmt.Errorf("%w: %w", ErrRedisFull, err)
	}
	return verdict{err: err, mayCount: class.MayCount, again: class.Again}
}
