package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// FlowGraph is what waits for what in a flow, for people to look at: members one by one where they are few, else
// folded.
type FlowGraph struct {
	Nodes []FlowNode `json:"nodes"` // by their layers: whoever waits for a node is behind it
	Edges []FlowLine `json:"edges"`
	// a node stands for members of one job that are as far behind the beginning; or, where those are too many, for all
	// members of one job
	Folded bool `json:"folded,omitzero"`
	// it is not all of it: there are more than 20,000 edges, or the flow has changed while it was read
	Partial bool `json:"partial,omitzero"`
}

// FlowNode is a member, or some of them.
type FlowNode struct {
	Name    string `json:"name"`          // of the member; of several that of their job
	Job     string `json:"job,omitzero"`  // "" of a batch: its members may be of several; and of flows
	Flow    string `json:"flow,omitzero"` // of one member that is a flow, the id of that
	Layer   int    `json:"layer"`         // 0 waits for nobody
	Members int    `json:"members"`
	// how many members are in which; of several those that are left are "left" or "waiting"
	States map[MemberState]int `json:"states"`
	// of one member: where it is, if that is another partition than that of its flow; nil if it is not
	Partition *int `json:"partition,omitempty"`
}

// State is the state of all members of the node: that of those that people must look at first, of several.
func (n *FlowNode) State() MemberState {
	order := []MemberState{"dead", MemberLost, "running", "retrying", "stalled", "queued", "scheduled", MemberLeft,
		MemberWaits, "discarded", "expired", "deleted", "cancelled"}
	for _, state := range order {
		if n.States[state] > 0 {
			return state
		}
	}
	return MemberDone
}

// Done is how many of its members have ended well.
func (n *FlowNode) Done() int { return n.States[MemberDone] }

// FlowLine is the edges between two nodes.
type FlowLine struct {
	From  int    `json:"from"` // of Nodes
	To    int    `json:"to"`
	Rule  string `json:"rule"` // cancel, even or hold; "" where they are of several
	Count int    `json:"count"`
	Unmet int    `json:"unmet"` // how many of them are waited for yet
}

// The bounds of a graph.
const (
	maxGraphNodes   = 40     // members one by one; nodes, where they are folded
	maxGraphMembers = 12_000 // a graph has 10,000 at most, and some may have been added
	maxGraphEdges   = 20_000
)

// FlowGraph reads the graph of a flow. A graph of up to 40 members has a node for each, with the state of its job. More
// are folded: into nodes of members of one job that are equally far from the beginning; where these are more than 40
// into one for each job; and the smallest of these into one. It is read in pages of 500: a graph of 5,000 members and
// 10,000 edges takes about 70 calls. A batch is one node, whatever its size, and takes none.
func (i *Inspector) FlowGraph(ctx context.Context, id string) (FlowGraph, error) {
	v, found, err := i.findFlow(ctx, id)
	if err != nil {
		return FlowGraph{}, err
	}
	if found.Batch {
		return batchGraph(&found), nil
	}
	r := &graphRead{Flows: flowlook.Of(v.store), id: id, at: map[string]int{}}
	if err := r.read(ctx); err != nil {
		return FlowGraph{}, flowFailed(id, err)
	}
	r.layers()
	graph := r.folded()
	if !graph.Folded {
		err = i.livingStates(ctx, &found, &graph)
	}
	return graph, err
}

// batchGraph is one node.
func batchGraph(f *flowlook.Flow) FlowGraph {
	node := FlowNode{Name: "batch", Members: f.Total, States: map[MemberState]int{}}
	for state, n := range map[MemberState]int{MemberDone: f.Done(), "dead": f.Dead, "cancelled": f.Cancelled,
		"discarded": f.Otherwise, MemberLeft: f.Left} {
		if n > 0 {
			node.States[state] = n
		}
	}
	if f.State == "filling" {
		node.States = map[MemberState]int{MemberWaits: f.Total}
	}
	return FlowGraph{Nodes: []FlowNode{node}, Edges: []FlowLine{}}
}

