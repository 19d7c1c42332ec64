package worqr

import (
	"context"
	"iter"
	"slices"
)

// Queues are the names of the queues that this package knows: those that it has enqueued to or worked on, until they
// are deleted. Sorted.
func (c *Client) Queues(ctx context.Context) (queues []string, err error) {
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		queues, err = c.store.Queues(ctx)
		return err
	})
	slices.Sort(queues)
	return queues, err
}

// Count is how many tasks wait in a queue. An unknown queue has none.
func (c *Client) Count(ctx context.Context, queue string) (count int, err error) {
	if err := validQueue(queue); err != nil {
		return 0, err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		count, err = c.store.Count(ctx, queue)
		return err
	})
	return count, err
}

// Peek is the task that is next, which stays where it is; or ErrEmpty.
func (c *Client) Peek(ctx context.Context, queue string) ([]byte, error) {
	tasks, err := c.page(ctx, queue, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return nil, ErrEmpty
	}
	return tasks[0], nil
}

// tasksPage is how many tasks are read at once.
const tasksPage = 100

// Tasks yields the tasks that wait, from the front; an error ends it. It reads in pages: a task that is taken or put
// back meanwhile may be left out or come twice.
func (c *Client) Tasks(ctx context.Context, queue string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for from := 0; ; from += tasksPage {
			tasks, err := c.page(ctx, queue, from, tasksPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, task := range tasks {
				if !yield(task, nil) {
					return
				}
			}
			if len(tasks) < tasksPage {
				return
			}
		}
	}
}

func (c *Client) page(ctx context.Context, queue string, from, limit int) (tasks [][]byte, err error) {
	if err := validQueue(queue); err != nil {
		return nil, err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		tasks, err = c.store.Tasks(ctx, queue, from, limit)
		return err
	})
	return tasks, err
}

// DeleteQueue removes a queue with the tasks that wait in it and their locks, and tells whoever listens. Tasks that are
// worked on are left to their workers. It returns how many waited; after a lost reply, those that have come since.
func (c *Client) DeleteQueue(ctx context.Context, queue string) (count int, err error) {
	if err := validQueue(queue); err != nil {
		return 0, err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error {
		for {
			locks, err := c.store.Locks(ctx, queue)
			if err != nil {
				return err
			}
			var locked bool
			if count, locked, err = c.store.Delete(ctx, queue, locks); err != nil || !locked {
				return err
			}
		}
	})
	return count, err
}

// CancelTasks removes all waiting copies of a task from a queue, and ends those that are worked on: workers of this
// package drop them when they hear of it, and they are never put back. It returns how many copies waited; after a lost
// reply, those that have come since.
func (c *Client) CancelTasks(ctx context.Context, queue string, task []byte) (removed int, err error) {
	if err := validQueue(queue); err != nil {
		return 0, err
	}
	if err := validTask(task); err != nil {
		return 0, err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		removed, err = c.store.Cancel(ctx, queue, task, c.options.CancelledFor)
		return err
	})
	return removed, err
}
