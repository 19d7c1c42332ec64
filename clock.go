package work

import (
	"sync"
	"time"

	"github.com/265d0351/work/internal/wall"
)

// redisClock knows how far the clock of Redis is ahead of ours, from the replies of Redis. It serves what is only shown
// (when a job was enqueued); what is decided, Redis decides by its own clock.
type redisClock struct {
	wall func() time.Time // of this machine; nil is wall.Now

	mu     sync.Mutex
	ahead  time.Duration
	within time.Duration // how wrong ahead may be: half the time of the round trip
	seen   time.Time
}

// clockAge is how long an estimate stands against a less exact one: clocks drift, and are set.
const clockAge = time.Minute

// saw learns from a reply that was made at redis, to a call that took from sent to received by ours.
func (c *redisClock) saw(redis, sent, received time.Time) {
	within := received.Sub(sent) / 2
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen.IsZero() && within > c.within && received.Sub(c.seen) < clockAge {
		return
	}
	// Redis tells whole milliseconds, cut off: half of one more is nearer on the average.
	c.ahead = redis.Add(time.Millisecond / 2).Sub(sent.Add(within))
	c.within, c.seen = within, received
}

// ours is the clock of this machine, which may be hours wrong.
func (c *redisClock) ours() time.Time {
	if c.wall != nil {
		return c.wall()
	}
	return wall.Now()
}

// now is what the clock of Redis shows about now; ours, until the first reply.
func (c *redisClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ours().Add(c.ahead)
}
