package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
)

// batchCall is one numbered call of a lane, with the requests that go with it. It is sent until it is answered, or
// refused, or nobody waits for it any longer; always with the same number, so it counts once. Where it surely was not
// executed, and another partition may take its jobs, its callers get them back.
type batchCall struct {
	lanes   *lanes
	lane    *lane
	version int64 // of the map by which its jobs go where they go: the same in all attempts
	began   time.Time

	// Guarded by the mu of lanes.
	requests  []*pendingRequest
	first     [1]*pendingRequest // room for a call of one
	waiting   int                // callers
	uncertain bool               // an attempt is under way or was not answered
	trouble   error
	cancel    context.CancelFunc // of one that is made in a goroutine of its own
	alone     bool               // it is made in the goroutine of its only caller
	within    lazyctx.Bounded    // the ctx of one that is
	probe     bool               // it tries whether its partition is well again
	slow      bool               // it does not count any more towards those that may be under way
}

// take makes a request part of the call; mu is held.
func (c *batchCall) take(p *pendingRequest) {
	to := c.lane.site
	placed(p.jobs, to.number)
	if p.to == nil {
		c.lanes.charge(to, len(p.jobs))
	}
	if c.requests == nil {
		c.requests = c.first[:0]
	}
	c.requests = append(c.requests, p)
}

// run makes the call and answers its requests. ctx ends when nobody waits any longer.
func (c *batchCall) run(ctx context.Context) {
	defer func() {
		if value := recover(); value != nil {
			c.finish(answer{err: c.lanes.Steps.Panicked(value)}, rdb.Rewind{})
		}
	}()
	var failures backoff.Failures
	for {
		call, jobs, first := c.begin()
		if len(jobs) == 0 {
			return // everybody left before anything was sent
		}
		sent := c.lanes.Clock.Local()
		reply, err := c.lane.site.Store.EnqueueIn(ctx, call, jobs)
		if err == nil {
			if first {
				c.lanes.Clock.Learn(reply.Time, sent, c.lanes.Clock.Local())
			}
			c.finish(answer{outcome: Stored, at: reply.Time, problems: reply.Problems, missing: reply.Missing,
				owners: reply.Owners, of: callID{c.lane, c.lane.number}}, reply.Rewound)
			return
		}
		if c.routed(err) {
			return
		}
		class := retry.Classify(err)
		if c.failed(class, first, over(ctx)); c.moves(err, class) {
			c.finish(c.reroute(), rdb.Rewind{})
			return
		}
		if !class.Again || !failures.Pause(ctx) {
			c.giveUp(ctx, class)
			return
		}
	}
}

// over tells whether ctx has ended, or is about to: sockets watch its deadline as well, and may come first.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// begin returns the call of the next attempt with its jobs, and whether no attempt before may have counted. Then, and
// only then, those whose callers have left need not go with it.
func (c *batchCall) begin() (call rdb.LaneCall, jobs []rdb.NewJob, first bool) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	first = !c.uncertain
	c.uncertain = true
	c.lane.underWay = c
	if c.lanes.life.Err() != nil {
		c.cutOff() // it began after what was under way had been cut off
	}
	if first {
		c.dropLeft()
	}
	call = c.lane.call()
	call.Map = c.version
	if len(c.requests) == 1 {
		return call, c.requests[0].jobs, first
	}
	jobs = c.lane.jobs[:0]
	for _, p := range c.requests {
		jobs = append(jobs, p.jobs...)
	}
	c.lane.jobs = jobs
	return call, jobs, first
}

func (c *batchCall) dropLeft() {
	kept := c.requests[:0]
	for _, p := range c.requests {
		if !p.left {
			kept = append(kept, p)
		}
	}
	clear(c.requests[len(kept):])
	c.requests = kept
}

// failed notes what came of an attempt. What an attempt says that was cut short by the end of ctx is worth less than
// what the one before said.
func (c *batchCall) failed(class retry.Class, first, cutShort bool) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	if first && !class.MayCount {
		c.uncertain = false
	}
	if c.trouble == nil || !cutShort {
		c.trouble = class.Err
	}
	if class.Again {
		c.lane.site.note(false)
	}
}

// leave is called, with mu held, when a caller waits no longer.
func (c *batchCall) leave(p *pendingRequest, cause error) answer {
	p.left = true
	c.waiting--
	if c.waiting == 0 {
		c.cutOff()
	}
	a := answer{outcome: NotStored, err: retry.JoinCause(cause, c.trouble)}
	if c.uncertain {
		a.outcome = Unknown
	}
	if c.trouble == nil {
		a.err = fmt.Errorf("no reply from Redis yet: %w", cause)
	}
	a.err = c.lanes.located(a.err, c.lane.site)
	return a
}

func (c *batchCall) setCancel(cancel context.CancelFunc) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	c.cancel = cancel
	if c.waiting == 0 {
		cancel()
	}
}

// cutOff ends the ctx of the call, if it is under way.
func (c *batchCall) cutOff() {
	if c.cancel != nil {
		c.cancel()
	}
	if c.alone {
		c.within.End()
	}
}

// giveUp answers a call that is not made again.
func (c *batchCall) giveUp(ctx context.Context, class retry.Class) {
	c.lanes.mu.Lock()
	a := answer{outcome: NotStored, err: class.Err}
	if c.uncertain {
		a.outcome = Unknown
	}
	trouble := c.trouble
	c.lanes.mu.Unlock()
	switch {
	case c.lanes.life.Err() != nil:
		a.err = retry.JoinCause(c.lanes.Closed, trouble)
	case class.Again:
		a.err = retry.JoinCause(context.Cause(ctx), trouble)
	}
	a.err = c.lanes.located(a.err, c.lane.site)
	c.finish(a, rdb.Rewind{})
}

// finish gives each request its part of the answer. What Redis says that it has forgotten is noted before the lane goes
// on: whoever reads a later number of it knows then.
func (c *batchCall) finish(whole answer, rewound rdb.Rewind) {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	if whole.outcome == Stored {
		c.lane.site.note(true)
		c.lanes.noteAnswered(c.lane, rewound)
	}
	if whole.outcome == returned && c.lane.desk.site == nil {
		for _, p := range c.requests {
			c.lane.site.load -= int64(len(p.jobs))
		}
	}
	from := 0
	for _, p := range c.requests {
		p.answer, p.answered = whole.part(from, len(p.jobs)), true
		if whole.outcome == Stored && !p.left && !p.confirmed {
			c.lane.recent.add(c.lane.number, p.jobs, p.answer.problems)
		}
		from += len(p.jobs)
		if p.inLine {
			p.arrived <- struct{}{}
		}
	}
}
