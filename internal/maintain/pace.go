package maintain

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
)

// Pace is what the due movers of a pool share, so that together they leave half of Redis to the others, however much is
// due: after each page they rest for as long as it took.
type Pace struct {
	turns sync.Mutex // of who moves, or rests
	most  time.Duration
}

// LongestRest bounds how late what is due may be where Redis is slow: a page of 500 jobs moves at least so often.
const LongestRest = 50 * time.Millisecond

// NewPace is a pace with rests of at most that: LongestRest, except in tests.
func NewPace(most time.Duration) *Pace { return &Pace{most: most} }

// Hold does something, and rests afterwards if that moved a page.
func (p *Pace) Hold(ctx context.Context, do func() (moved bool, err error)) error {
	p.turns.Lock()
	defer p.turns.Unlock()
	began := time.Now()
	moved, err := do()
	if moved && err == nil {
		backoff.Pause(ctx, min(time.Since(began), p.most))
	}
	return err
}
