package worqr

import (
	"bytes"
	"context"
	"slices"

	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// WorkerInfo is what is known of a worker.
type WorkerInfo struct {
	ID        string
	Ours      bool // of this package; else of the released program
	Permanent bool // without a timer
	Alive     bool // its timer stands, or it has none
}

// Workers are all that are registered, sorted by id.
func (c *Client) Workers(ctx context.Context) (workers []WorkerInfo, err error) {
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error {
		seen, err := c.store.Workers(ctx)
		workers = make([]WorkerInfo, len(seen))
		for i, w := range seen {
			workers[i] = WorkerInfo(w)
		}
		return err
	})
	return workers, err
}

// WorkingQueues are the queues that a worker works on, of this package or of the released program, sorted. An unknown
// worker has none.
func (c *Client) WorkingQueues(ctx context.Context, worker string) (queues []string, err error) {
	_, err = c.untilAnswered(ctx, func(ctx context.Context) (err error) {
		queues, err = c.store.Serves(ctx, worker)
		return err
	})
	slices.Sort(queues)
	return queues, err
}

// Holding is a task that somebody works on.
type Holding struct {
	Process string
	Worker  string // "" for a worker of the released program, which does not note whose a process is
	Queue   string
	Task    []byte
}

// Holdings are the tasks that a worker of this package works on, those of each queue oldest first.
func (c *Client) Holdings(ctx context.Context, worker string) (held []Holding, err error) {
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error {
		queues, err := c.store.Serves(ctx, worker)
		if err != nil {
			return err
		}
		held = nil
		for _, queue := range queues {
			of, err := c.store.Holdings(ctx, worker, queue)
			if err != nil {
				return err
			}
			if held, err = c.appendHoldings(ctx, held, of); err != nil {
				return err
			}
		}
		return nil
	})
	return held, err
}

// MatchingProcesses are the processes of a task on a queue, of all workers.
func (c *Client) MatchingProcesses(ctx context.Context, queue string, task []byte) (matching []Holding, err error) {
	if err := validQueue(queue); err != nil {
		return nil, err
	}
	_, err = c.untilAnswered(ctx, func(ctx context.Context) error {
		of, err := c.processesOf(ctx, queue)
		if err != nil {
			return err
		}
		all, err := c.appendHoldings(ctx, nil, of)
		matching = nil
		for _, h := range all {
			if bytes.Equal(h.Task, task) {
				matching = append(matching, h)
			}
		}
		return err
	})
	return matching, err
}

func (c *Client) processesOf(ctx context.Context, queue string) ([]worqrdb.Holding, error) {
	workers, err := c.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.store.Others(ctx, queue)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		if w.Ours {
			of, err := c.store.Holdings(ctx, w.ID, queue)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// appendHoldings adds processes, which come newest first, with their tasks.
func (c *Client) appendHoldings(ctx context.Context, held []Holding, of []worqrdb.Holding) ([]Holding, error) {
	filled, err := c.store.WithTasks(ctx, of)
	for i := len(filled) - 1; i >= 0; i-- {
		h := filled[i]
		held = append(held, Holding{Process: h.ID, Worker: h.Worker, Queue: h.Queue, Task: h.Task})
	}
	return held, err
}
