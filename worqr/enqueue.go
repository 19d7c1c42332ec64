package worqr

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// How many tasks one script stores at the most. Each unique one is looked for in the queue, which takes Redis longer.
const (
	maxCallTasks  = worqrdb.MaxBatch
	maxCallUnique = 50
	maxCallBytes  = 1 << 20
)

// Enqueue puts tasks at the back of a queue, in their order, and tells the workers of it. Up to 500 tasks of 1 MiB
// together are stored at once or not at all; more go in several such parts, and the error is then an [*EnqueueError]
// that says how far it came. A reply that is lost stores nothing twice.
func (c *Client) Enqueue(ctx context.Context, queue string, tasks ...[]byte) error {
	_, err := c.enqueue(ctx, queue, tasks, false)
	return err
}

// EnqueueUnique does so with those tasks of which none of the same bytes, enqueued by it to this queue, waits or is
// worked on. It tells for each whether it was put in. Parts have 50 tasks.
func (c *Client) EnqueueUnique(ctx context.Context, queue string, tasks ...[]byte) (put []bool, err error) {
	return c.enqueue(ctx, queue, tasks, true)
}

func (c *Client) enqueue(ctx context.Context, queue string, tasks [][]byte, unique bool) ([]bool, error) {
	if err := validQueue(queue); err != nil {
		return nil, err
	}
	for _, task := range tasks {
		if err := validTask(task); err != nil {
			return nil, err
		}
	}
	put := make([]bool, 0, len(tasks))
	for len(put) < len(tasks) {
		part := nextPart(tasks[len(put):], unique)
		flags, doubt, err := c.enqueuePart(ctx, worqrdb.Enqueued{Queue: queue, Tasks: part, Unique: unique})
		if err != nil {
			failed := &EnqueueError{Queue: queue, Stored: len(put), NotStored: len(tasks) - len(put), Err: err}
			if doubt {
				failed.Unknown = len(part)
				failed.NotStored -= len(part)
			}
			return put, failed
		}
		put = append(put, flags...)
	}
	return put, nil
}

// nextPart is what goes with one call: at least one task.
func nextPart(tasks [][]byte, unique bool) [][]byte {
	most, bytes := maxCallTasks, 0
	if unique {
		most = maxCallUnique
	}
	for i, task := range tasks {
		bytes += len(task)
		if i == most || i > 0 && bytes > maxCallBytes {
			return tasks[:i]
		}
	}
	return tasks
}

var errLate = errors.New("the call was overtaken by a later one of its lane")

func (c *Client) enqueuePart(ctx context.Context, e worqrdb.Enqueued) (put []bool, doubt bool, err error) {
	err = c.withLane(ctx, func(l *lane) error {
		e.Lane, e.Number, e.Life = l.id, l.number, laneLife
		doubt, err = c.untilAnswered(ctx, func(ctx context.Context) error {
			flags, late, err := c.store.Enqueue(ctx, e)
			if late {
				return errLate
			}
			put = flags
			return err
		})
		return err
	})
	return put, doubt, err
}
