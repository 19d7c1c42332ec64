package demo

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/filetree"
)

// results is what was read back from Redis, by job id.
type results struct {
	measured  map[string]filetree.Measurement
	attempts  map[string]attempts
	punctual  map[string]punctual
	lost      map[string]string // why a job has no result
	collected time.Time         // when the last one was read
}

// collector reads the results of orders back from Redis. That a job ended it learns from the log of runs; what the job
// found it believes Redis only.
type collector struct {
	enq     *work.Enqueuer
	log     *runLog
	orders  []order
	dead    func(process int) bool // whether a process is gone, for runs that will never end
	changed func(done int) error   // is called whenever something has changed

	names   map[string]string // by id, of jobs without a result yet
	pending map[string]bool   // ids that ended but whose result was not there yet
	got     results
	mu      sync.Mutex // of got, while results are read side by side
}

// stallTimeout is how long nothing may happen before the demo gives up: much longer than it takes to notice that a
// process was killed.
const stallTimeout = 30 * time.Second

// run returns when every job has a result, or is known to be lost, or when nothing has happened for stallTimeout: the
// results tell which is missing.
func (c *collector) run(ctx context.Context) (results, error) {
	c.names, c.pending = make(map[string]string, len(c.orders)), map[string]bool{}
	c.got = results{measured: map[string]filetree.Measurement{}, attempts: map[string]attempts{},
		punctual: map[string]punctual{}, lost: map[string]string{}, collected: time.Now()}
	for _, o := range c.orders {
		c.names[o.id] = o.name
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for len(c.names) > 0 {
		if err := c.gather(ctx); err != nil {
			return c.got, err
		}
		if err := c.changed(len(c.orders) - len(c.names)); err != nil {
			return c.got, err
		}
		if c.stalled() || len(c.names) == 0 {
			return c.got, nil
		}
		select {
		case <-ctx.Done():
			return c.got, context.Cause(ctx)
		case <-c.log.changed:
		case <-again.C:
		}
	}
	return c.got, nil
}

func (c *collector) stalled() bool {
	last, idle := c.log.idleSince(c.dead)
	return idle && time.Since(last) > stallTimeout && time.Since(c.got.collected) > stallTimeout
}

// gather reads the results that may be there by now, a few side by side.
func (c *collector) gather(ctx context.Context) error {
	for id, why := range c.log.takeLost() {
		if c.names[id] != "" {
			c.got.lost[id] = why
			delete(c.names, id)
		}
	}
	for _, id := range c.log.takeFresh() {
		c.pending[id] = c.names[id] != ""
	}
	ids := make(chan string, len(c.pending))
	for id, wanted := range c.pending {
		if wanted {
			ids <- id
		}
	}
	close(ids)
	found, err := c.readAll(ctx, ids)
	for _, id := range found {
		delete(c.names, id)
		delete(c.pending, id)
		c.got.collected = time.Now()
	}
	return err
}

func (c *collector) readAll(ctx context.Context, ids <-chan string) (found []string, err error) {
	const readers = 8
	var group sync.WaitGroup
	for range min(readers, len(ids)) {
		group.Go(func() {
			for id := range ids {
				there, readErr := c.read(ctx, id)
				c.mu.Lock()
				if there {
					found = append(found, id)
				}
				err = errors.Join(err, readErr)
				c.mu.Unlock()
				if readErr != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return found, err
}

// read fetches one result. It is not there in the time between the return of a handler and its settling.
func (c *collector) read(ctx context.Context, id string) (there bool, err error) {
	switch c.names[id] {
	case jobMeasure:
		return readInto(ctx, c, id, c.got.measured)
	case jobFlaky:
		return readInto(ctx, c, id, c.got.attempts)
	default:
		return readInto(ctx, c, id, c.got.punctual)
	}
}

func readInto[T any](ctx context.Context, c *collector, id string, into map[string]T) (there bool, err error) {
	value, err := work.Result[T](ctx, c.enq, id)
	if errors.Is(err, work.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	into[id] = value
	c.mu.Unlock()
	return true, nil
}
