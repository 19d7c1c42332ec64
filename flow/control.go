package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
)

// Cancel cancels a flow with all members that have not ended: none of them begins any more, and those that run end as
// [work.Enqueuer.Cancel] has them. The flow has ended when the last of them has. Neither OnDone nor OnDeath runs. It
// returns how far the flow is then; it may be repeated, and of a flow that has ended changes nothing. One that is not
// sealed is removed: the error is [ErrNoFlow] then.
func Cancel(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	store, err := storeOf(ctx, enq, id)
	if err != nil {
		return Progress{}, err
	}
	err = answered(ctx, func(ctx context.Context) error {
		state, err := ending.CancelFlow(ctx, store, id)
		switch {
		case err != nil:
		case flowdb.IsInner(id):
			err = ending.FinishFlow(ctx, store, id)
		case state == flowdb.IsFilling:
			_, err = flowdb.Of(store).Remove(ctx, id, 1)
		}
		return err
	})
	if err != nil {
		return Progress{}, fmt.Errorf("flow %s cannot be cancelled: %w", brief(id), err)
	}
	p, err := read(ctx, store, id)
	if err == nil && flowdb.IsInner(id) && (p.State == Held || p.State == Filling) {
		outer, _ := flowdb.OuterOf(id)
		return p, mistake("flow "+brief(id), "in flow "+brief(outer)+", which is not sealed or is being retried",
			"cancel that one")
	}
	return p, err
}

// Pause has a flow put no more members into their queues, until [Resume]. Those that are there already, or run, go on.
// It does not end meanwhile, and neither OnDone nor OnDeath runs.
func Pause(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	return pause(ctx, enq, id, true)
}

// Resume lets a flow go on that was paused.
func Resume(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	return pause(ctx, enq, id, false)
}

// pauseAll pauses a flow, or lets it go on, with all that are in it and run. One that begins later does so as that is
// which it is in.
func pauseAll(ctx context.Context, store *rdb.Store, id string, pause bool) error {
	state, err := flowdb.Of(store).Pause(ctx, id, pause)
	if err != nil || state != flowdb.IsRunning {
		return err
	}
	err = flowdb.Of(store).EachInner(ctx, id, func(inner string) error {
		return pauseAll(ctx, store, inner, pause)
	})
	if err == nil {
		err = ending.FinishFlow(ctx, store, id)
	}
	if err == nil && !pause {
		err = ending.AgreeAll(ctx, store, id)
	}
	return err
}

func pause(ctx context.Context, enq *work.Enqueuer, id string, pause bool) (Progress, error) {
	store, err := storeOf(ctx, enq, id)
	if err != nil {
		return Progress{}, err
	}
	err = answered(ctx, func(ctx context.Context) error { return pauseAll(ctx, store, id, pause) })
	if err != nil {
		return Progress{}, fmt.Errorf("flow %s cannot be paused or resumed: %w", brief(id), err)
	}
	return read(ctx, store, id)
}

