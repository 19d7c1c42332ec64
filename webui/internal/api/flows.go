package api

import (
	"context"
	"net/http"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// maxFlowPage is how many flows, or members, one answer may have.
const maxFlowPage = 500

func readFlows(v *visit.Visit) error {
	limit, err := v.Number("limit", 0, maxFlowPage)
	if err != nil {
		return err
	}
	page, err := v.Inspector.Flows(v.Ctx(), inspect.FlowsOptions{Filter: inspect.FlowFilter(v.Query.Get("state")),
		Cursor: v.Query.Get("cursor"), Limit: limit})
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, page)
}

func readFlow(v *visit.Visit) error {
	return readOfFlow(v, func(ctx context.Context, id string) (any, error) { return v.Inspector.Flow(ctx, id) })
}

func readFlowGraph(v *visit.Visit) error {
	return readOfFlow(v, func(ctx context.Context, id string) (any, error) { return v.Inspector.FlowGraph(ctx, id) })
}

func readFlowMembers(v *visit.Visit) error {
	limit, err := v.Number("limit", 0, maxFlowPage)
	if err != nil {
		return err
	}
	return readOfFlow(v, func(ctx context.Context, id string) (any, error) {
		return v.Inspector.FlowMembers(ctx, inspect.FlowMembersOptions{Flow: id,
			State: inspect.MemberState(v.Query.Get("state")), Job: v.Query.Get("name"),
			Cursor: v.Query.Get("cursor"), Limit: limit})
	})
}

// readFlowMember tells of one member, and who waits for it: the first 500 of these.
func readFlowMember(v *visit.Visit) error {
	name, err := v.Target("member")
	if err != nil {
		return err
	}
	return readOfFlow(v, func(ctx context.Context, id string) (any, error) {
		member, err := v.Inspector.FlowMember(ctx, id, name)
		if err != nil {
			return nil, err
		}
		followers, err := v.Inspector.FlowFollowers(ctx, id, name, nil)
		return struct {
			inspect.FlowMember
			Followers []inspect.FlowEdge `json:"followers"`
		}{member, listed(followers)}, err
	})
}

// readOfFlow answers with what is read of the flow that is named.
func readOfFlow(v *visit.Visit, read func(ctx context.Context, id string) (any, error)) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	found, err := read(v.Ctx(), id)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, found)
}

// onFlow does something to the flow that is named, and tells in which state it is then.
func onFlow(v *visit.Visit, do func(context.Context, string) (inspect.FlowInfo, error)) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	info, err := do(v.Ctx(), id)
	return did(v, deed{Target: id, Effect: string(info.State)}, err)
}

func cancelFlow(v *visit.Visit) error { return onFlow(v, v.Inspector.CancelFlow) }
func pauseFlow(v *visit.Visit) error  { return onFlow(v, v.Inspector.PauseFlow) }
func resumeFlow(v *visit.Visit) error { return onFlow(v, v.Inspector.ResumeFlow) }
func retryFlow(v *visit.Visit) error  { return onFlow(v, v.Inspector.RetryFlow) }
func deleteFlow(v *visit.Visit) error { return on(v, "id", v.Inspector.DeleteFlow) }
