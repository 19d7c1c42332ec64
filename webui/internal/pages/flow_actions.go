package pages

import (
	"context"
	"fmt"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) flowRoutes() []visit.Route {
	return []visit.Route{
		visit.Action("/flow-cancel", "cancel a flow", s.onFlow("is cancelled: its members are told",
			(*inspect.Inspector).CancelFlow)),
		visit.Action("/flow-pause", "keep members of a flow from being put into their queues",
			s.onFlow("is paused: what is in the queues goes on", (*inspect.Inspector).PauseFlow)),
		visit.Action("/flow-resume", "let a paused flow go on", s.onFlow("goes on", (*inspect.Inspector).ResumeFlow)),
		visit.Action("/flow-retry", "run the members of a flow again that are not done",
			s.onFlow("runs again, those of its members that are not done", (*inspect.Inspector).RetryFlow)),
		visit.Action("/flow-delete", "remove a flow that has ended", s.deleteFlow),
	}
}

// onFlow does something to the flow that the form is about, and leads to its page.
func (s *Site) onFlow(done string, do func(*inspect.Inspector, context.Context, string) (inspect.FlowInfo, error),
) func(*visit.Visit) error {
	return func(v *visit.Visit) error {
		id, err := v.Target("id")
		if err != nil {
			return err
		}
		info, err := do(v.Inspector, v.Ctx(), id)
		back := format.Link("flow", "id", id)
		if err == nil && info.Sealed.IsZero() && info.State.Ended() { // it was never sealed, and is gone
			back = "flows"
		}
		return s.finish(v, once{target: id, done: fmt.Sprintf("Flow %q %s.", format.Shorten(id, 60), done), back: back},
			err)
	}
}

// deleteFlow leads to the list: the flow has no page any more.
func (s *Site) deleteFlow(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: id, done: fmt.Sprintf("Flow %q was deleted.", format.Shorten(id, 60)),
		back: "flows"}, v.Inspector.DeleteFlow(v.Ctx(), id))
}
