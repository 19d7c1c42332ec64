package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/jobs"
	"github.com/265d0351/work/inspect"
)

func newErrorsCommand(a *cli.App) *cobra.Command {
	var name string
	cmd := a.Group("errors", "Show what goes wrong, in groups of the same error")
	cmd.Long = `errors prints the groups of errors, the most frequent first: attempts that failed in the same way, and jobs
that died for the same reason. docs/history.md says how they are told apart.`
	cmd.Example = `  work errors --name export
  work errors retry 3f2a91bc
  work jobs search --state dead --error-group 3f2a91bc`
	cmd.RunE = a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
			groups, err := i.Errors(ctx, name)
			if err != nil {
				return err
			}
			return console.List(a.Console(), groups, "no errors were counted", errorTable)
		})
	})
	cmd.PersistentFlags().StringVar(&name, "name", "", "only those of jobs of this `name`")
	a.CompleteFlag(cmd, "name", a.QueueNames)
	cmd.AddCommand(jobs.NewErrorsRetryCommand(a, &name), newErrorsClearCommand(a, &name))
	return cmd
}

func errorTable(groups []inspect.ErrorGroup) *console.Table {
	t := console.NewTable(console.ID("GROUP"), console.Right("COUNT"), console.Left("NAME"),
		console.Left("LAST (UTC)"), console.ID("LAST JOB"), console.Prose("ERROR"))
	for _, g := range groups {
		t.Add(human.Visible(g.Digest), human.Grouped(g.Count), human.OrDash(g.Name),
			human.Stamp(g.Last),
			human.OrDash(g.Sample), human.Visible(g.Message))
	}
	return t
}

func newErrorsClearCommand(a *cli.App, name *string) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Forget the groups of errors, those of one name or all; asks first",
		Long:  "clear forgets the groups. Jobs keep their errors, and those that fail later are counted anew.",
		Args:  cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			whose := cmp.Or(human.Visible(*name), "all names")
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if !yes {
					if err := a.Console().Confirm(fmt.Sprintf("forget the groups of errors of %s in namespace %s?",
						whose,
						a.Namespace)); err != nil {
						return err
					}
				}
				if err := i.ClearErrors(ctx, *name); err != nil {
					return err
				}
				return a.Console().Tell(struct {
					Action string `json:"action"`
					Name   string `json:"name,omitempty"`
				}{"clear", *name}, "the groups of errors of "+whose+" are forgotten")
			})
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