// livingStates are the states of members whose jobs live.
func (i *Inspector) livingStates(ctx context.Context, of *flowlook.Flow, g *FlowGraph) error {
	members := make([]FlowMember, len(g.Nodes))
	for n := range g.Nodes {
		node := &g.Nodes[n]
		members[n] = FlowMember{Name: node.Name, ID: of.ID + "/" + node.Name, Job: node.Job, State: node.State()}
		if members[n].State == MemberLeft {
			members[n].State = MemberLost
		}
		if node.Partition != nil {
			members[n].ID = lodgedID(members[n].ID)
		}
		if node.Flow != "" {
			members[n].Flow = &FlowInfo{}
		}
	}
	if err := i.withJobs(ctx, of, members); err != nil {
		return err
	}
	for n := range members {
		g.Nodes[n].States = map[MemberState]int{members[n].State: 1}
	}
	return nil
}

// graphRead is a graph as it is read.
type graphRead struct {
	flowlook.Flows
	id      string
	members []graphMember
	at      map[string]int // name -> member
	edges   []graphEdge
	partial bool
}

type graphMember struct {
	name, job string
	inner     bool // a flow
	away      *int // the partition where it is at home, if that is not its flow's
	state     MemberState
	layer     int
}

type graphEdge struct {
	from, to int
	rule     string
	unmet    bool
}

