package doctor

import (
	"context"
	"slices"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// checkInner looks at the flows that are in one, and at those in them.
func (d *doctor) checkInner(ctx context.Context, outer *flowlook.Flow) error {
	for cursor := "0"; ; {
		named, next, err := flowlook.Of(d.store).Names(ctx, outer.ID, cursor, flowlook.MaxPage)
		if err != nil {
			return err
		}
		var names []string
		for _, m := range named {
			if m.Queue == "" {
				names = append(names, m.Name)
			}
		}
		for page := range slices.Chunk(names, flowlook.MaxPage) {
			if err := d.checkInnerPage(ctx, outer, page); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

func (d *doctor) checkInnerPage(ctx context.Context, outer *flowlook.Flow, names []string) error {
	ids := make([]string, len(names))
	for n, name := range names {
		ids[n] = outer.ID + "/" + name
	}
	flows, err := flowlook.Of(d.store).Read(ctx, ids...)
	if err != nil {
		return err
	}
	members, err := flowlook.Of(d.store).Members(ctx, outer.ID, names)
	if err != nil {
		return err
	}
	for n := range flows {
		if outer.State == string(flow.Running) && !flows[n].Busy {
			if err := d.checkTurn(ctx, &flows[n], &members[n]); err != nil {
				return err
			}
		}
		if flows[n].State != "" {
			if err := d.checkFlow(ctx, &flows[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTurn finds a flow about which one of two things is to be done, and nobody knows: it is to begin, or the flow
// that it is in is to be told of its end.
func (d *doctor) checkTurn(ctx context.Context, f *flowlook.Flow, m *flowlook.Member) error {
	detail := ""
	switch state := flow.State(f.State); {
	case !m.Left || m.Waits && f.State != "":
		return nil
	case f.State == "":
		detail = "it is in a flow that goes on, and nothing is there of it"
	case state == flow.Held:
		detail = "its turn has come, and it has not begun"
	case state.Ended():
		detail = "it has ended, and the flow that it is in was not told"
	default:
		return nil
	}
	// as it is by now: both were not read at one moment
	again, err := flowlook.Of(d.store).Read(ctx, f.ID)
	if err != nil || again[0].Busy || again[0].State != f.State {
		return err
	}
	outer, name := flowdb.OuterOf(f.ID)
	members, err := flowlook.Of(d.store).Members(ctx, outer, []string{name})
	if err != nil || !members[0].Left || members[0].Waits != m.Waits {
		return err
	}
	if d.repair {
		if err := ending.FinishFlow(ctx, d.store, f.ID); err != nil {
			return err
		}
	}
	d.find(Finding{Check: CheckFlow, Key: d.store.FullName("flow:" + f.ID), ID: f.ID, Detail: detail,
		Repaired: d.repair})
	return nil
}
