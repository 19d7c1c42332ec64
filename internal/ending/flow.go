package ending

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// CancelFlow cancels a flow with all members that are left: those that wait at once, the others as Cancel does, and so
// on with flows that are in it. It returns the state in which the flow is then. Whoever is cut off, anyone goes on: the
// flow stays among the busy ones.
func CancelFlow(ctx context.Context, store *rdb.Store, id string) (state string, err error) {
	flows := flowdb.Of(store)
	if state, err = flows.Cancel(ctx, id, nil, false); err == nil && state == flowdb.IsHeld {
		return cancelHeld(ctx, store, id)
	}
	if err != nil || state != flowdb.IsRunning {
		return state, err
	}
	has, err := flows.HasInner(ctx, id)
	if err == nil && has { // first: the flow may have ended behind its last member, and nobody would go on
		err = cancelInner(ctx, store, id)
	}
	if err != nil {
		return state, err
	}
	for cursor := "0"; ; {
		next, members, err := flows.Left(ctx, id, cursor)
		if err != nil {
			return state, err
		}
		for page := range slices.Chunk(members, rdb.MaxBatch) { // a small set is read at once, whatever is asked for
			if err := cancelMembers(ctx, store, id, page, has); err != nil {
				return state, err
			}
		}
		if cursor = next; cursor == "0" {
			return flows.Cancel(ctx, id, nil, true)
		}
	}
}

// cancelMembers cancels members of a flow, of which some may be flows.
func cancelMembers(ctx context.Context, store *rdb.Store, id string, members []string, inner bool) error {
	flows := flowdb.Of(store)
	if _, err := flows.Cancel(ctx, id, members, false); err != nil {
		return err
	}
	var within []string
	if inner {
		var err error
		if within, err = flows.InnerOf(ctx, id, members); err != nil {
			return err
		}
	}
	away, err := flows.AwayOf(ctx, id, members)
	if err != nil {
		return err
	}
	within = append(within, away...)
	var jobs []string
	for _, member := range members {
		if !slices.Contains(within, member) {
			jobs = append(jobs, id+"/"+member)
		}
	}
	if _, err = Cancel(ctx, store, jobs); err != nil || len(away) == 0 {
		return err
	}
	for i := range away {
		away[i] = id + "/" + away[i]
	}
	return AgreeSome(ctx, store, away)
}

// cancelInner cancels those that are in a flow, also one that had ended, and was retried by itself.
func cancelInner(ctx context.Context, store *rdb.Store, id string) error {
	return flowdb.Of(store).EachInner(ctx, id, func(inner string) error {
		_, err := CancelFlow(ctx, store, inner)
		if err == nil {
			_, err = flowdb.Of(store).Turn(ctx, inner, false)
		}
		return err
	})
}

// cancelHeld cancels a flow of which the turn has not come.
func cancelHeld(ctx context.Context, store *rdb.Store, id string) (state string, err error) {
	state, err = flowdb.Of(store).Turn(ctx, id, true)
	if err == nil && state == flowdb.IsRunning { // it has begun meanwhile
		return CancelFlow(ctx, store, id)
	}
	return state, err
}

// FinishFlow goes on with what is to be done about a flow, until nothing is left of it: also with its cancellation. One
// that is in another flow begins if its turn has come, and when it has ended that one goes on.
func FinishFlow(ctx context.Context, store *rdb.Store, id string) error {
	inner := flowdb.IsInner(id)
	if inner {
		if is, err := finishAway(ctx, store, id); is || err != nil {
			return err
		}
		if goes, err := turnFlow(ctx, store, id); err != nil || !goes {
			return err
		}
	}
	cancelling, err := flowdb.Of(store).Finish(ctx, id)
	if err == nil && cancelling {
		_, err = CancelFlow(ctx, store, id)
	}
	if err == nil && inner {
		_, err = turnFlow(ctx, store, id)
	}
	return err
}

// turnFlow has a flow agree with the one that it is in. It returns whether it runs.
func turnFlow(ctx context.Context, store *rdb.Store, id string) (goes bool, err error) {
	state, err := flowdb.Of(store).Turn(ctx, id, false)
	if err == nil && state == flowdb.Told {
		outer, _ := flowdb.OuterOf(id)
		err = FinishFlow(ctx, store, outer)
	}
	return state == flowdb.IsRunning, err
}
