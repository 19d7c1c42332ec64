package pages

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/graph"
	"github.com/265d0351/work/webui/internal/visit"
)

// tab is one of the ways in which a list can be looked at.
type tab struct {
	Name, Link string
	Here       bool
}

// flowsBody is a page of flows.
type flowsBody struct {
	Tabs    []tab
	Flows   []flowRow
	Columns columns.Heads // of the flows of this page
	First   string        // the page's beginning, "" where this is it
	Next    string
}

// All tells whether these are flows of all states.
func (b flowsBody) All() bool { return len(b.Tabs) > 0 && b.Tabs[0].Here }

// flowRow is a flow with what is reckoned from it.
type flowRow struct {
	inspect.FlowInfo
	Word string // its state, with what keeps it
}

func newFlowRow(f inspect.FlowInfo) flowRow {
	row := flowRow{FlowInfo: f, Word: string(f.State)}
	switch {
	case f.State == flow.Filling:
		row.Word = "unsealed"
	case f.State.Ended():
	case f.Cancelling:
		row.Word = "being cancelled"
	case f.Paused:
		row.Word = "paused"
	case f.Releasing:
		row.Word = "releasing"
	}
	return row
}

// Ended tells whether there is nothing left to run.
func (r flowRow) Over() bool { return r.State.Ended() }

// Gone is how many have ended.
func (r flowRow) Gone() int { return r.Total - r.Left }

// Look is the class of the state's mark.
func (r flowRow) Look() string {
	switch {
	case r.State == flow.Done:
		return "succeeded"
	case r.State == flow.Running && r.Word == string(flow.Running):
		return "running"
	case r.State == flow.DeadEnded:
		return "dead"
	case r.Word == "paused", r.Word == "unsealed", r.Word == "being cancelled":
		return "stalled"
	}
	return string(r.State)
}

// flowColumns are those by which the flows of a page can be sorted: pages follow the time at which they were stored.
var flowColumns = []columns.Column[flowRow]{
	columns.Text("id", "Flow", func(r *flowRow) string { return r.ID }),
	columns.Text("state", "State", func(r *flowRow) string { return r.Word }),
	columns.Number("gone", "Ended", func(r *flowRow) int { return r.Gone() }).Says("members that have"),
	columns.Number("of", "Of", func(r *flowRow) int { return r.Total }).Says("members"),
	columns.Number("dead", "Dead", func(r *flowRow) int { return r.Dead }),
	columns.Number("cancelled", "Cancelled", func(r *flowRow) int { return r.Cancelled }),
	columns.Time("stored", "Stored", func(r *flowRow) time.Time { return r.Stored }).Down(),
	columns.Time("over", "Over", func(r *flowRow) time.Time { return r.Ended }).Down().Says("when it ended"),
}

func (s *Site) showFlows(v *visit.Visit) error {
	state, cursor := v.Query.Get("state"), v.Query.Get("cursor")
	read, err := v.Inspector.Flows(v.Ctx(),
		inspect.FlowsOptions{Filter: inspect.FlowFilter(state), Cursor: cursor})
	if err != nil {
		return err
	}
	body := flowsBody{Tabs: []tab{{Name: "all", Link: "flows", Here: state == ""}}}
	for _, filter := range inspect.FlowFilters() {
		body.Tabs = append(body.Tabs, tab{Name: string(filter), Link: format.Link("flows", "state", string(filter)),
			Here: state == string(filter)})
	}
	for _, f := range read.Flows {
		body.Flows = append(body.Flows, newFlowRow(f))
	}
	body.Columns = columns.Sort(v, body.Flows, flowColumns)
	by := v.Query.Get("sort")
	if read.Next != "" {
		body.Next = format.Link("flows", "state", state, "sort", by, "cursor", read.Next)
	}
	if cursor != "" {
		body.First = format.Link("flows", "state", state, "sort", by)
	}
	return s.show(v, "flows", page{Title: "Flows", Nav: "/flows", Body: body})
}

// flowBody is one flow.
type flowBody struct {
	Flow    flowRow
	Graph   graph.Picture
	Tabs    []tab // of its members
	Job     string
	Members []inspect.FlowMember
	Columns columns.Heads // of the members of this page
	First   string
	Next    string
}

// memberColumns are those by which the members of a page can be sorted.
var memberColumns = []columns.Column[inspect.FlowMember]{
	columns.Text("member", "Member", func(r *inspect.FlowMember) string { return r.Name }),
	columns.Text("job", "Job", func(r *inspect.FlowMember) string { return r.Job }),
	columns.Text("state", "State", func(r *inspect.FlowMember) inspect.MemberState { return r.State }),
}

// membersShown is how many members stand on the page of a flow.
const membersShown = 50

func (s *Site) showFlow(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	info, err := v.Inspector.Flow(v.Ctx(), id)
	if err != nil {
		return err
	}
	nodes, err := v.Inspector.FlowGraph(v.Ctx(), id)
	if err != nil {
		return err
	}
	state, job, cursor := v.Query.Get("state"), v.Query.Get("name"), v.Query.Get("cursor")
	read, err := v.Inspector.FlowMembers(v.Ctx(), inspect.FlowMembersOptions{Flow: id,
		State: inspect.MemberState(state), Job: job, Cursor: cursor, Limit: membersShown})
	if err != nil {
		return err
	}
	by := v.Query.Get("members")
	body := flowBody{Flow: newFlowRow(info), Graph: graph.Draw(id, nodes), Job: job, Members: read.Members,
		Columns: columns.SortPart(v, "members", read.Members, memberColumns),
		Tabs:    []tab{{Name: "all", Link: format.Link("flow", "id", id, "name", job), Here: state == ""}}}
	for _, of := range inspect.MemberStates() {
		body.Tabs = append(body.Tabs, tab{Name: string(of), Here: state == string(of),
			Link: format.Link("flow", "id", id, "name", job, "state", string(of))})
	}
	if read.Next != "" {
		body.Next = format.Link("flow", "id", id, "name", job, "state", state, "members", by, "cursor",
			read.Next)
	}
	if cursor != "" {
		body.First = format.Link("flow", "id", id, "name", job, "state", state, "members", by)
	}
	return s.show(v, "flow", page{Title: "Flow " + format.Shorten(id, 60), Nav: "/flows", Body: body, Now: info.AsOf})
}

// memberOf is what a flow knows of a job of which nothing is in Redis besides; nil where that is no member.
func memberOf(v *visit.Visit, id string) (*memberFact, error) {
	at := strings.LastIndex(id, "/")
	if at <= 0 {
		return nil, nil
	}
	return memberFactOf(v, id[:at], id[at+1:])
}

// memberFactOf is what a flow knows of one of its members; nil where there is none.
func memberFactOf(v *visit.Visit, id, name string) (*memberFact, error) {
	member, err := v.Inspector.FlowMember(v.Ctx(), id, name)
	switch {
	case errors.Is(err, flow.ErrNoFlow), errors.Is(err, work.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	fact := &memberFact{Flow: id, FlowMember: member}
	fact.Followers, err = v.Inspector.FlowFollowers(v.Ctx(), fact.Flow, member.Name, nil)
	fact.MoreFollowers = len(fact.Followers) > followersShown
	fact.Followers = slices.Clip(fact.Followers[:min(len(fact.Followers), followersShown)])
	return fact, err
}

// followersShown is how many of those that wait for a member are shown.
const followersShown = 20

// memberFact is a member of a flow.
type memberFact struct {
	Flow string
	inspect.FlowMember
	Followers     []inspect.FlowEdge // who waits for it
	MoreFollowers bool
}
