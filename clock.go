package work

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/wall"
)

// redisClock knows how far the clock of Redis is ahead of ours, from the replies of Redis. It serves what is only shown
// (when a job was enqueued); what is decided, Redis decides by its own clock.
type redisClock struct {
	wall func() time.Time // of this machine; nil is wall.Now

	ahead atomic.Int64 // ns

	mu     sync.Mutex
	within time.Duration // how wrong ahead may be: half the time of the round trip
	seen   time.Time
}

// clockSlack is how far apart two estimates may be that are both right: clocks drift, and Redis tells milliseconds.
const clockSlack = 10 * time.Millisecond

// clockAge is how long an estimate stands against a less exact one: clocks drift, and are set.
const clockAge = time.Minute

// saw learns from a reply that was made at redis, to a call that took from sent to received by ours.
func (c *redisClock) saw(redis, sent, received time.Time) {
	within := received.Sub(sent) / 2
	// Redis tells whole milliseconds, cut off: half of one more is nearer on the average.
	ahead := redis.Add(time.Millisecond / 2).Sub(sent.Add(within))
	c.mu.Lock()
	defer c.mu.Unlock()
	// the two cannot both be right: a clock was set in between
	wasSet := (ahead - time.Duration(c.ahead.Load())).Abs() > within+c.within+clockSlack
	if !c.seen.IsZero() && !wasSet && within > c.within && received.Sub(c.seen) < clockAge {
		return
	}
	c.ahead.Store(int64(ahead))
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
	return c.ours().Add(time.Duration(c.ahead.Load()))
}
