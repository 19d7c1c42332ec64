package work

import (
	"context"
	"math/rand/v2"
	"time"
)

// pacer waits longer and longer between attempts, each time for another while, so that many callers do not come back
// together.
type pacer struct{ last time.Duration }

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = time.Second
)

// wait is false when ctx ended.
func (p *pacer) wait(ctx context.Context) bool {
	p.last = min(max(shortestPause, 2*p.last), longestPause)
	timer := time.NewTimer(p.last/2 + rand.N(p.last/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
