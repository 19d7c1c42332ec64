// Package flows is `work flows`: the commands that look at flows of jobs and that steer them.
package flows

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// NewCommand makes the command, with those below it.
func NewCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("flows", "Look at flows of jobs, and steer them")
	list := newListCommand(a)
	cmd.Long = "flows, without another word, is flows list."
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.RunE = list.RunE
	cmd.AddCommand(list, newShowCommand(a), newMembersCommand(a), newWaitCommand(a))
	for _, o := range orders {
		cmd.AddCommand(newOrderCommand(a, o))
	}
	return cmd
}

func newListCommand(a *cli.App) *cobra.Command {
	var f cli.PageFlags
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List flows, those first that were stored last",
		Long: `list prints how far flows are. Those that have ended are kept for a day, or as their program says.

--state is running, done, dead, cancelled, unsealed (its store was cut off, or goes on) or releasing (what may run is
not in the queues yet).`,
		Example: `  work flows
  work flows list --state dead --limit 0 --json | jq -r .id`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			filter := inspect.FlowFilter(state)
			if state != "" && !slices.Contains(inspect.FlowFilters(), filter) {
				return exit.Usagef("--state is %q: give one of %s", state, words(inspect.FlowFilters()))
			}
			if err := f.Validate(); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				c := a.Console()
				page := func(cursor string, limit, printed int) (int, string, error) {
					page, err := i.Flows(ctx, inspect.FlowsOptions{Filter: filter, Cursor: cursor, Limit: limit})
					if err != nil {
						return 0, "", err
					}
					return len(page.Flows), page.Next, cli.Rows(c, page.Flows, printed, flowTable)
				}
				return f.List(ctx, c, "there are no such flows", page)
			})
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only flows in this `state`")
	f.Register(cmd, "at most so many `flows`")
	a.CompleteFlag(cmd, "state",
		func(*cobra.Command) []string { return strings.Split(words(inspect.FlowFilters()), ", ") })
	return cmd
}

func words[T ~string](all []T) string {
	texts := make([]string, len(all))
	for n, one := range all {
		texts[n] = string(one)
	}
	return strings.Join(texts, ", ")
}

func flowTable(flows []inspect.FlowInfo) *console.Table {
	t := console.NewTable(console.ID("FLOW"), console.Left("STATE"), console.Right("DONE"), console.Right("OF"),
		console.Right("DEAD"), console.Right("LEFT"), console.Right("STORED"), console.Right("TOOK"))
	for _, f := range flows {
		took := "-"
		if !f.Ended.IsZero() {
			took = human.Duration(f.Ended.Sub(f.Stored))
		}
		t.Add(human.Visible(f.ID), stateOf(&f), human.Number(f.Done), human.Number(f.Total), human.Number(f.Dead),
			human.Number(f.Left), human.Since(f.Stored, f.AsOf), took)
	}
	return t
}

// stateOf is the state of a flow, with what keeps it.
func stateOf(f *inspect.FlowInfo) string {
	switch {
	case f.State == flow.Filling:
		return "unsealed"
	case f.Cancelling && !f.State.Ended():
		return "being cancelled"
	case f.Paused && !f.State.Ended():
		return "paused"
	case f.Releasing:
		return "releasing"
	}
	return string(f.State)
}