func (r *graphRead) read(ctx context.Context) error {
	for cursor, first := "0", true; first || cursor != "0"; first = false {
		named, next, err := r.Names(ctx, r.id, cursor, flowlook.MaxPage)
		if err != nil {
			return err
		}
		for _, m := range named {
			if _, twice := r.at[m.Name]; !twice {
				r.at[m.Name] = len(r.members)
				one := graphMember{name: m.Name, job: cmp.Or(needs.Name(m.Queue), innerFlows), inner: m.Queue == "",
					state: MemberDone}
				if m.Away {
					one.away = new(int)
					*one.away = m.At
				}
				r.members = append(r.members, one)
			}
		}
		if cursor = next; len(r.members) > maxGraphMembers {
			return errors.New("it has more members than a graph may have")
		}
	}
	for _, read := range []func(context.Context) error{r.readEdges, r.readUnmet, r.readStates} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *graphRead) readEdges(ctx context.Context) error {
	var from flowlook.Edge
	for {
		edges, err := r.Edges(ctx, r.id, from, flowlook.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range edges {
			a, is := r.at[e.From]
			b, are := r.at[e.To]
			if r.partial = r.partial || !is || !are; is && are {
				r.edges = append(r.edges, graphEdge{from: a, to: b, rule: e.Rule})
			}
		}
		if len(edges) < flowlook.MaxPage {
			return nil
		}
		if from = edges[len(edges)-1]; len(r.edges) >= maxGraphEdges {
			r.partial = true
			return nil
		}
	}
}

// readUnmet notes which edges are waited for, and by whom.
func (r *graphRead) readUnmet(ctx context.Context) error {
	at := make(map[[2]int]int, len(r.edges))
	for n, e := range r.edges {
		at[[2]int{e.from, e.to}] = n
	}
	var from flowlook.Edge
	for read := 0; read < maxGraphEdges; {
		edges, err := r.Unmet(ctx, r.id, from, flowlook.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range edges {
			a, is := r.at[e.From]
			b, are := r.at[e.To]
			if is && are {
				r.members[b].state = MemberWaits
				if n, is := at[[2]int{a, b}]; is {
					r.edges[n].unmet = true
				}
			}
		}
		if read += len(edges); len(edges) < flowlook.MaxPage {
			return nil
		}
		from = edges[len(edges)-1]
	}
	return nil
}

// readStates notes who has not ended, and who otherwise than done.
func (r *graphRead) readStates(ctx context.Context) error {
	left := make(map[int]bool, len(r.members))
	for cursor, first := "0", true; first || cursor != "0"; first = false {
		names, next, err := r.Left(ctx, r.id, cursor, flowlook.MaxPage)
		if err != nil {
			return err
		}
		for _, name := range names {
			if n, is := r.at[name]; is {
				left[n] = true
			}
		}
		cursor = next
	}
	for n := range r.members {
		switch m := &r.members[n]; {
		case !left[n]:
			m.state = MemberDone
		case m.state != MemberWaits:
			m.state = MemberLeft
		}
	}
	var cursor rdb.ShelfCursor
	for {
		ends, err := r.Ends(ctx, r.id, &cursor, flowlook.MaxPage)
		if err != nil || len(ends) == 0 {
			return err
		}
		for _, end := range ends {
			if n, is := r.at[end.Name]; is && end.How > 0 && end.How < len(memberEnds) {
				r.members[n].state = memberEnds[end.How]
			}
		}
	}
}

// layers says how far each member is behind the beginning: one more than the farthest that it waits for.
func (r *graphRead) layers() {
	waits, next := make([]int, len(r.members)), make([][]int, len(r.members))
	for _, e := range r.edges {
		waits[e.to]++
		next[e.from] = append(next[e.from], e.to)
	}
	var free []int
	for n := range r.members {
		if waits[n] == 0 {
			free = append(free, n)
		}
	}
	for len(free) > 0 {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range next[n] {
			r.members[to].layer = max(r.members[to].layer, r.members[n].layer+1)
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
}

// folding is what members are put together by.
type folding struct {
	layer int
	name  string
}

// folded puts members together until there are few nodes.
func (r *graphRead) folded() FlowGraph {
	if len(r.members) <= maxGraphNodes {
		return r.put(false, func(m *graphMember) folding { return folding{m.layer, m.name} })
	}
	byLayer := func(m *graphMember) folding { return folding{m.layer, m.job} }
	if r.count(byLayer) <= maxGraphNodes {
		return r.put(true, byLayer)
	}
	byJob := func(m *graphMember) folding { return folding{0, m.job} }
	if r.count(byJob) <= maxGraphNodes {
		return r.put(true, byJob)
	}
	large := r.largest()
	return r.put(true, func(m *graphMember) folding {
		if !large[m.job] {
			return folding{0, otherJobs}
		}
		return folding{0, m.job}
	})
}

// The names of nodes: of those that have none of their own, and of flows.
const (
	otherJobs  = "(other jobs)"
	innerFlows = "(flows)"
)

func (r *graphRead) count(by func(*graphMember) folding) int {
	seen := map[folding]bool{}
	for n := range r.members {
		seen[by(&r.members[n])] = true
	}
	return len(seen)
}

// largest are the jobs with the most members.
func (r *graphRead) largest() map[string]bool {
	counts := map[string]int{}
	for n := range r.members {
		counts[r.members[n].job]++
	}
	jobs := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	large := map[string]bool{}
	for _, job := range jobs[:min(len(jobs), maxGraphNodes-1)] {
		large[job] = true
	}
	return large
}

// put makes the graph. A node of members of several layers is in the first of these.
func (r *graphRead) put(fold bool, by func(*graphMember) folding) FlowGraph {
	nodes, of := map[folding]*FlowNode{}, make([]*FlowNode, len(r.members))
	for n := range r.members {
		m := &r.members[n]
		key := by(m)
		node := nodes[key]
		if node == nil {
			node = &FlowNode{Name: key.name, Job: m.job, Layer: m.layer, States: map[MemberState]int{}}
			if key.name == otherJobs || m.inner {
				node.Job = ""
			}
			if m.inner && !fold {
				node.Flow = r.id + "/" + m.name
			}
			if m.away != nil && !fold {
				node.Partition = m.away
			}
			nodes[key] = node
		}
		node.Layer = min(node.Layer, m.layer)
		node.Members++
		node.States[m.state]++
		of[n] = node
	}
	sorted := slices.SortedFunc(maps.Values(nodes), func(a, b *FlowNode) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), strings.Compare(a.Name, b.Name))
	})
	graph, at := FlowGraph{Nodes: []FlowNode{}, Folded: fold, Partial: r.partial}, map[*FlowNode]int{}
	for n, node := range sorted {
		graph.Nodes = append(graph.Nodes, *node)
		at[node] = n
	}
	graph.Edges = r.lines(func(member int) int { return at[of[member]] })
	return graph
}

// lines are the edges between nodes, those of the same two together.
func (r *graphRead) lines(nodeOf func(member int) int) []FlowLine {
	lines := map[[2]int]*FlowLine{}
	for _, e := range r.edges {
		key := [2]int{nodeOf(e.from), nodeOf(e.to)}
		line := lines[key]
		if line == nil {
			line = &FlowLine{From: key[0], To: key[1], Rule: e.rule}
			lines[key] = line
		}
		if line.Count++; e.unmet {
			line.Unmet++
		}
		if line.Rule != e.rule {
			line.Rule = ""
		}
	}
	all := []FlowLine{}
	for _, line := range lines {
		all = append(all, *line)
	}
	slices.SortFunc(all, func(a, b FlowLine) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return all
}
