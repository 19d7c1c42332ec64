package work

import (
	"context"
	"sync/atomic"
	"time"
)

// How long a stop that has to hurry may take: outcomes still travel to Redis then, and jobs go back.
const (
	hurriedBySignal = time.Second
	hurriedByCtx    = 5 * time.Second // at most, and no more than a quarter of the time that there is
)

// haste tells a stop when it has to hurry: its ctx ends then, and room is how long the rest may take.
type haste struct {
	context.Context
	end  context.CancelFunc
	room atomic.Int64
}

func newHaste() *haste {
	h := &haste{}
	h.Context, h.end = context.WithCancel(context.Background())
	return h
}

// hurry has the stop end within room. Only the first call counts.
func (h *haste) hurry(room time.Duration) {
	h.room.CompareAndSwap(0, int64(max(1, room)))
	h.end()
}

// after returns a ctx that ends when that share of the room is used up.
func (h *haste) after(share float64) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(h, func() { time.AfterFunc(time.Duration(share*float64(h.room.Load())), cancel) })
	return later, func() { stop(); cancel() }
}

// roomBefore is how long before the end of ctx a stop has to hurry, and the ctx that ends then.
func roomBefore(ctx context.Context) (time.Duration, context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		patience, cancel := context.WithCancel(ctx)
		return hurriedByCtx, patience, cancel
	}
	room := min(hurriedByCtx, time.Until(deadline)/4)
	patience, cancel := context.WithDeadline(ctx, deadline.Add(-room))
	return room, patience, cancel
}
