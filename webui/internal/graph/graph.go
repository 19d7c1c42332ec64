// Package graph draws the graph of a flow, folded where that is large. Templates of the pages write it; nothing here
// makes markup.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
)

// Picture is the graph of a flow as it is drawn: in columns, whoever waits to the right of those that it waits
// for. It has its own size, and is scrolled where the page is narrower.
type Picture struct {
	Width, Height int
	Boxes         []Box
	Arrows        []Arrow
	Folded        bool
	Partial       bool
	Summary       string // for those who do not see it
}

// Box is a node.
type Box struct {
	X, Y, Bar, BarY, TextX, NameY, SaysY int
	Name, Says, Title, Link, Class       string
}

// Arrow is the edges between two nodes.
type Arrow struct {
	Path, Class, Title string
}

// The picture's measures, in pixels.
const (
	boxWidth  = 188
	boxHeight = 48
	columnGap = 64
	rowGap    = 14
	margin    = 2
)

// Width is that of each box, in pixels, for the template.
func (Box) Width() int { return boxWidth }

// Height is as Width.
func (Box) Height() int { return boxHeight }

// Draw draws what is known of the flow of that id.
func Draw(id string, g inspect.FlowGraph) Picture {
	d := drawing{id: id, graph: &g}
	column, columns := columnsOf(g)
	p := Picture{Folded: g.Folded, Partial: g.Partial,
		Width: 2*margin + len(columns)*(boxWidth+columnGap) - columnGap}
	p.Boxes = make([]Box, len(g.Nodes))
	for x, nodes := range columns {
		for y, n := range nodes {
			p.Boxes[n] = d.box(n, margin+x*(boxWidth+columnGap), margin+y*(boxHeight+rowGap))
			p.Height = max(p.Height, p.Boxes[n].Y+boxHeight+rowGap)
		}
	}
	for _, line := range g.Edges {
		arrow := d.arrow(line)
		arrow.lead(p.Boxes[line.From], p.Boxes[line.To], column[line.From] < column[line.To])
		p.Arrows = append(p.Arrows, arrow)
	}
	p.Summary = fmt.Sprintf("The graph of the flow: %s in %s, with %s between them", counted(len(g.Nodes), "node"),
		counted(len(columns), "column"), counted(len(g.Edges), "edge"))
	return p
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return format.Count(n) + " " + noun + "s"
}

// columnsOf puts nodes into columns by their layers, each column in the order of those before it, so that few lines
// cross.
func columnsOf(g inspect.FlowGraph) (column []int, columns [][]int) {
	column = make([]int, len(g.Nodes))
	before := make([][]int, len(g.Nodes))
	for _, line := range g.Edges {
		before[line.To] = append(before[line.To], line.From)
	}
	last := -1
	for n := range g.Nodes { // they are in the order of their layers
		if len(columns) == 0 || g.Nodes[n].Layer != last {
			columns, last = append(columns, nil), g.Nodes[n].Layer
		}
		column[n] = len(columns) - 1
		columns[column[n]] = append(columns[column[n]], n)
	}
	row := make([]float64, len(g.Nodes))
	for x := range columns {
		middle := func(n int) float64 {
			sum, of := 0.0, 0
			for _, from := range before[n] {
				if column[from] < x {
					sum, of = sum+row[from], of+1
				}
			}
			return sum / float64(max(1, of))
		}
		slices.SortStableFunc(columns[x], func(a, b int) int { return cmp.Compare(middle(a), middle(b)) })
		for y, n := range columns[x] {
			row[n] = float64(y)
		}
	}
	return column, columns
}

// drawing is a graph that is drawn.
type drawing struct {
	id    string // of the flow
	graph *inspect.FlowGraph
}

