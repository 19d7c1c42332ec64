package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newLimitsCommand(a *app) *cobra.Command {
	cmd := a.group("limits", "Show what restrains queues, and set limits by hand")
	cmd.Long = "limits prints the limits and pauses that are in force, by name."
	cmd.Example = "  work limits\n  work limits set export --concurrent 2"
	cmd.RunE = a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
			limits, err := i.Limits(ctx)
			if err != nil {
				return err
			}
			return list(a, limits, "nothing is limited or paused by name", limitTable)
		})
	})
	cmd.AddCommand(newLimitsSetCommand(a), newLimitsResetCommand(a))
	return cmd
}

func limitTable(limits []work.LimitInfo) *table {
	t := &table{columns: []column{{title: "QUEUE"}, {title: "LIMIT"}, {title: "RUNNING", right: true},
		{title: "PAUSED"}, {title: "SET BY"}, {title: "DECLARED"}, {title: "PROBLEM", prose: true}}}
	for _, l := range limits {
		by, problem := l.Service, ""
		if l.Operator {
			by = "hand"
		}
		if l.Problem != nil {
			problem = l.Problem.Error()
		}
		t.rows = append(t.rows, []string{visible(l.Name), orDash(limitText(l.Limit)), number(l.Running),
			map[bool]string{true: "paused", false: "-"}[l.Paused],
			orDash(by), orDash(limitText(l.Declared)), visible(problem)})
	}
	return t
}

// limitText is a limit in words, empty for none.
func limitText(l work.Limit) string {
	text := ""
	if l.Concurrent > 0 {
		text = fmt.Sprintf("%s at a time", number(l.Concurrent))
	}
	if l.Rate > 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s per %s", number(l.Rate), brief(l.Per))
	}
	if l.Burst > 0 {
		text += fmt.Sprintf(" in bursts of %s", number(l.Burst))
	}
	return text
}

func newLimitsSetCommand(a *app) *cobra.Command {
	var limit work.Limit
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Limit the jobs of a name by hand, over all workers",
		Long: `set is in force at once and until limits reset, whatever the code declares meanwhile. Without a flag it lifts
every limit. To let no job begin, pause the queue.`,
		Example: `  work limits set export --concurrent 2
  work limits set send_mail --rate 100 --per 1s`,
		Args: exactly(1, "the name of one queue"),
		RunE: a.runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			wanted := limit
			if wanted.Rate == 0 && !cmd.Flags().Changed("per") {
				wanted.Per = 0
			}
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
				if err := i.SetLimit(ctx, args[0], wanted); err != nil {
					return err
				}
				return a.tellLimit("set", args[0], wanted)
			})
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&limit.Concurrent, "concurrent", 0, "how many `jobs` may run at a time")
	flags.IntVar(&limit.Rate, "rate", 0, "how many `jobs` may begin in each --per")
	flags.DurationVar(&limit.Per, "per", time.Second, "the `duration` that --rate is for")
	flags.IntVar(&limit.Burst, "burst", 0, "how many `jobs` may begin one right after the other")
	a.completeArgs(cmd, a.queueNames)
	return cmd
}

func newLimitsResetCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset NAME",
		Short:   "Take back a limit that was set by hand",
		Long:    "reset puts in force again what the code declares, or nothing.",
		Example: "  work limits reset export",
		Args:    exactly(1, "the name of one queue"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
				if err := i.ResetLimit(ctx, args[0]); err != nil {
					return err
				}
				in, err := limitInForce(ctx, i, args[0])
				if err != nil {
					return err
				}
				return a.tellLimit("reset", args[0], in)
			})
		}),
	}
	a.completeArgs(cmd, a.queueNames)
	return cmd
}

func limitInForce(ctx context.Context, i *work.Inspector, name string) (work.Limit, error) {
	limits, err := i.Limits(ctx)
	for _, l := range limits {
		if l.Name == name {
			return l.Limit, err
		}
	}
	return work.Limit{}, err
}

func (a *app) tellLimit(action, name string, limit work.Limit) error {
	return a.tell(struct {
		Action string     `json:"action"`
		Name   string     `json:"name"`
		Limit  work.Limit `json:"limit"`
	}{action, name, limit}, fmt.Sprintf("%s: %s", visible(name), fallback(limitText(limit), "no limit")))
}
