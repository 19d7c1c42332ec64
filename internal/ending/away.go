package ending

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// maxAgreed is in how many steps members and their flows agree at the most: what is left then is done when somebody
// looks again.
const maxAgreed = 8

// AgreeAway has a member that is at home in another partition than its flow agree with that: it begins if its turn has
// come, is cancelled or removed with its flow, and its end is counted there. store is that of a partition where either
// is. It may be repeated by anyone.
func AgreeAway(ctx context.Context, store *rdb.Store, id string, at flowdb.Standing) error {
	return agreePage(ctx, store, []string{id}, at)
}

// agreeing are members that agree with their flows: the flows are in one partition, and they in another one.
type agreeing struct {
	home, there *rdb.Store
	at          int // the partition where they are
	ids         []string
	orders      []flowdb.Order
	queues      []string // of their jobs, as far as they are known
}

func newAgreeing(home, there *rdb.Store, at int, ids []string) *agreeing {
	a := &agreeing{home: home, there: there, at: at, ids: slices.Clone(ids), orders: make([]flowdb.Order, len(ids)),
		queues: make([]string, len(ids))}
	for i := range a.orders {
		a.orders[i].Word = flowdb.OrderLook
	}
	return a
}

// agree takes turns: they report, and are told what to do, until nothing is left.
func (a *agreeing) agree(ctx context.Context) error {
	for range maxAgreed {
		if len(a.ids) == 0 {
			return nil
		}
		reports, err := flowdb.Of(a.there).Orders(ctx, a.ids, a.orders, a.queues)
		if err == nil {
			err = a.goOn(ctx, reports)
		}
		if err != nil {
			return err
		}
		a.keep(func(i int) bool {
			a.queues[i] = reports[i].Queue
			told := a.orders[i].Word == flowdb.OrderTold && a.orders[i].How == reports[i].How
			return !told && a.orders[i].Word != flowdb.OrderRemove
		}, &reports)
		if len(a.ids) == 0 {
			return nil
		}
		orders, err := flowdb.Of(a.home).Hear(ctx, a.ids, a.at, reports)
		if err == nil { // before they are told: who dies here leaves something to be done with the flow
			err = a.advance(ctx, orders)
		}
		if err != nil {
			return err
		}
		last := a.orders
		a.orders = orders
		// one that gets an order twice obeys, which takes its time: a worker has to end what it runs
		a.keep(func(i int) bool {
			return orders[i].Word != flowdb.OrderWait && orders[i] != last[i]
		}, nil)
	}
	return nil
}

// goOn does what is left to be done where members are, as far as that is about their jobs.
func (a *agreeing) goOn(ctx context.Context, reports []flowdb.Report) error {
	for i := range reports {
		if !reports[i].More {
			continue
		}
		if err := finishLodged(ctx, a.there, a.ids[i]); err != nil {
			return err
		}
		var err error
		if reports[i], err = flowdb.Of(a.there).Order(ctx, a.ids[i], flowdb.Order{Word: flowdb.OrderLook}); err != nil {
			return err
		}
	}
	return nil
}

// advance goes on with the flows that have counted ends.
func (a *agreeing) advance(ctx context.Context, orders []flowdb.Order) error {
	done := map[string]bool{}
	for i := range orders {
		outer, _ := flowdb.OuterOf(a.ids[i])
		if orders[i].Word != flowdb.OrderTold || done[outer] {
			continue
		}
		done[outer] = true
		if err := FinishFlow(ctx, a.home, outer); err != nil {
			return err
		}
	}
	return nil
}

// keep leaves out all but some.
func (a *agreeing) keep(wanted func(i int) bool, reports *[]flowdb.Report) {
	n := 0
	for i := range a.ids {
		if !wanted(i) {
			continue
		}
		a.ids[n], a.orders[n], a.queues[n] = a.ids[i], a.orders[i], a.queues[i]
		if reports != nil {
			(*reports)[n] = (*reports)[i]
		}
		n++
	}
	a.ids, a.orders, a.queues = a.ids[:n], a.orders[:n], a.queues[:n]
	if reports != nil {
		*reports = (*reports)[:n]
	}
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
