package maintain

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// AwayMover has members that are at home in another partition than their flow agree with that: see package flow. It is
// apart from the FlowMover, so that a partition which does not answer holds up no flow. It asks Redis nothing before it
// is told that there is something to do. Two at a time would do no harm.
type AwayMover struct {
	errand
	store *rdb.Store
	look  atomic.Bool
}

// NewAwayMover is a mover before its first step.
func NewAwayMover(env Env) *AwayMover {
	return &AwayMover{errand: newErrand("mover of members away", env.Emit), store: env.Store}
}

// Look has it look as well for members at home here of which nobody has heard for long: what was to be told may have
// been lost. It may be called concurrently.
func (m *AwayMover) Look() {
	m.look.Store(true)
	m.Told()
}

// Run goes on with members, as often as it is told, until ctx ends.
func (m *AwayMover) Run(ctx context.Context) { m.each(ctx, m.goOn) }

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
