package ending

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// maxAgreed is in how many steps a member and its flow agree at the most: what is left then is done when somebody looks
// again.
const maxAgreed = 8

// AgreeAway has a member that is at home in another partition than its flow agree with that: it begins if its turn has
// come, is cancelled or removed with its flow, and its end is counted there. store is that of a partition where either
// is. It may be repeated by anyone.
func AgreeAway(ctx context.Context, store *rdb.Store, id string, at flowdb.Standing) error {
	home, there := store, store
	if at.Lodged {
		home = store.Other(at.Home)
	} else {
		there = store.Other(at.At)
	}
	if home == nil || there == nil {
		return fmt.Errorf("member %s: it is not known where the partitions of its flow are", excerpt.Brief(id))
	}
	of, lodged := flowdb.Of(home), flowdb.Of(there)
	order := flowdb.Order{Word: flowdb.OrderLook}
	for range maxAgreed {
		report, err := lodged.Order(ctx, id, order)
		if err != nil {
			return err
		}
		switch order.Word {
		case flowdb.OrderTold, flowdb.OrderRemove:
			return nil
		case flowdb.OrderBegin, flowdb.OrderCancel:
			if report.State == flowdb.IsRunning {
				if err := finishLodged(ctx, there, id); err != nil {
					return err
				}
				if report, err = lodged.Order(ctx, id, flowdb.Order{Word: flowdb.OrderLook}); err != nil {
					return err
				}
			}
		}
		last := order.Word
		if order, err = of.Hear(ctx, id, at.At, report); err != nil {
			return err
		}
		switch {
		case order.Word == flowdb.OrderWait:
			return nil
		case order.Word == flowdb.OrderTold: // first: who dies here leaves something to be done with the flow
			outer, _ := flowdb.OuterOf(id)
			if err := FinishFlow(ctx, home, outer); err != nil {
				return err
			}
		case order.Word == last: // it was obeyed, and takes its time: a worker has to end what it runs
			return nil
		}
	}
	return nil
}

// finishLodged goes on with a member that is at home here, as far as it is one job: it is put into its queue, or
// cancelled.
func finishLodged(ctx context.Context, store *rdb.Store, id string) error {
	cancelling, err := flowdb.Of(store).Finish(ctx, id)
	if err == nil && cancelling {
		_, err = CancelFlow(ctx, store, id)
	}
	return err
}

// finishAway is FinishFlow of an id that is that of a member which is at home in another partition than its flow; else
// it does nothing, and tells so.
func finishAway(ctx context.Context, store *rdb.Store, id string) (is bool, err error) {
	stand, err := flowdb.Of(store).Stand(ctx, id)
	if err != nil || !stand[0].Away && !stand[0].Lodged {
		return false, err
	}
	if stand[0].Lodged {
		if err := finishLodged(ctx, store, id); err != nil {
			return true, err
		}
	}
	return true, AgreeAway(ctx, store, id, stand[0])
}

// AgreeAll has all members of a flow that are at home elsewhere agree with it: what cannot be done now is noted, and
// anyone goes on with it.
func AgreeAll(ctx context.Context, store *rdb.Store, id string) error {
	return flowdb.Of(store).EachAway(ctx, id, func(members []string) error { return AgreeSome(ctx, store, members) })
}

// AgreeSome notes that members of flows here which are at home elsewhere are to agree with these, and has them do so as
// far as that can be done now: the rest is left to the workers. The error is one of noting it.
func AgreeSome(ctx context.Context, store *rdb.Store, members []string) error {
	if len(members) == 0 {
		return nil
	}
	if err := flowdb.Of(store).Mark(ctx, members); err != nil {
		return err
	}
	_ = GoOnAway(ctx, store, members)
	return nil
}
