package flowlook

import (
	"context"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// Edge is one member that waits for another.
type Edge struct {
	From, To string
	Rule     string // cancel, even or hold
}

// Followers reads up to n edges to those that wait for a member, behind that edge of it; "" is the beginning.
func (f Flows) Followers(ctx context.Context, id, member, behindEdge string, n int) ([]Edge, error) {
	low, high := behind(member, behindEdge)
	return f.edges(ctx, id, low, high, n)
}

// Mark is where Followers goes on behind this edge.
func (e Edge) Mark() string { return e.To + "\n" + e.Rule }

// Edges reads up to n edges of the flow behind that one, in the order of their members; the zero Edge is the beginning.
func (f Flows) Edges(ctx context.Context, id string, from Edge, n int) ([]Edge, error) {
	low := "-"
	if from.From != "" {
		low = "(" + from.From + "\n" + from.Mark()
	}
	return f.edges(ctx, id, low, "+", n)
}

func (f Flows) edges(ctx context.Context, id, low, high string, n int) (edges []Edge, err error) {
	lines, err := f.lines(ctx, f.key("edges", id), low, high, n)
	for _, line := range lines {
		parts := strings.SplitN(line, "\n", 3)
		if len(parts) == 3 {
			edges = append(edges, Edge{From: parts[0], To: parts[1], Rule: parts[2]})
		}
	}
	return edges, err
}

// Unmet reads up to n of what members wait for yet, as edges without a rule, behind that one.
func (f Flows) Unmet(ctx context.Context, id string, from Edge, n int) (edges []Edge, err error) {
	low := "-"
	if from.To != "" {
		low = "(" + from.To + "\n" + from.From
	}
	lines, err := f.lines(ctx, f.key("unmet", id), low, "+", n)
	for _, line := range lines {
		to, member, _ := strings.Cut(line, "\n")
		edges = append(edges, Edge{From: member, To: to})
	}
	return edges, err
}

func (f Flows) lines(ctx context.Context, key, low, high string, n int) ([]string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(),
		redisconn.Call{Command: "ZRANGEBYLEX", Args: []any{key, low, high, "LIMIT", 0, n}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("ZRANGEBYLEX", value, nil)
	return r.TextsOf(value), r.Err()
}

// Rules are the rules of edges, in the order of these; "" where one is not there.
func (f Flows) Rules(ctx context.Context, id string, edges []Edge) ([]string, error) {
	rules := []string{"cancel", "even", "hold"}
	var calls []redisconn.Call
	for _, e := range edges {
		args := []any{f.key("edges", id)}
		for _, rule := range rules {
			args = append(args, e.From+"\n"+e.To+"\n"+rule)
		}
		calls = append(calls, redisconn.Call{Command: "ZMSCORE", Args: args})
	}
	values, err := f.values(ctx, calls)
	if err != nil {
		return nil, err
	}
	found := make([]string, len(edges))
	for i := range edges {
		scores, _ := values[i].([]any)
		for k, rule := range rules {
			if at(scores, k) != nil {
				found[i] = rule
			}
		}
	}
	return found, nil
}
