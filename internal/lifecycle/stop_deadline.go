package lifecycle

import (
	"context"
	"sync/atomic"
	"time"
)

// StopDeadline tells a stop when it has to come to an end: as a ctx it ends then, and little time is left for the rest.
type StopDeadline struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int64
}

// NewStopDeadline makes a deadline that is not reached yet.
func NewStopDeadline() *StopDeadline {
	d := &StopDeadline{}
	d.Context, d.end = context.WithCancel(context.Background())
	return d
}

// Hurry has the stop end within that time. Only the first call counts.
func (d *StopDeadline) Hurry(left time.Duration) {
	d.left.CompareAndSwap(0, int64(max(1, left)))
	d.end()
}

// After returns a ctx that ends when that share of the time left is used up.
func (d *StopDeadline) After(share float64) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(d, func() { time.AfterFunc(time.Duration(share*float64(d.left.Load())), cancel) })
	return later, func() { stop(); cancel() }
}

// Reserve sets time aside at the end of ctx, most of it at the most and no more than a quarter of what there is. It
// returns how much that is, and a ctx that ends so long before.
func Reserve(ctx context.Context, most time.Duration) (time.Duration, context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		sooner, cancel := context.WithCancel(ctx)
		return most, sooner, cancel
	}
	left := min(most, time.Until(deadline)/4)
	sooner, cancel := context.WithDeadline(ctx, deadline.Add(-left))
	return left, sooner, cancel
}