// Retry runs a flow again that has ended and not all of whose members are done: those that are not run once more, in
// their order, and OnDone or OnDeath when it ends again. What is done stays so, with its results. Members in the morgue
// leave it. It may be repeated until it succeeds, by anyone: nothing runs before its last step.
//
// A flow that has not ended, and one that is done, is a *[work.InvalidError]; so is one in a partition that was given
// up, with how many partitions there must be again. Members that are unique take their locks again, but for those for
// a time: where somebody else has one by now the error is a *[LockError], and nothing was done. Only if that takes it
// while Retry is under way the flow is [Reopening] after that error.
func Retry(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	p, err := placeOf(ctx, enq, id)
	if err != nil {
		return Progress{}, err
	}
	if !p.m.Single() && p.m.State(p.partition) != partition.Open {
		return Progress{}, mistake("flow "+brief(id),
			fmt.Sprintf("in partition %d, which was given up, or is to be", p.partition),
			fmt.Sprintf("have at least %d partitions again (work partitions --set %[1]d) and retry it then, or "+
				"enqueue another one: it would not run", p.partition+1))
	}
	if err := retriable(ctx, p.store, id); err != nil {
		return Progress{}, err
	}
	if err := staysOpen(ctx, &p, id); err != nil {
		return Progress{}, err
	}
	store, state := p.store, ""
	if err := mayRetry(ctx, store, id); err != nil {
		return Progress{}, err
	}
	err = answered(ctx, func(ctx context.Context) (err error) {
		state, err = reopening{store, p.fetch(enq), p.fetchAt(enq)}.open(ctx, id, flowdb.ReopenSeal)
		return err
	})
	switch newer := new(rdb.RouteError); {
	case errors.As(err, &newer):
		return Retry(ctx, enq, id)
	case err != nil:
		return Progress{}, fmt.Errorf("flow %s cannot be retried: %w", brief(id), err)
	case state == flowdb.IsGone:
		return Progress{}, fmt.Errorf("flow %s: %w", brief(id), ErrNoFlow)
	case state == string(Done):
		return Progress{}, mistake("flow "+brief(id), "done", "enqueue another one: there is nothing to retry")
	case state != "":
		return Progress{}, mistake("flow "+brief(id), state, "retry it when it has ended")
	}
	inside.Enqueuer(enq).Emit(event.FlowReopened{Flow: id})
	return read(ctx, store, id)
}

// mayRetry refuses a flow that has ended if a member of it finds its lock held.
func mayRetry(ctx context.Context, store *rdb.Store, id string) error {
	has, err := flowdb.Of(store).HasSpecial(ctx, id)
	if err != nil || !has {
		return err
	}
	p, err := read(ctx, store, id)
	if err != nil || p.State != DeadEnded && p.State != Cancelled {
		return err
	}
	err = answered(ctx, func(ctx context.Context) error { return locksAreFree(ctx, store, id) })
	if err != nil {
		return fmt.Errorf("flow %s cannot be retried: %w", brief(id), err)
	}
	return nil
}

// retriable refuses a flow that is in another one which has ended: nobody would count its end there.
func retriable(ctx context.Context, store *rdb.Store, id string) error {
	if !flowdb.IsInner(id) {
		return nil
	}
	outer, _ := flowdb.OuterOf(id)
	p, err := read(ctx, store, outer)
	if err == nil && p.State != Running {
		return mistake("flow "+brief(id), "in flow "+brief(outer)+", which is "+string(p.State), "retry that one")
	}
	if err == nil && p.Cancelling {
		return mistake("flow "+brief(id), "in flow "+brief(outer)+", which is being cancelled",
			"retry that one when it has ended")
	}
	return err
}

// reopening is what a retry of a flow needs.
type reopening struct {
	store *rdb.Store
	fetch fetching
	away  func(there *rdb.Store, at int) fetching // the fetching of members that are at home elsewhere
}

// open opens a flow again, with those in it that are not done. The last step is that it runs; or it is held, as it is
// in one that is opened again. The state that it returns is one in which that cannot be.
func (r reopening) open(ctx context.Context, id string, last flowdb.Reopening) (state string, err error) {
	store := r.store
	state, err = flowdb.Of(store).Reopen(ctx, id, flowdb.ReopenBegin, nil)
	if err != nil || state != flowdb.IsReopening {
		return state, err
	}
	if err := r.back(ctx, id); err != nil {
		return "", err
	}
	if err := waitAgain(ctx, store, id); err != nil {
		return "", err
	}
	for cursor := "0"; ; {
		next, members, err := flowdb.Of(store).Left(ctx, id, cursor)
		if err != nil {
			return "", err
		}
		for page := range slices.Chunk(members, rdb.MaxBatch) {
			if err := r.inner(ctx, id, page); err != nil { // of one that never began they are over too
				return "", err
			}
			if _, err := namedStep(ctx, store, id, flowdb.ReopenFree, page); err != nil {
				return "", err
			}
		}
		if cursor = next; cursor == "0" {
			break
		}
	}
	ends, err := lastJobs(ctx, store, id)
	if err == nil {
		_, err = flowdb.Of(store).Reopen(ctx, id, last, ends)
	}
	if err == nil {
		err = ending.FinishFlow(ctx, store, id)
	}
	return "", err
}

