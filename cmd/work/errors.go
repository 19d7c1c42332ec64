package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newErrorsCommand(a *app) *cobra.Command {
	var name string
	cmd := a.group("errors", "Show what goes wrong, in groups of the same error")
	cmd.Long = `errors prints the groups of errors, the most frequent first: attempts that failed in the same way, and jobs
that died for the same reason. docs/history.md says how they are told apart.`
	cmd.Example = `  work errors --name export
  work errors retry 3f2a91bc
  work jobs search --state dead --error-group 3f2a91bc`
	cmd.RunE = a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
			groups, err := i.Errors(ctx, name)
			if err != nil {
				return err
			}
			return list(a, groups, "no errors were counted", errorTable)
		})
	})
	cmd.PersistentFlags().StringVar(&name, "name", "", "only those of jobs of this `name`")
	a.completeFlag(cmd, "name", a.queueNames)
	cmd.AddCommand(newErrorsRetryCommand(a, &name), newErrorsClearCommand(a, &name))
	return cmd
}

func errorTable(groups []work.ErrorGroup) *table {
	t := &table{columns: []column{{title: "GROUP"}, {title: "COUNT", right: true}, {title: "NAME"},
		{title: "LAST (UTC)"}, {title: "LAST JOB"}, {title: "ERROR", prose: true}}}
	for _, g := range groups {
		t.rows = append(t.rows, []string{visible(g.Digest), grouped(g.Count), orDash(g.Name), stamp(g.Last),
			orDash(g.Sample), visible(g.Message)})
	}
	return t
}

// newErrorsRetryCommand is jobs retry of a group.
func newErrorsRetryCommand(a *app, name *string) *cobra.Command {
	var f actionFlags
	state := string(work.StateDead)
	action := jobActions()[0]
	cmd := &cobra.Command{
		Use:   "retry GROUP",
		Short: "Retry the jobs whose last error is of a group",
		Long: `retry is jobs retry --state dead --error-group GROUP.

Exit status: 5 if some of them were left as they are.`,
		Example: `  work errors retry 3f2a91bc --dry-run`,
		Args:    exactly(1, "one group, as work errors prints them"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.act(ctx, jobOrder{action: action, flags: f, selected: true,
				selection: selectionFlags{state: state, name: *name, group: args[0]}})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&state, "state", state, "`state` of the jobs: "+alternatives(action.states))
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	flags.IntVar(&f.limit, "limit", 0, "at most so many `jobs`; 0 is all")
	action.flags(flags, &f)
	a.completeFlag(cmd, "state", func(*cobra.Command) []string { return words(action.states) })
	return cmd
}

func newErrorsClearCommand(a *app, name *string) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Forget the groups of errors, those of one name or all; asks first",
		Long:  "clear forgets the groups. Jobs keep their errors, and those that fail later are counted anew.",
		Args:  atMost(0, "no argument"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			whose := fallback(visible(*name), "all names")
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
				if !yes {
					if err := a.confirm(fmt.Sprintf("forget the groups of errors of %s in namespace %s?", whose,
						a.namespace)); err != nil {
						return err
					}
				}
				if err := i.ClearErrors(ctx, *name); err != nil {
					return err
				}
				return a.tell(struct {
					Action string `json:"action"`
					Name   string `json:"name,omitempty"`
				}{"clear", *name}, "the groups of errors of "+whose+" are forgotten")
			})
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
