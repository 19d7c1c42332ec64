package flows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newShowCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a flow as a tree",
		Long: `show prints how far a flow is, and its members below those that they wait for. One that waits for several
stands below the last of these. More than 40 members are folded: those of one job, equally far from the beginning, are
one line. flows members lists all. A flow that is in it has its own members behind a dotted line, if there are few.`,
		Example: `  work flows show order-7
  work flows show order-7 --json | jq .graph.nodes`,
		Args: cli.Exactly(1, "the id of one flow"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				info, err := i.Flow(ctx, args[0])
				if err != nil {
					return err
				}
				graph, err := i.FlowGraph(ctx, args[0])
				if err != nil {
					return err
				}
				all, err := wholeTree(ctx, i, graph)
				if err != nil {
					return err
				}
				return a.Console().Show(shown{info, graph}, func(c *console.Console) []string {
					return append(append(summary(c, &info), ""), all.lines(c)...)
				})
			})
		}),
	}
	a.CompleteArgs(cmd, a.FlowIDs)
	return cmd
}

// shown is what show prints for programs.
type shown struct {
	inspect.FlowInfo
	Graph inspect.FlowGraph `json:"graph"`
}

func summary(c *console.Console, f *inspect.FlowInfo) []string {
	state := stateOf(f)
	if f.Generation > 1 {
		state += fmt.Sprintf(", retried %s", human.Counted(f.Generation-1, "time"))
	}
	return c.Summary([]console.SummaryLine{{"flow", human.Visible(f.ID)}, {"in flow", human.Visible(f.Outer)},
		{"state", state}, {"members", counts(f)},
		{"stored", human.When(f.Stored, f.AsOf)}, {"sealed", human.When(f.Sealed, f.AsOf)},
		{"ended", human.When(f.Ended, f.AsOf)}, {"kept", human.When(f.KeptUntil, f.AsOf)},
		{"on done", endOf(f.OnDone)}, {"on death", endOf(f.OnDeath)}})
}

// counts is how many members have ended, and how.
func counts(f *inspect.FlowInfo) string {
	parts := []string{fmt.Sprintf("%s of %s done (%d%% ended)", human.Number(f.Done), human.Number(f.Total),
		f.Progress())}
	for _, of := range []struct {
		n    int
		what string
	}{{f.Dead, "dead"}, {f.Cancelled, "cancelled"}, {f.Otherwise, "discarded, expired or deleted"}, {f.Left, "left"}} {
		if of.n > 0 {
			parts = append(parts, human.Number(of.n)+" "+of.what)
		}
	}
	return strings.Join(parts, ", ")
}

func endOf(end *inspect.FlowEnd) string {
	switch {
	case end == nil:
		return ""
	case end.State != "":
		return fmt.Sprintf("%s, %s (%s)", human.Visible(end.Job), end.State, human.Visible(end.ID))
	}
	return human.Visible(end.Job)
}

// membersFlags are those of flows members.
type membersFlags struct {
	cli.PageFlags
	state, name string
}

func newMembersCommand(a *cli.App) *cobra.Command {
	var f membersFlags
	cmd := &cobra.Command{
		Use:   "members ID",
		Short: "List the members of a flow, and what they wait for",
		Long: `members prints the members of a flow page by page: a page costs the same with ten members and with a million.

--state is left, done, dead, cancelled, discarded, expired or deleted.`,
		Example: `  work flows members import-9 --state dead --limit 0
  work flows members order-7 --json | jq -r 'select(.state == "waiting") | .id'`,
		Args: cli.Exactly(1, "the id of one flow"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if f.state != "" && !slices.Contains(inspect.MemberStates(), inspect.MemberState(f.state)) {
				return exit.Usagef("--state is %q: give one of %s", f.state, words(inspect.MemberStates()))
			}
			if err := f.Validate(); err != nil {
				return err
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return listMembers(ctx, a.Console(), i, args[0], f)
			})
		}),
	}
	cmd.Flags().StringVar(&f.state, "state", "", "only members in this `state`")
	cmd.Flags().StringVar(&f.name, "name", "", "only members whose job has this `name`")
	f.Register(cmd, "at most so many `members`")
	a.CompleteArgs(cmd, a.FlowIDs)
	a.CompleteFlag(cmd, "state",
		func(*cobra.Command) []string { return strings.Split(words(inspect.MemberStates()), ", ") })
	a.CompleteFlag(cmd, "name", a.QueueNames)
	return cmd
}

func listMembers(ctx context.Context, c *console.Console, i *inspect.Inspector, id string, f membersFlags) error {
	return f.List(ctx, c, "there are no such members", func(cursor string, limit, printed int) (int, string, error) {
		page, err := i.FlowMembers(ctx, inspect.FlowMembersOptions{Flow: id, State: inspect.MemberState(f.state),
			Job: f.name, Cursor: cursor, Limit: limit})
		if err != nil {
			return 0, "", err
		}
		return len(page.Members), page.Next, cli.Rows(c, page.Members, printed, memberTable)
	})
}

func memberTable(members []inspect.FlowMember) *console.Table {
	t := console.NewTable(console.ID("MEMBER"), console.Left("JOB"), console.Left("STATE"),
		console.Prose("WHY NOT YET"))
	for _, m := range members {
		job := human.OrDash(m.Job)
		if m.Flow != nil {
			job = fmt.Sprintf("(a flow, %s of %s done)", human.Number(m.Flow.Done), human.Number(m.Flow.Total))
		}
		t.Add(human.Visible(m.Name), job, string(m.State), human.OrDash(whyOf(&m)))
	}
	return t
}

// whyOf is what a member waits for.
func whyOf(m *inspect.FlowMember) string {
	var parts []string
	for _, reason := range m.Why {
		parts = append(parts, reason.String())
	}
	if len(m.WaitsFor) > 0 {
		from := make([]string, len(m.WaitsFor))
		for n, e := range m.WaitsFor {
			from[n] = e.From
		}
		text := "waits for " + strings.Join(from, ", ")
		if m.More > 0 {
			text += fmt.Sprintf(" and %s more", human.Number(m.More))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
