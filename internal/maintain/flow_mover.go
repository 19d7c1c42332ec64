package maintain

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// FlowMover goes on with flows about which something is left to be done: more than one script does, or queues that the
// script which ended a member was not given. It is told when there are some; the janitor looks as well. Two at a time
// would do no harm: each step is one script.
type FlowMover struct {
	errand
	store *rdb.Store
	away  func() // tells who goes on with those of two partitions: see AwayMover
}

// NewFlowMover is a mover before its first step.
func NewFlowMover(env Env) *FlowMover {
	return &FlowMover{errand: newErrand("flow mover", env.Emit), store: env.Store, away: env.Away}
}

// Run goes on with flows, as often as it is told, until ctx ends.
func (m *FlowMover) Run(ctx context.Context) {
	m.each(ctx, func(ctx context.Context) error { return advanceFlows(ctx, m.store, m.away) })
}

// AdvanceFlows goes on with all flows about which something is to be done. One that cannot be helped holds up no other.
func AdvanceFlows(ctx context.Context, store *rdb.Store) error { return advanceFlows(ctx, store, nil) }

// advanceFlows leaves what another partition has to do with to whom away tells, if there is somebody.
func advanceFlows(ctx context.Context, store *rdb.Store, away func()) error {
	ids, err := flowdb.Of(store).Busy(ctx)
	if err != nil {
		return err
	}
	stand, err := flowdb.Of(store).Stand(ctx, ids...)
	if err != nil {
		return err
	}
	var apart []string
	for i, id := range ids {
		if stand[i].Away || stand[i].Lodged {
			apart = append(apart, id)
			continue
		}
		err = excerpt.Join(err, ending.FinishFlow(ctx, store, id))
		if ctx.Err() != nil {
			return err
		}
	}
	switch {
	case len(apart) == 0:
	case away != nil:
		away()
	default:
		err = excerpt.Join(err, ending.GoOnAway(ctx, store, apart))
	}
	return err
}

// unsealedFor is after which time a flow is removed that nobody has sealed.
const unsealedFor = 24 * time.Hour

// removeFlows removes flows whose time is over.
func (j *Janitor) removeFlows(ctx context.Context) error {
	over, cutOff, err := flowdb.Of(j.env.Store).ToRemove(ctx, unsealedFor)
	for _, id := range over {
		_, failed := flowdb.Of(j.env.Store).Remove(ctx, id, 0)
		err = excerpt.Join(err, failed)
	}
	for _, id := range cutOff {
		_, failed := flowdb.Of(j.env.Store).Remove(ctx, id, unsealedFor)
		err = excerpt.Join(err, failed)
	}
	return err
}
