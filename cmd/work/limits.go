package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newLimitsCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("limits", "Show what restrains queues, and set limits by hand")
	cmd.Long = "limits prints the limits and pauses that are in force, by name."
	cmd.Example = "  work limits\n  work limits set export --concurrent 2"
	cmd.RunE = a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
			limits, err := i.Limits(ctx)
			if err != nil {
				return err
			}
			return console.List(a.Console(), limits, "nothing is limited or paused by name", limitTable)
		})
	})
	cmd.AddCommand(newLimitsSetCommand(a), newLimitsResetCommand(a))
	return cmd
}

func limitTable(limits []inspect.LimitInfo) *console.Table {
	t := console.NewTable(console.Left("QUEUE"), console.Left("LIMIT"), console.Right("RUNNING"),
		console.Left("PAUSED"), console.Left("SET BY"), console.Left("DECLARED"), console.Prose("PROBLEM"))
	for _, l := range limits {
		by, problem := l.Service, ""
		if l.Operator {
			by = "hand"
		}
		if l.Problem != nil {
			problem = l.Problem.Error()
		}
		t.Add(human.Visible(l.Name), human.OrDash(describe.Limit(l.Limit)),
			human.Number(l.Running),
			map[bool]string{true: "paused", false: "-"}[l.Paused],
			human.OrDash(by), human.OrDash(describe.Limit(l.Declared)), human.Visible(problem))
	}
	return t
}

func newLimitsSetCommand(a *cli.App) *cobra.Command {
	var limit work.Limit
	var force bool
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Limit the jobs of a name by hand, over all workers",
		Long: `set is in force at once and until limits reset, whatever the code declares meanwhile. Without a flag it lifts
every limit. To let no job begin, pause the queue.`,
		Example: `  work limits set export --concurrent 2
  work limits set send_mail --rate 100 --per 1s`,
		Args: cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			wanted := limit
			if wanted.Rate == 0 && !cmd.Flags().Changed("per") {
				wanted.Per = 0
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if err := cli.CheckNames(ctx, i, force, args[0]); err != nil {
					return err
				}
				if err := i.SetLimit(ctx, args[0], wanted); err != nil {
					return err
				}
				return tellLimit(a, "set", args[0], wanted)
			})
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&limit.Concurrent, "concurrent", 0, "how many `jobs` may run at a time")
	flags.IntVar(&limit.Rate, "rate", 0, "how many `jobs` may begin in each --per")
	flags.DurationVar(&limit.Per, "per", time.Second, "the `duration` that --rate is for")
	flags.IntVar(&limit.Burst, "burst", 0, "how many `jobs` may begin one right after the other")
	cli.Force(cmd, &force)
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

func newLimitsResetCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset NAME",
		Short:   "Take back a limit that was set by hand",
		Long:    "reset puts in force again what the code declares, or nothing.",
		Example: "  work limits reset export",
		Args:    cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if err := i.ResetLimit(ctx, args[0]); err != nil {
					return err
				}
				in, err := limitInForce(ctx, i, args[0])
				if err != nil {
					return err
				}
				return tellLimit(a, "reset", args[0], in)
			})
		}),
	}
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

func limitInForce(ctx context.Context, i *inspect.Inspector, name string) (work.Limit, error) {
	limits, err := i.Limits(ctx)
	for _, l := range limits {
		if l.Name == name {
			return l.Limit, err
		}
	}
	return work.Limit{}, err
}

func tellLimit(a *cli.App, action, name string, limit work.Limit) error {
	return a.Console().Tell(struct {
		Action string     `json:"action"`
		Name   string     `json:"name"`
		Limit  work.Limit `json:"limit"`
	}{action, name, limit}, fmt.Sprintf("%s: %s", human.Visible(name), cmp.Or(describe.Limit(limit), "no limit")))
}
