package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// MemberState is the state of a member of a flow: as long as its job lives that of the job, in the words of
// [work.State]; and one of these.
type MemberState string

// The states of members beside those of jobs.
const (
	MemberWaits MemberState = "waiting" // for others of its flow, or for the flow to be sealed or resumed
	MemberDone  MemberState = "done"
	// it has not ended, and its job is nowhere: see the doctor. It may be on its way for a moment
	MemberLost MemberState = "lost"
	// of a page alone: it has not ended, whatever its job is about
	MemberLeft MemberState = "left"
)

// memberEnds are how members may end otherwise than done, by what stands for it.
var memberEnds = [...]MemberState{"", "dead", "cancelled", "discarded", "expired", "deleted"}

// MemberStates are those that a page of members can be asked for.
func MemberStates() []MemberState {
	return append([]MemberState{MemberLeft, MemberDone}, memberEnds[1:]...)
}

// FlowMember is a member of a flow.
type FlowMember struct {
	Name  string      `json:"name"`
	ID    string      `json:"id"`           // of its job, or of the flow that it is
	Job   string      `json:"job,omitzero"` // the name of that; "" where it is kept no longer: of a batch
	State MemberState `json:"state"`

	WaitsFor []FlowEdge   `json:"waits_for,omitempty"` // those that it waits for yet, at most 20
	More     int          `json:"more,omitzero"`       // how many of these were left out
	Why      []WaitReason `json:"why,omitempty"`       // why its job does not run: as of any job

	Flow *FlowInfo `json:"flow,omitempty"` // of a member that is a flow, how far that is; nil of a job

	// where it is: another one than its flow where that is the home of its name, its key or its lock
	Partition int `json:"partition,omitzero"`
}

// FlowEdge is one member that waits for another.
type FlowEdge struct {
	From string `json:"from"` // the one that is waited for
	To   string `json:"to"`
	// what becomes of the one that waits if the other does not end well: "cancel" it, run it "even" so, or "hold" it
	// while the other is in the morgue
	Rule string `json:"rule"`
}

// Why is what the edge says, in words.
func (e FlowEdge) Why() string {
	switch e.Rule {
	case "even":
		return "runs when " + excerpt.Brief(e.From) + " has ended, however"
	case "hold":
		return "runs when " + excerpt.Brief(e.From) + " is done, and waits while it is in the morgue"
	}
	return "runs when " + excerpt.Brief(e.From) + " is done, and is cancelled with it"
}

// FlowMembersOptions says which members of a flow.
type FlowMembersOptions struct {
	Flow  string
	State MemberState // one of MemberStates; "" is all
	// only those whose jobs have this name. Of a batch that is known of those that have not ended well, or not yet
	Job    string
	Cursor string // FlowMemberPage.Next of the page before; "" is the beginning
	Limit  int    // of members; 0 is 50, at most 500
}

// FlowMemberPage is a page of the members of a flow.
type FlowMemberPage struct {
	Members []FlowMember `json:"members"`
	Next    string       `json:"next,omitzero"` // the cursor of the next page; "" at the end
}

// FlowMembers reads a page of the members of a flow: of a batch in their order, of a graph in that of their names if it
// has at most 500. It costs what the page costs, however many there are. Done ones, and those of one job, are found by
// going through all, 2,000 for each page: it may be shorter than its Limit, or empty, while Next has more. Members that
// end between two pages may be left out where those that have not are read.
func (i *Inspector) FlowMembers(ctx context.Context, opts FlowMembersOptions) (FlowMemberPage, error) {
	from, err := opts.validate()
	if err != nil {
		return FlowMemberPage{}, err
	}
	v, found, err := i.findFlow(ctx, opts.Flow)
	if err != nil {
		return FlowMemberPage{}, err
	}
	walk := membersWalk{view: v, flow: found, opts: opts, at: from}
	if opts.Cursor == "" {
		walk.begin()
	}
	page, err := walk.page(ctx)
	if err != nil {
		return page, flowFailed(opts.Flow, err)
	}
	return page, i.withJobs(ctx, &found, page.Members)
}

func (o *FlowMembersOptions) validate() (membersCursor, error) {
	if o.State != "" && !slices.Contains(MemberStates(), o.State) {
		return membersCursor{}, &work.InvalidError{What: "the state of members", Value: excerpt.Brief(string(o.State)),
			Remedy: "use left, done, dead, cancelled, discarded, expired or deleted"}
	}
	if err := validLimit(&o.Limit); err != nil || o.Cursor == "" {
		return membersCursor{}, err
	}
	var cursor membersCursor
	if err := decodeCursor(o.Cursor, &cursor); err != nil {
		return membersCursor{}, err
	}
	if cursor.Flow != o.Flow || cursor.State != string(o.State) || cursor.Job != o.Job {
		return membersCursor{}, badCursor(o.Cursor, errOtherCursor)
	}
	return cursor, nil
}

// membersWalk is a page of members under way.
type membersWalk struct {
	*view
	flow flowlook.Flow
	opts FlowMembersOptions
	at   membersCursor
	over bool
}

