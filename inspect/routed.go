package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// The time between two looks whether something has arrived grows from the first to the second.
const (
	firstArrivalLook = 5 * time.Millisecond
	slowArrivalLook  = 100 * time.Millisecond
)

// arrived is where something lives. While that is on its way it waits, until ctx ends.
func (i *Inspector) arrived(ctx context.Context, homeOf func(*partition.Map) partition.Home) (partition.Home, error) {
	for look := firstArrivalLook; ; look = min(2*look, slowArrivalLook) {
		home := homeOf(i.partitions.Map())
		if !home.Moving {
			return home, nil
		}
		err := error(nil)
		if backoff.Pause(ctx, look) {
			err = i.partitions.Refresh(ctx)
		}
		switch {
		case ctx.Err() != nil: // also while it read
			return home, fmt.Errorf("bucket %d of partition %d is being moved (%s): %w", home.Bucket, home.Partition,
				home.By, excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return home, err
		}
	}
}

// routed does something again, with the newest map, as long as a partition says that it knows a newer one.
func (i *Inspector) routed(ctx context.Context, do func() error) error {
	var err error
	for range backoff.Rereads(ctx) {
		err = do()
		var elsewhere *rdb.RouteError
		if !errors.As(err, &elsewhere) {
			return err
		}
		if err := i.partitions.Refresh(ctx); err != nil {
			return err
		}
	}
	return err
}
