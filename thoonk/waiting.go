package thoonk

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// NoWait as a timeout looks once and does not wait.
const NoWait time.Duration = -1

const (
	// waitStep is how long one wait in Redis lasts: after it the feed is looked at, which may have been deleted, and a
	// peer that has died without a word is noticed.
	waitStep = 5 * time.Second

	// lastWords is how long an answer is waited for after the caller's ctx has ended: what is taken by then is still
	// handed over, and not lost.
	lastWords = time.Second

	pauseMin = 20 * time.Millisecond
	pauseMax = time.Second
)

// await tries until it succeeds, and waits in between, at most for the timeout: 0 is for ever. It returns nil, the
// error of a try, ErrEmpty, or why ctx ended. A refusal that passes is the error only when the timeout is over. Those
// who share a turn wait one for all.
func (c *Client) await(ctx context.Context, timeout time.Duration, turn chan struct{}, w waiting) error {
	done, err := w.try(ctx)
	refusal := passingRefusal(err)
	switch {
	case done || err != nil && (refusal == nil || timeout < 0):
		return err
	case timeout < 0:
		return ErrEmpty
	case timeout > 0:
		limited, cancel := context.WithTimeoutCause(ctx, timeout, ErrEmpty)
		defer cancel()
		ctx = limited
	}
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		if refusal == nil && c.wait(ctx, turn, w) == nil {
			pause = pauseMin / 2
		} else {
			sleep(ctx, pause) // the connection was lost, or Redis refuses: the next try tells whether that is all
		}
		if ctx.Err() != nil {
			return outOfTime(ctx, refusal)
		}
		done, err := w.try(ctx)
		if err != nil && ended(ctx, err) {
			return outOfTime(ctx, refusal)
		}
		if refusal = passingRefusal(err); refusal == nil && (done || err != nil) {
			return err
		}
	}
}

// passingRefusal is an error by which Redis says that it will do such a call later, or nil.
func passingRefusal(err error) error {
	if redisconn.Passes(err) {
		return err
	}
	return nil
}

// outOfTime is why ctx ended; where the timeout did that, a refusal says more than that nothing came.
func outOfTime(ctx context.Context, refusal error) error {
	if cause := context.Cause(ctx); refusal == nil || !errors.Is(cause, ErrEmpty) {
		return cause
	}
	return refusal
}

// waiting is what is tried, and how to wait between two tries.
type waiting struct {
	try  func(ctx context.Context) (bool, error)
	wait func(ctx context.Context, on redisconn.Conn, timeout time.Duration) (bool, error)
}

// wait waits once in Redis. Of those who share a turn one does it for all: each item would wake every one of them.
func (c *Client) wait(ctx context.Context, turn chan struct{}, w waiting) error {
	if turn != nil {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	conn, err := c.borrow(ctx)
	if err != nil {
		return err
	}
	step := waitStep
	if deadline, ok := ctx.Deadline(); ok {
		step = min(step, time.Until(deadline))
	}
	c.waits()
	if _, err := w.wait(ctx, conn, step); err != nil {
		conn.Close() //lint:ignore errcheck it is broken, or no longer wanted
		return err
	}
	c.giveBack(conn)
	return nil
}

// borrow returns a connection for one wait.
func (c *Client) borrow(ctx context.Context) (redisconn.Conn, error) {
	select {
	case conn := <-c.idle:
		return conn, nil
	default:
		return c.store.Driver().Dial(ctx)
	}
}

func (c *Client) giveBack(conn redisconn.Conn) {
	if conn.Broken() { // by a ctx that ended just when the answer had come
		conn.Close() //lint:ignore errcheck it is broken
		return
	}
	select {
	case c.idle <- conn:
	default:
		conn.Close() //lint:ignore errcheck nobody uses it
	}
	if c.life.Err() != nil { // closed meanwhile
		c.dropIdle()
	}
}

// spared marks a ctx that already ends a while after the client, and not with it.
type spared struct{}

// unhurried returns a ctx that outlives ctx by the time for last words.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), spared{}, true))
	asked := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(asked)
		sleep(longer, 2*lastWords)
		cancel()
	})
	return longer, func() {
		cancel()
		if !stop() {
			<-asked
		}
	}
}

// sleep waits between half of d and d, and returns false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1)) // apart from others who lost the same Redis
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ended tells a wait that is over from a call that failed.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