// back takes the ends of members back that are not done.
func (r reopening) back(ctx context.Context, id string) error {
	flows := flowdb.Of(r.store)
	for lost := 0; ; { // those of which nobody knows what they were stay as they are, before the others
		members, err := flows.Ends(ctx, id, lost)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		if err := r.inner(ctx, id, members); err != nil {
			return err
		}
		if err := r.fetch(ctx, id, members); err != nil {
			return err
		}
		if _, err := flows.Reopen(ctx, id, flowdb.ReopenBack, members); err != nil {
			return err
		}
		if err := referAgain(ctx, r.store, id, members); err != nil {
			return err
		}
		left, err := flows.Ends(ctx, id, lost)
		if err != nil {
			return err
		}
		for _, member := range left {
			if slices.Contains(members, member) {
				lost++
			}
		}
	}
}

// referAgain has objects stay that members refer to which run once more: with the end of one its references went. Where
// an object is gone, the member says so when it runs.
func referAgain(ctx context.Context, store *rdb.Store, id string, members []string) error {
	kept, err := flowdb.Of(store).Records(ctx, id, members...)
	if err != nil {
		return err
	}
	ids := map[string][]string{}
	for i, text := range kept {
		r, _ := record.Decode([]byte(text[strings.LastIndexByte(text, '\n')+1:])) // one that cannot be read has none
		for _, sha := range r.Objects {
			ids[sha] = append(ids[sha], id+"/"+members[i])
		}
	}
	for sha, ids := range ids {
		if _, err := (&place{store: store}).refer(ctx, sha, ids); err != nil {
			return err
		}
	}
	return nil
}

// inner opens those of some members again that are flows, before the flow that they are in knows of it: they are
// held until their turn comes once more.
func (r reopening) inner(ctx context.Context, id string, members []string) error {
	inner, err := flowdb.Of(r.store).InnerOf(ctx, id, members)
	for _, member := range inner {
		if _, err := r.open(ctx, id+"/"+member, flowdb.ReopenHold); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return r.reopenAway(ctx, id, members)
}

// waitAgain has those that run once more wait for each other also where they do so whatever the end.
func waitAgain(ctx context.Context, store *rdb.Store, id string) error {
	for last := ""; ; {
		edges, behind, err := flowdb.Of(store).EvenEdges(ctx, id, last)
		if err == nil && len(edges) > 0 {
			_, err = flowdb.Of(store).Reopen(ctx, id, flowdb.ReopenEven, edges)
		}
		if last = behind; err != nil || last == "" {
			return err
		}
	}
}

// lastJobs are what runs at the end of the flow, with ids of its generation, each behind its name.
func lastJobs(ctx context.Context, store *rdb.Store, id string) (last []string, err error) {
	p, err := flowdb.Of(store).Progress(ctx, id)
	if err != nil {
		return nil, err
	}
	names := []string{atDone, atDeath}
	kept, err := flowdb.Of(store).Records(ctx, id, names...)
	if err != nil {
		return nil, err
	}
	for i, text := range kept {
		queue, raw, found := strings.Cut(text, "\n")
		if !found {
			continue
		}
		r, err := record.Decode([]byte(raw))
		if err != nil {
			return nil, err
		}
		r.ID = id + "/" + names[i] + "#" + strconv.Itoa(p.Generation)
		last = append(last, names[i], queue+"\n"+string(r.Append(nil)))
	}
	return last, nil
}
