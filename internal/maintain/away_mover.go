package maintain

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// AwayMover has members that are at home in another partition than their flow agree with that: see package flow. It is
// apart from the FlowMover, so that a partition which does not answer holds up no flow. It asks Redis nothing before it
// is told that there is something to do. Two at a time would do no harm.
type AwayMover struct {
	store  *rdb.Store
	health healthreport.Reporter
	wakeup chan struct{}
	look   atomic.Bool
}

// NewAwayMover is a mover before its first step.
func NewAwayMover(env Env) *AwayMover {
	return &AwayMover{store: env.Store, wakeup: make(chan struct{}, 1),
		health: healthreport.Reporter{Component: "mover of members away", Emit: env.Emit}}
}

// Told says that there may be something to do. It may be called concurrently.
func (m *AwayMover) Told() {
	select {
	case m.wakeup <- struct{}{}:
	default:
	}
}

// Look has it look as well for members at home here of which nobody has heard for long: what was to be told may have
// been lost. It may be called concurrently.
func (m *AwayMover) Look() {
	m.look.Store(true)
	m.Told()
}

// Run goes on with members, as often as it is told, until ctx ends.
func (m *AwayMover) Run(ctx context.Context) {
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wakeup:
		}
		err := m.goOn(ctx)
		if ctx.Err() != nil {
			return
		}
		m.health.Report(err)
		if err == nil {
			failures = 0
			continue
		}
		m.Told()
		failures.Pause(ctx)
	}
}

func (m *AwayMover) goOn(ctx context.Context) (err error) {
	if m.look.Swap(false) {
		err = AgreeUnseen(ctx, m.store)
	}
	ids, failed := flowdb.Of(m.store).Busy(ctx)
	if failed == nil {
		failed = ending.GoOnAway(ctx, m.store, ids)
	}
	return excerpt.Join(err, failed)
}

// unseenFor is how long nobody has looked at a member that is at home here before it agrees with its flow once more.
const unseenFor = time.Hour

// AgreeUnseen has members at home in this partition of which nobody has heard for an hour agree with their flows.
func AgreeUnseen(ctx context.Context, store *rdb.Store) error {
	ids, err := flowdb.Of(store).Unseen(ctx, unseenFor)
	if err != nil || len(ids) == 0 {
		return err
	}
	return ending.GoOnAway(ctx, store, ids)
}
