package flows

import (
	"context"
	"errors"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// maxInner is how many flows that are in one are shown with their members.
const maxInner = 20

// wholeTree is the tree of a graph, with those of flows in it, and in these, as long as they are few.
func wholeTree(ctx context.Context, i *inspect.Inspector, graph inspect.FlowGraph) (*tree, error) {
	first := treeOf(graph)
	for read, next := 0, []*tree{first}; len(next) > 0; next = next[1:] {
		t := next[0]
		for n := range t.graph.Nodes {
			id := t.graph.Nodes[n].Flow
			if id == "" || read == maxInner {
				continue
			}
			read++
			inner, err := i.FlowGraph(ctx, id)
			if errors.Is(err, flow.ErrNoFlow) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if t.inner == nil {
				t.inner = map[int]*tree{}
			}
			t.inner[n] = treeOf(inner)
			next = append(next, t.inner[n])
		}
	}
	return first, nil
}
