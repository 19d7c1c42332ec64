// Package lazyctx is the ctx of one attempt of a job. Most handlers of short jobs never ask whether their ctx has
// ended, so what is needed for that (a channel, and a place among the children of the parent) is made when somebody
// does. A worker keeps one in each of its runs; it does not know why an attempt ends.
package lazyctx

import (
	"context"
	"sync"
	"time"
)

// Gate may end the parent of a ctx.
type Gate interface{ IsDown() bool }

// Context ends with its attempt, or with its parent. It is ready once its fields are set, and must not be copied.
type Context struct {
	Parent context.Context
	Labels context.Context // its values go before those of the parent
	Key    any             // of the value Own
	Own    any
	Gate   Gate // is asked before Err looks at the parent; may be nil

	mu     sync.Mutex
	inner  context.Context // nil until somebody asks
	cancel context.CancelCauseFunc
	ended  bool
}

// Deadline returns that of the parent.
func (c *Context) Deadline() (time.Time, bool) { return c.Parent.Deadline() }

// Done returns a channel that is closed when the attempt is over or is to end.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ask().Done()
}

// Err returns nil until the ctx has ended.
func (c *Context) Err() error {
	if c.Gate != nil {
		c.Gate.IsDown() // then the parent has ended by now, although the process may have been paused until now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inner != nil:
		return c.inner.Err()
	case c.ended:
		return context.Canceled
	}
	return c.Parent.Err()
}

// Value returns Own for its Key, else what Labels or the parent have.
func (c *Context) Value(key any) any {
	if key == c.Key {
		return c.Own
	}
	if value := c.Labels.Value(key); value != nil {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		return c.inner.Value(key)
	}
	return c.Parent.Value(key)
}

// ask makes the ctx that does what Done promises. mu is held.
func (c *Context) ask() context.Context {
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(c.Parent)
		if c.ended {
			c.cancel(nil)
		}
	}
	return c.inner
}

// End ends the ctx for a reason; nil is that the attempt is over.
func (c *Context) End(cause error) {
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
