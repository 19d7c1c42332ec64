package flows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// tree is a graph in which each node stands below one of those that it waits for.
type tree struct {
	graph    inspect.FlowGraph
	children [][]int
	parents  [][]inspect.FlowLine // the lines to each node from others before it
	roots    []int
	inner    map[int]*tree // of nodes that are flows
}

// treeOf puts each node below the last of those before it. Where members of one job are one node it may wait for
// itself, and for what is behind it: so does a chain of two jobs that alternate. These lines make no branch.
func treeOf(graph inspect.FlowGraph) *tree {
	t := &tree{graph: graph, children: make([][]int, len(graph.Nodes)),
		parents: make([][]inspect.FlowLine, len(graph.Nodes))}
	for _, line := range graph.Edges {
		if t.before(line.From, line.To) {
			t.parents[line.To] = append(t.parents[line.To], line)
		}
	}
	for n := range graph.Nodes {
		last := -1
		for _, line := range t.parents[n] {
			if last < 0 || t.before(last, line.From) {
				last = line.From
			}
		}
		if last < 0 {
			t.roots = append(t.roots, n)
		} else {
			t.children[last] = append(t.children[last], n)
		}
	}
	return t
}

// before tells whether a node comes first: nodes are in the order of their layers.
func (t *tree) before(a, b int) bool { return a < b }

func (t *tree) lines(c *console.Console) []string {
	var lines []string
	for n, root := range t.roots {
		lines = append(lines, t.branch(c, root, n == len(t.roots)-1)...)
	}
	if t.graph.Partial {
		lines = append(lines, c.Paint(console.Faint, "not all of it: it has too many edges, or has changed meanwhile"))
	}
	return lines
}

// branch is a node, and those below it.
func (t *tree) branch(c *console.Console, n int, last bool) []string {
	own, below := "├─ ", "│  "
	if last {
		own, below = "└─ ", "   "
	}
	lines := []string{own + t.text(c, n)}
	if inner := t.inner[n]; inner != nil {
		for _, line := range inner.lines(c) {
			lines = append(lines, below+"┊ "+line)
		}
	}
	for k, child := range t.children[n] {
		for _, line := range t.branch(c, child, k == len(t.children[n])-1) {
			lines = append(lines, below+line)
		}
	}
	return lines
}

// text is a node in a line.
func (t *tree) text(c *console.Console, n int) string {
	node := &t.graph.Nodes[n]
	name := human.Visible(node.Name)
	if node.Flow != "" {
		name += " (a flow)"
	}
	if node.Job != "" && node.Job != node.Name {
		name += " (" + human.Visible(node.Job) + ")"
	}
	if node.Members > 1 {
		name += " ×" + human.Number(node.Members)
	}
	words := []string{name, c.Paint(styleOf(node.State()), statesOf(node))}
	if after := t.after(n); after != "" {
		words = append(words, c.Paint(console.Faint, after))
	}
	return strings.Join(words, "  ")
}

// after says what the tree does not: other nodes before it, those that it waits for yet, and rules.
func (t *tree) after(n int) string {
	var waits, others, notes []string
	rules, node := map[string]bool{}, &t.graph.Nodes[n]
	if node.Partition != nil {
		notes = append(notes, fmt.Sprintf("in partition %d", *node.Partition))
	}
	open := node.States[inspect.MemberWaits] > 0
	for _, line := range t.parents[n] {
		from := human.Visible(t.graph.Nodes[line.From].Name)
		if open && line.Unmet > 0 {
			waits = append(waits, from)
		} else {
			others = append(others, from)
		}
		rules[line.Rule] = true
	}
	if len(waits) > 0 {
		notes = append(notes, "waits for "+brief(waits))
	}
	if len(others) > 0 && len(waits)+len(others) > 1 {
		notes = append(notes, "after "+brief(others))
	}
	if rules["even"] {
		notes = append(notes, "even if they do not end well")
	}
	if rules["hold"] {
		notes = append(notes, "held while they are in the morgue")
	}
	for _, line := range t.graph.Edges {
		if line.To == n && !t.before(line.From, n) {
			notes = append(notes, "and in a row with "+human.Visible(t.graph.Nodes[line.From].Name))
		}
	}
	return strings.Join(notes, ", ")
}

// brief are the first names.
func brief(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// statesOf is how many members of a node are in which state.
func statesOf(node *inspect.FlowNode) string {
	if node.Members <= 1 {
		return string(node.State())
	}
	states := make([]string, 0, len(node.States))
	for state := range node.States {
		states = append(states, string(state))
	}
	slices.Sort(states)
	for n, state := range states {
		states[n] = human.Number(node.States[inspect.MemberState(state)]) + " " + state
	}
	return strings.Join(states, ", ")
}

func styleOf(state inspect.MemberState) console.Style {
	switch state {
	case "dead", inspect.MemberLost:
		return console.Red
	case inspect.MemberDone:
		return console.Green
	case "running", "retrying", "stalled":
		return console.Yellow
	}
	return console.Faint
}