// begin chooses where the members of the page are found.
func (w *membersWalk) begin() {
	w.at = membersCursor{Flow: w.opts.Flow, State: string(w.opts.State), Job: w.opts.Job, Number: 1}
	switch {
	case w.opts.State == MemberLeft || w.flow.State == "filling":
		w.at.Way, w.at.Text = byLeft, "0"
	case slices.Contains(memberEnds[1:], w.opts.State):
		w.at.Way = byEnd
	case w.flow.Numbered() > 0:
		w.at.Way = byNumber
	default:
		w.toNames()
	}
}

// toNames goes on with those whose names are kept.
func (w *membersWalk) toNames() {
	w.at.Way, w.at.Text, w.over = bySorting, "", w.flow.Named == 0
	if w.flow.Named > flowlook.MaxPage {
		w.at.Way, w.at.Text = byScan, "0"
	}
}

func (w *membersWalk) page(ctx context.Context) (FlowMemberPage, error) {
	page, filtered := FlowMemberPage{Members: []FlowMember{}}, w.opts.State == MemberDone || w.opts.Job != ""
	for looked := 0; !w.over && len(page.Members) < w.opts.Limit && looked < looks; looked++ {
		most := w.opts.Limit - len(page.Members)
		names, err := w.names(ctx, most)
		if err != nil {
			return page, err
		}
		for part := range slices.Chunk(names, flowlook.MaxPage) {
			members, err := flowlook.Of(w.store).Members(ctx, w.opts.Flow, part)
			if err != nil {
				return page, err
			}
			for n := range members {
				if m := w.member(&members[n]); !filtered || w.wanted(&m) {
					page.Members = append(page.Members, m)
				}
			}
		}
	}
	if !w.over {
		page.Next = encodeCursor(w.at)
	}
	return page, nil
}

// wanted tells whether a member is one of those that were asked for. The job of one of a batch is not known here.
func (w *membersWalk) wanted(m *FlowMember) bool {
	return (w.opts.State != MemberDone || m.State == MemberDone) &&
		(w.opts.Job == "" || m.Job == w.opts.Job || m.Job == "" && m.State != MemberDone)
}

// names are those of the members that come next, about so many.
func (w *membersWalk) names(ctx context.Context, most int) (names []string, err error) {
	flows := flowlook.Of(w.store)
	switch w.at.Way {
	case byNumber:
		for ; w.at.Number <= w.flow.Numbered() && len(names) < most; w.at.Number++ {
			names = append(names, strconv.Itoa(w.at.Number))
		}
		if w.at.Number > w.flow.Numbered() {
			w.toNames()
		}
	case byLeft:
		names, w.at.Text, err = flows.Left(ctx, w.opts.Flow, w.at.Text, most)
		w.over = w.at.Text == "0"
	case byEnd:
		how := slices.Index(memberEnds[:], w.opts.State)
		var ends []flowlook.Ended
		ends, err = flows.Ends(ctx, w.opts.Flow, &rdb.ShelfCursor{Score: strconv.Itoa(how), ID: w.at.Text}, most)
		w.over = len(ends) < most
		for _, end := range ends {
			if end.How != how {
				w.over = true
				break
			}
			names, w.at.Text = append(names, end.Name), end.Name
		}
	default:
		names, err = w.kept(ctx, most)
	}
	return names, err
}

