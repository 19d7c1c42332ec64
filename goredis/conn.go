package goredis

import (
	"context"
	"fmt"
	"sync"

	"github.com/265d0351/work/internal/redisconn"
)

// conn is a Conn. It follows its slot: before each pipeline it looks whose the slot of the keys is, and goes there.
type conn struct {
	driver *driver

	mu     sync.Mutex // guards what Close may meet
	wire   *wire
	closed bool
}

func (c *conn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if err := redisconn.Check(calls); err != nil || len(calls) == 0 {
		return nil, err
	}
	w, err := c.usable(ctx)
	if err != nil {
		return nil, err
	}
	if w, err = c.follow(ctx, w, calls); err != nil {
		return nil, err
	}
	replies, err := w.send(ctx, calls)
	if to := askedAt(w.of, calls, replies); to != "" {
		if w, err = c.take(newWire(w.of, to)); err != nil {
			return nil, err
		}
		replies, err = c.driver.ask(ctx, w, calls)
	}
	c.driver.notice(ctx, w.addr, replies, err)
	if err != nil && c.isClosed() && ctx.Err() == nil {
		return nil, fmt.Errorf("call to Redis at %s ended: %w", w.addr, redisconn.ErrClosed)
	}
	if err == nil && moved(replies) {
		c.driver.nodes.look(ctx)
	}
	c.driver.signpost.Explain(ctx, c.driver.askApart, calls, replies)
	return replies, err
}

// usable finds out beforehand that nothing can be sent.
func (c *conn) usable(ctx context.Context) (*wire, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := ctx.Err()
	switch {
	case c.closed:
		err = redisconn.ErrClosed
	case err == nil && c.wire.broken():
		err = errOnce
	}
	if err != nil {
		return nil, &redisconn.DialError{Addr: c.wire.addr, Err: err}
	}
	return c.wire, nil
}

// follow is the connection to whoever has the slot of the calls now, made anew if that is another server.
func (c *conn) follow(ctx context.Context, now *wire, calls []redisconn.Call) (*wire, error) {
	nodes := c.driver.nodes
	slot, err := nodes.slotOf(calls)
	if err != nil {
		return nil, err
	}
	node, err := nodes.primary(ctx, slot)
	if err != nil {
		return nil, notSent(nodes.name(), "", err)
	}
	if node.Options().Addr == now.addr {
		return now, nil
	}
	next, err := dial(ctx, node)
	if err != nil {
		c.driver.notice(ctx, node.Options().Addr, nil, err)
		return nil, err
	}
	return c.take(next)
}

// take puts another connection in the place of the one that there is.
func (c *conn) take(next *wire) (*wire, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		next.end()
		return nil, &redisconn.DialError{Addr: next.addr, Err: redisconn.ErrClosed}
	}
	c.wire.end()
	c.wire = next
	return next, nil
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *conn) Broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed || c.wire.broken()
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.wire.end()
	return nil
}
