package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// The times after which something about a flow is no more on its way.
const (
	unsealedFor  = 24 * time.Hour // the janitor removes it then
	releasingFor = time.Minute    // the janitor goes on with each every five seconds
)

// noteFlow keeps of which flows there are keys.
func (d *doctor) noteFlow(name string) bool {
	part, id, cut := strings.Cut(name, ":")
	if !cut || id == "" || part != "flow" && !strings.HasPrefix(part, "flow.") {
		return false
	}
	d.keys.flows[id] = d.keys.flows[id] || part == "flow"
	return true
}

// checkFlows looks whether each flow goes on, and whether what is kept of flows belongs to any.
func (d *doctor) checkFlows(ctx context.Context) error {
	if err := d.checkFlowKeys(ctx); err != nil {
		return err
	}
	listed := map[string]bool{}
	cursor := rdb.ShelfCursor{}
	for {
		page, err := flowlook.Of(d.store).Page(ctx, flowlook.All, &cursor, flowlook.MaxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		ids := make([]string, 0, len(page))
		for _, one := range page {
			if !listed[one.ID] {
				listed[one.ID] = true
				ids = append(ids, one.ID)
			}
		}
		flows, err := flowlook.Of(d.store).Read(ctx, ids...)
		if err != nil {
			return err
		}
		for n := range flows {
			if err := d.checkFlow(ctx, &flows[n]); err != nil {
				return err
			}
		}
	}
}

// checkFlowKeys looks at keys of flows, and at members of which the flow is gone.
func (d *doctor) checkFlowKeys(ctx context.Context) error {
	flows := flowdb.Of(d.store)
	for _, id := range slices.Sorted(maps.Keys(d.keys.flows)) {
		detail, err := d.leftOf(ctx, id)
		if err != nil {
			return err
		}
		if detail == "" {
			continue
		}
		f := Finding{Check: CheckFlowLeftover, Key: d.store.FullName("flow:" + id), ID: id, Repaired: d.repair,
			Detail: detail}
		if d.repair {
			if _, err := flows.Forget(ctx, id); err != nil {
				return err
			}
		}
		d.find(f)
	}
	for _, id := range slices.Sorted(maps.Keys(d.members)) {
		found, err := flowlook.Of(d.store).Read(ctx, id)
		if err != nil {
			return err
		}
		if job := d.members[id]; found[0].State == "" {
			raw, err := d.store.Record(ctx, job)
			if err != nil {
				return err
			}
			if raw == nil {
				continue
			}
			d.find(Finding{Check: CheckFlowLeftover, Key: d.store.FullName("jobs"), ID: job,
				Detail: "it is a member of flow " + excerpt.Brief(id) + ", which is gone: its end counts nowhere"})
		}
	}
	return nil
}

// leftOf says what is wrong with keys of a flow: there is none, or it is in one of which nothing is there; "" if all is
// well. One that is in a flow which is there is looked at with that.
func (d *doctor) leftOf(ctx context.Context, id string) (string, error) {
	outer, _ := flowdb.OuterOf(id)
	if d.keys.flows[id] && outer == "" {
		return "", nil
	}
	flows := flowdb.Of(d.store)
	if stand, err := flows.Stand(ctx, id); err != nil || stand[0].Lodged {
		return "", err // its flow is in another partition, and removes it: see checkAway
	}
	if outer == "" {
		there, err := flows.Exists(ctx, id)
		if there || err != nil {
			return "", err // it has come since
		}
		return "this is kept of a flow that is gone", nil
	}
	for _, one := range []string{outer, id} { // so that it is not on its way out with that which it is in
		there, err := flows.Exists(ctx, one)
		if one == outer && there || err != nil {
			return "", err
		}
		if one == id && !there && d.keys.flows[id] {
			return "", nil
		}
	}
	return "the flow that it is in is gone", nil
}

func (d *doctor) checkFlow(ctx context.Context, f *flowlook.Flow) error {
	if f.Inner {
		if err := d.checkInner(ctx, f); err != nil {
			return err
		}
	}
	if f.Away && f.State == string(flow.Running) {
		if err := d.checkAway(ctx, f); err != nil {
			return err
		}
	}
	switch state := flow.State(f.State); {
	case state == flow.Filling && f.Outer() == "":
		return d.checkUnsealed(ctx, f)
	case f.Busy:
		return d.checkReleasing(ctx, f)
	case state == flow.Running && !f.Paused:
		return d.checkMembers(ctx, f)
	case f.State == "":
		if d.keys.flows[f.ID] {
			return nil // it was removed meanwhile
		}
		d.find(Finding{Check: CheckFlowLeftover, Key: d.store.FullName("flows"), ID: f.ID, Repaired: d.repair,
			Detail: "it is listed, and nothing is there of it"})
		if d.repair {
			_, err := flowdb.Of(d.store).Forget(ctx, f.ID)
			return err
		}
	}
	return nil
}

// checkUnsealed finds a flow of which the store was cut off long ago.
func (d *doctor) checkUnsealed(ctx context.Context, f *flowlook.Flow) error {
	at, now, err := flowdb.Of(d.store).FilledLast(ctx, f.ID)
	old := time.Duration(now-at) * time.Millisecond
	if err != nil || old < unsealedFor {
		return err
	}
	if at == 0 { // it is not among those that are removed
		old = time.Duration(now-f.Created.UnixMilli()) * time.Millisecond
		if old < unsealedFor {
			return nil
		}
	}
	done := false
	if d.repair {
		done, err = flowdb.Of(d.store).Remove(ctx, f.ID, unsealedFor)
		if err == nil && !done && at == 0 {
			done, err = flowdb.Of(d.store).Forget(ctx, f.ID)
		}
	}
	d.find(Finding{Check: CheckFlowLeftover, Key: d.store.FullName("flow:" + f.ID), ID: f.ID, Repaired: done,
		Detail: "it was never sealed, and nobody has stored a part of it for " + age(old)})
	return err
}

// checkReleasing finds a flow with which nobody goes on.
func (d *doctor) checkReleasing(ctx context.Context, f *flowlook.Flow) error {
	since, now, err := flowdb.Of(d.store).BusySince(ctx, f.ID)
	old := time.Duration(now-since) * time.Millisecond
	if err != nil || since == 0 || old < releasingFor {
		return err
	}
	if d.repair {
		if err := ending.FinishFlow(ctx, d.store, f.ID); err != nil {
			return err
		}
	}
	d.find(Finding{Check: CheckFlow, Key: d.store.FullName("flows:busy"), ID: f.ID, Repaired: d.repair,
		Detail: fmt.Sprintf("something is to be done about it for %s, and nobody does it", age(old))})
	return nil
}

// checkMembers finds members that cannot go on.
func (d *doctor) checkMembers(ctx context.Context, f *flowlook.Flow) error {
	here, mended := d.of.Partitions.Map().Single(), false
	check := func(names []string) error {
		faults, err := flowdb.Of(d.store).Agree(ctx, f.ID, names, here, d.repair)
		for _, fault := range faults {
			d.findMember(f.ID, fault)
			mended = d.repair
		}
		if err == nil && mended && len(faults) > 0 { // what comes next is judged when this is done
			err = ending.FinishFlow(ctx, d.store, f.ID)
		}
		return err
	}
	if f.Left == 0 {
		return check(nil)
	}
	for cursor, read := "0", 0; ; {
		names, next, err := flowlook.Of(d.store).Left(ctx, f.ID, cursor, flowlook.MaxPage)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(names, flowlook.MaxPage) {
			if err := check(part); err != nil {
				return err
			}
		}
		read += len(names)
		if cursor = next; cursor == "0" || d.limit > 0 && read >= d.limit {
			return nil
		}
	}
}

func (d *doctor) findMember(id string, fault rdb.Fault) {
	f := Finding{Check: CheckFlow, Key: d.store.FullName("flow.left:" + id), ID: id + "/" + fault.ID,
		Repaired: d.repair}
	switch fault.What {
	case flowdb.FaultGone:
		f.Detail = "it has not ended, and nothing is there of it"
		if d.repair {
			f.Remedy = "it counts as deleted now: retry the flow, or enqueue its job, if it is wanted"
		}
	case flowdb.FaultStuck:
		f.Detail = "it waits for nobody, and is in no queue"
	case flowdb.FaultUntold:
		f.Detail = "it waits for one that has ended"
	case flowdb.FaultUnended:
		f.ID, f.Detail = id, "all of its members have ended, and it has not"
	}
	d.find(f)
}
