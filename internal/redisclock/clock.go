// Package redisclock knows what the clock of Redis shows, from the replies of Redis. Enqueuers and workers teach it and
// ask it; it never asks Redis itself.
package redisclock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/wallclock"
)

// Clock knows how far the clock of Redis is ahead of ours. It serves what is only shown (when a job was enqueued); what
// is decided, Redis decides by its own clock. The zero value is ready. It may be used concurrently.
type Clock struct {
	Wall func() time.Time // of this machine; nil is wallclock.Now

	ahead atomic.Int64 // ns

	mu     sync.Mutex
	within time.Duration // how wrong ahead may be: half the time of the round trip
	seen   time.Time
}

// slack is how far apart two estimates may be that are both right: clocks drift, and Redis tells milliseconds.
const slack = 10 * time.Millisecond

// maxAge is how long an estimate stands against a less exact one: clocks drift, and are set.
const maxAge = time.Minute

// Learn takes a reply that was made at redis, to a call that took from sent to received by Local.
func (c *Clock) Learn(redis, sent, received time.Time) {
	within := received.Sub(sent) / 2
	// Redis tells whole milliseconds, cut off: half of one more is nearer on the average.
	ahead := redis.Add(time.Millisecond / 2).Sub(sent.Add(within))
	c.mu.Lock()
	defer c.mu.Unlock()
	// the two cannot both be right: a clock was set in between
	wasSet := (ahead - time.Duration(c.ahead.Load())).Abs() > within+c.within+slack
	if !c.seen.IsZero() && !wasSet && within > c.within && received.Sub(c.seen) < maxAge {
		return
	}
	c.ahead.Store(int64(ahead))
	c.within, c.seen = within, received
}

// Local is the clock of this machine, which may be hours wrong.
func (c *Clock) Local() time.Time {
	if c.Wall != nil {
		return c.Wall()
	}
	return wallclock.Now()
}

// Now is about what the clock of Redis shows now; Local, until the first reply.
func (c *Clock) Now() time.Time {
	return c.Local().Add(time.Duration(c.ahead.Load()))
}
