package doctor

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// checkAway looks at the members of a flow that are at home in other partitions: one that has not ended is there. A
// partition that does not answer tells nothing.
func (d *doctor) checkAway(ctx context.Context, f *flowlook.Flow) error {
	flows := flowdb.Of(d.store)
	return flows.EachAway(ctx, f.ID, func(members []string) error {
		stand, err := flows.Stand(ctx, members...)
		if err != nil {
			return err
		}
		names := make([]string, len(members))
		for i, member := range members {
			_, names[i] = flowdb.OuterOf(member)
		}
		known, err := flowlook.Of(d.store).Members(ctx, f.ID, names)
		if err != nil {
			return err
		}
		for i, member := range members {
			there := d.store.Other(stand[i].At)
			if !stand[i].Away || !known[i].Left || there == nil {
				continue
			}
			if lodged, err := flowdb.Of(there).Stand(ctx, member); err != nil || lodged[0].Lodged {
				continue
			}
			if d.repair {
				if err := ending.AgreeAway(ctx, d.store, member, stand[i]); err != nil {
					return err
				}
			}
			finding := Finding{Check: CheckFlow, Key: d.store.FullName("flow.left:" + f.ID), ID: member,
				Repaired: d.repair, Detail: fmt.Sprintf("it has not ended, and nothing is there of it in partition "+
					"%d, where it is at home", stand[i].At)}
			if d.repair {
				finding.Remedy = "it counts as deleted now: retry the flow, or enqueue its job, if it is wanted"
			}
			d.find(finding)
		}
		return nil
	})
}
