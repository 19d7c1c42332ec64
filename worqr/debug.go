package worqr

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/backoff"
)

// debugAlways tells what the worker works on, now and then.
func (c *Client) debugAlways(ctx context.Context) {
	for backoff.Pause(ctx, c.options.DebugEvery) {
		c.told.tell(c.debug(time.Now()))
	}
}

func (c *Client) debug(now time.Time) Debug {
	c.mu.Lock()
	defer c.mu.Unlock()
	jobs := map[string]time.Duration{}
	for id, p := range c.held {
		jobs[id] = now.Sub(p.began)
	}
	return Debug{Worker: c.worker.ID, JobCount: len(jobs), Jobs: jobs}
}
