package work

import (
	"context"
	"sync"
	"time"
)

// runContext is the ctx of one attempt. It ends with the attempt, or with the identity under which its job is claimed.
// Most handlers of short jobs never ask whether their ctx has ended, so what is needed for that (a channel, and a place
// among the children of the parent) is made when somebody does.
type runContext struct {
	parent context.Context // of the claimant
	labels context.Context // carries the profiler's labels of the job's name
	job    *Job
	fence  *fence // of the worker

	mu     sync.Mutex
	inner  context.Context // nil until somebody asks
	cancel context.CancelCauseFunc
	ended  bool
}

// Deadline returns that of the claimant: none.
func (c *runContext) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done returns a channel that is closed when the attempt is over or is to end.
func (c *runContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ask().Done()
}

// Err returns nil until the ctx has ended.
func (c *runContext) Err() error {
	c.fence.isDown() // then its parent has ended by now, although the process may have been paused until now
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.ended:
		return context.Canceled
	}
	return c.parent.Err()
}

// Value returns the job, the profiler's labels, or what the claimant's ctx has.
func (c *runContext) Value(key any) any {
	if key == (jobKey{}) {
		return c.job
	}
	if value := c.labels.Value(key); value != nil {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		return c.inner.Value(key)
	}
	return c.parent.Value(key)
}

// ask makes the ctx that does what Done promises.
func (c *runContext) ask() context.Context {
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(c.parent)
		if c.ended {
			c.cancel(nil)
		}
	}
	return c.inner
}

// end ends the ctx for a reason; nil is that the attempt is over.
func (c *runContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cause != nil {
		c.ask() // before it is noted as ended: else it ends without the cause
	}
	c.ended = true
	if c.inner != nil {
		c.cancel(cause)
	}
}