func (d *drawing) box(n, x, y int) Box {
	id, g := d.id, d.graph
	node := &g.Nodes[n]
	b := Box{X: x, Y: y, TextX: x + 12, NameY: y + 19, SaysY: y + 35, BarY: y + boxHeight - 5,
		Name: format.Middle(node.Name, 24), Class: lookOf(node.State()), Says: string(node.State()),
		Link: format.Link("job", "id", id+"/"+node.Name)}
	b.Title = node.Name
	if node.Flow != "" {
		b.Link, b.Name, b.Title = format.Link("flow", "id", node.Flow), format.Middle(node.Name, 18)+" (flow)",
			node.Name+" (a flow)"
	}
	if node.Job != "" && node.Job != node.Name {
		b.Title += " (" + node.Job + ")"
	}
	b.Title += ": " + nodeStates(node)
	if node.Members > 1 || g.Folded {
		b.Link = format.Link("flow", "id", id, "name", node.Job)
	}
	if node.Members > 1 {
		b.Name = format.Middle(node.Name, 16) + " ×" + format.Count(node.Members)
		b.Says = fmt.Sprintf("%s done", format.Count(node.Done()))
		if dead := node.States["dead"]; dead > 0 {
			b.Says += fmt.Sprintf(", %s dead", format.Count(dead))
		}
		if left := node.States[inspect.MemberLeft] + node.States[inspect.MemberWaits]; left > 0 {
			b.Says += fmt.Sprintf(", %s left", format.Count(left))
		}
		b.Bar = (boxWidth - 24) * node.Done() / node.Members
	}
	if b.Says == string(inspect.MemberWaits) {
		if from := waitsFor(g, n); from != "" {
			b.Says = format.Shorten("waits for "+from, 28)
		}
	}
	return b
}

// waitsFor are the names of nodes that one waits for yet.
func waitsFor(g *inspect.FlowGraph, n int) string {
	var names []string
	for _, line := range g.Edges {
		if line.To == n && line.Unmet > 0 {
			names = append(names, g.Nodes[line.From].Name)
		}
	}
	return strings.Join(names, ", ")
}

func nodeStates(node *inspect.FlowNode) string {
	var states []string
	for state, n := range node.States {
		if node.Members > 1 {
			states = append(states, format.Count(n)+" "+string(state))
			continue
		}
		states = append(states, string(state))
	}
	slices.Sort(states)
	return strings.Join(states, ", ")
}

// lookOf is the class of what is in a state.
func lookOf(state inspect.MemberState) string {
	switch state {
	case inspect.MemberDone:
		return "good"
	case "dead", inspect.MemberLost, "discarded", "expired", "deleted":
		return "bad"
	case "running", inspect.MemberLeft:
		return "now"
	case "retrying", "stalled":
		return "warn"
	case "cancelled":
		return "off"
	}
	return "calm"
}

func (d *drawing) arrow(line inspect.FlowLine) Arrow {
	a := Arrow{Class: "met"}
	if line.Unmet > 0 {
		a.Class = "unmet"
	}
	if line.Rule != "cancel" && line.Rule != "" {
		a.Class += " " + line.Rule
	}
	edge := inspect.FlowEdge{From: d.graph.Nodes[line.From].Name, To: d.graph.Nodes[line.To].Name, Rule: line.Rule}
	a.Title = edge.To + " " + edge.Why()
	if line.Count > 1 {
		a.Title = fmt.Sprintf("%s edges from %s to %s, %s of them waited for yet", format.Count(line.Count), edge.From,
			edge.To, format.Count(line.Unmet))
	}
	return a
}

// lead leads from the right side of a box to the left side of another one. Where members of one job are one box, an
// arrow may lead back: then it goes below both.
func (a *Arrow) lead(from, to Box, onward bool) {
	x1, y1, x2, y2 := from.X+boxWidth, from.Y+boxHeight/2, to.X, to.Y+boxHeight/2
	if onward {
		bend := max(24, (x2-x1)/2)
		a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+bend, y1, x2-bend, y2, x2-2, y2)
		return
	}
	x1, y1, x2, y2 = from.X+boxWidth/2+12, from.Y+boxHeight, to.X+boxWidth/2-12, to.Y+boxHeight
	a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1+rowGap, x2, y2+rowGap, x2, y2+2)
}
