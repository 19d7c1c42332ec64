package work

import (
	"context"
	"fmt"
	"time"
)

// SyncClock asks Redis for its time. Every enqueue learns it from the reply, so a program need not call this; only a
// first enqueue goes by the clock of this machine where it has to name a time (see [ExpireIn]). It may be called
// concurrently.
func (e *Enqueuer) SyncClock(ctx context.Context) error {
	err := e.core.lanes.read(ctx, func(ctx context.Context) error {
		sent := e.core.clock.ours()
		at, err := e.core.store.Time(ctx)
		if err == nil {
			e.core.clock.saw(at.Truncate(time.Millisecond), sent, e.core.clock.ours())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the clock of Redis cannot be read: %w", err)
	}
	return nil
}
