package inspect

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// withFlows says of members that are flows how far these are. One that has not ended in the flow that it is in runs
// there, also while that is to be told of its end.
func (i *Inspector) withFlows(ctx context.Context, id string, members []FlowMember) error {
	var ids []string
	var at []int
	for n := range members {
		if members[n].Flow != nil {
			ids, at = append(ids, members[n].ID), append(at, n)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	v, _, err := i.findFlow(ctx, id)
	if err != nil {
		return err
	}
	read, err := flowlook.Of(v.store).Read(ctx, ids...)
	for n := range read {
		m, info := &members[at[n]], v.flowInfo(&read[n])
		m.Flow = &info
		switch {
		case info.State == flow.Held && m.State == MemberLost: // its turn has come
			m.State = MemberWaits
		case info.State == flow.Running, info.State == flow.Reopening, info.State != "" && m.State == MemberLost:
			m.State = MemberState(work.StateRunning)
		}
	}
	return err
}
