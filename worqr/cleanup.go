package worqr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
)

var errAlive = errors.New("the worker is alive")

// FailWorker ends a worker of this package, dead or alive: its tasks go back to the front of their queues, in their
// order, and the others are told how many. It returns how many were put back, or fewer after a lost reply. A worker
// that is alive notices, drops what it is doing ([ErrLapsed]) and starts anew. Workers of the released program are
// refused ([ErrWorkerUnknown]).
func (c *Client) FailWorker(ctx context.Context, worker string) (returned int, err error) {
	return c.failWorker(ctx, worker, true)
}

// Cleanup fails every worker whose timer has lapsed, or that the released program has failed, which leaves what a
// worker of this package holds with nobody. It returns their ids. One that Redis refuses to take apart, as for a key of
// a wrong type, does not keep the others: the errors come joined. The client does it by itself now and then.
func (c *Client) Cleanup(ctx context.Context) (failed []string, err error) {
	var dead []string
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		dead, err = c.store.Dead(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	own := c.Worker()
	var refusals []error
	for _, worker := range dead {
		if worker == own { // its own lapse is the heartbeat's
			continue
		}
		returned, err := c.failWorker(ctx, worker, false)
		switch {
		case errors.Is(err, errAlive), errors.Is(err, ErrWorkerUnknown):
			continue // somebody else was quicker
		case isRefusal(err):
			refusals = append(refusals, fmt.Errorf("worker %.200q: %w", worker, err))
			continue
		case err != nil:
			return failed, errors.Join(append(refusals, err)...)
		}
		failed = append(failed, worker)
		c.told.tell(WorkerFailed{Worker: worker, Returned: returned})
	}
	return failed, errors.Join(refusals...)
}

// isRefusal tells an error that concerns the keys of one call, and says nothing about the next one.
func isRefusal(err error) bool {
	return redisconn.Refused(err) && (!redisconn.Passes(err) || redisconn.MeaningOf(err) == redisconn.Unknown)
}

func (c *Client) cleanAlways(ctx context.Context) {
	failing := false
	for {
		every := c.options.CleanupEvery
		if !backoff.Pause(ctx, every-every/10+rand.N(every/5+1)) { // not all clients at once
			return
		}
		_, err := c.Cleanup(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			c.told.tell(Failed{Err: err})
		}
		failing = err != nil
	}
}

// failWorker takes a dead worker apart, in steps that anyone may go on with.
func (c *Client) failWorker(ctx context.Context, worker string, force bool) (returned int, err error) {
	var said string
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		said, err = c.store.DeclareDead(ctx, worker, force)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case said == worqrdb.Alive:
		return 0, errAlive
	case said != worqrdb.Dead:
		return 0, &WorkerError{ID: worker, Err: ErrWorkerUnknown}
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error { return c.takeApart(ctx, worker, &returned) })
	return returned, err
}

// takeApart ends when the worker is gone, or is alive again under the same id.
func (c *Client) takeApart(ctx context.Context, worker string, returned *int) error {
	for {
		queues, err := c.store.Serves(ctx, worker)
		if err != nil {
			return err
		}
		var refusals []error
		for _, queue := range queues {
			n, err := c.requeue(ctx, worqrdb.Requeue{Worker: worker, Queue: queue, Dead: true})
			*returned += n
			switch {
			case isRefusal(err):
				refusals = append(refusals, fmt.Errorf("queue %.200q: %w", queue, err))
			case err != nil:
				return err
			}
		}
		if len(refusals) > 0 {
			return errors.Join(refusals...)
		}
		said, err := c.store.Forget(ctx, worker, queues)
		if err != nil || said == worqrdb.Forgotten || said == worqrdb.Alive {
			return err
		}
	}
}

// requeue puts everything that a worker holds of a queue back, newest first, in steps.
func (c *Client) requeue(ctx context.Context, g worqrdb.Requeue) (returned int, err error) {
	held, err := c.store.Holdings(ctx, g.Worker, g.Queue)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(held, worqrdb.MaxBatch) {
		g.Processes = nil
		for _, h := range some {
			g.Processes = append(g.Processes, h.ID)
		}
		moved, err := c.store.Requeue(ctx, g)
		returned += moved.Back
		if err != nil || moved.Alive {
			return returned, err
		}
	}
	return returned, nil
}