// kept are members whose names are kept. Few of them are read at once, and put in order.
func (w *membersWalk) kept(ctx context.Context, most int) ([]string, error) {
	if w.at.Way == byScan {
		named, next, err := flowlook.Of(w.store).Names(ctx, w.opts.Flow, w.at.Text, most)
		w.at.Text, w.over = next, next == "0"
		names := w.memberNames(named)
		slices.Sort(names)
		return names, err
	}
	var all []string
	for cursor := "0"; ; {
		named, next, err := flowlook.Of(w.store).Names(ctx, w.opts.Flow, cursor, flowlook.MaxPage)
		if err != nil {
			return nil, err
		}
		all = append(all, w.memberNames(named)...)
		if cursor = next; cursor == "0" {
			break
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	from, found := slices.BinarySearch(all, w.at.Text)
	if found {
		from++
	}
	all = all[from:]
	w.over = len(all) <= most
	if all = all[:min(most, len(all))]; len(all) > 0 {
		w.at.Text = all[len(all)-1]
	}
	return all, nil
}

// memberNames are the names, but for those of a batch that have come with its numbers.
func (w *membersWalk) memberNames(named []flowlook.Named) []string {
	names := make([]string, 0, len(named))
	for n := range named {
		if name := named[n].Name; !w.flow.Batch || !named[n].Away || strings.Trim(name, "0123456789") != "" {
			names = append(names, name)
		}
	}
	return names
}

// member is what the flow says of a member.
func (w *membersWalk) member(m *flowlook.Member) FlowMember {
	member := FlowMember{Name: m.Name, ID: w.opts.Flow + "/" + m.Name, Job: needs.Name(m.Queue), State: MemberDone,
		More: m.More}
	switch {
	case m.Waits, m.Left && w.flow.State == "filling":
		member.State = MemberWaits
	case m.Left:
		member.State = MemberLost // until its job is looked up
	case m.End > 0 && m.End < len(memberEnds):
		member.State = memberEnds[m.End]
	}
	member.Partition = w.partition
	if m.Away {
		member.Partition, member.ID = m.At, lodgedID(member.ID)
	}
	if m.Inner {
		member.Flow = &FlowInfo{ID: member.ID}
	}
	for _, from := range m.Unmet {
		member.WaitsFor = append(member.WaitsFor, FlowEdge{From: from, To: m.Name})
	}
	return member
}

// lodgedID is the id of the job of a member that is at home in another partition than its flow.
func lodgedID(id string) string { return id + "/" + flowdb.LodgedJob }

// withJobs adds what the jobs of members say of themselves, and by what rules members wait. Those of a batch that may
// run stand with what is to be done about it, as long as it is not all in the queues.
func (i *Inspector) withJobs(ctx context.Context, of *flowlook.Flow, members []FlowMember) error {
	var ids []string
	var at []int
	for n := range members {
		// one that is dead for its flow may have been retried by hand
		if s := members[n].State; members[n].Flow == nil && (s == MemberLost || s == "dead") {
			ids, at = append(ids, members[n].ID), append(at, n)
		}
	}
	jobs, err := i.Jobs(ctx, ids...)
	for n, job := range jobs {
		m := &members[at[n]]
		switch {
		case job == nil && m.State == MemberLost && (of.Todo > 0 || strings.HasSuffix(m.ID, "/"+flowdb.LodgedJob)):
			m.State = MemberWaits // or what it is to do is on its way to another partition
		case job == nil:
		case !job.State.Ended():
			m.State, m.Why = MemberState(job.State), job.Why
		}
		if job != nil && m.Job == "" {
			m.Job = job.Name
		}
	}
	if err == nil {
		err = i.withFlows(ctx, of.ID, members)
	}
	if err != nil {
		return err
	}
	return i.withRules(ctx, of.ID, members)
}

func (i *Inspector) withRules(ctx context.Context, id string, members []FlowMember) error {
	var edges []flowlook.Edge
	for _, m := range members {
		for _, e := range m.WaitsFor {
			edges = append(edges, flowlook.Edge{From: e.From, To: e.To})
		}
	}
	if len(edges) == 0 {
		return nil
	}
	v, _, err := i.findFlow(ctx, id)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(edges, flowlook.MaxPage) {
		rules, err := flowlook.Of(v.store).Rules(ctx, id, part)
		if err != nil {
			return flowFailed(id, err)
		}
		for n := range part {
			part[n].Rule = rules[n]
		}
	}
	n := 0
	for k := range members {
		for e := range members[k].WaitsFor {
			members[k].WaitsFor[e].Rule = edges[n].Rule
			n++
		}
	}
	return nil
}

// FlowMember reads one member of a flow. It is [work.ErrNotFound] where the flow has none of that name.
func (i *Inspector) FlowMember(ctx context.Context, id, name string) (FlowMember, error) {
	v, found, err := i.findFlow(ctx, id)
	if err != nil {
		return FlowMember{}, err
	}
	read, err := flowlook.Of(v.store).Members(ctx, id, []string{name})
	if err != nil {
		return FlowMember{}, flowFailed(id, err)
	}
	n, err := strconv.Atoi(name)
	numbered := err == nil && n >= 1 && n <= found.Numbered() && strconv.Itoa(n) == name
	if m := &read[0]; !numbered && m.Queue == "" && !m.Inner && !m.Left && m.End == 0 {
		return FlowMember{}, fmt.Errorf("member %s of flow %s: %w", excerpt.Brief(name), excerpt.Brief(id),
			work.ErrNotFound)
	}
	walk := membersWalk{view: v, flow: found, opts: FlowMembersOptions{Flow: id}}
	members := []FlowMember{walk.member(&read[0])}
	err = i.withJobs(ctx, &found, members)
	return members[0], err
}

// FlowFollowers reads those that wait, or have waited, for a member: a page of at most 500 behind that one, or from the
// beginning where it is "". A page of fewer than 500 is the last one.
func (i *Inspector) FlowFollowers(ctx context.Context, id, member string, behind *FlowEdge) ([]FlowEdge, error) {
	v, _, err := i.findFlow(ctx, id)
	if err != nil {
		return nil, err
	}
	mark := ""
	if behind != nil {
		mark = flowlook.Edge{To: behind.To, Rule: behind.Rule}.Mark()
	}
	found, err := flowlook.Of(v.store).Followers(ctx, id, member, mark, flowlook.MaxPage)
	if err != nil {
		return nil, flowFailed(id, err)
	}
	edges := make([]FlowEdge, len(found))
	for n, e := range found {
		edges[n] = FlowEdge(e)
	}
	return edges, nil
}
