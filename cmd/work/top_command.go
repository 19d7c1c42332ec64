package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/top"
	"github.com/265d0351/work/inspect"
)

func newTopCommand(a *cli.App) *cobra.Command {
	var o top.Options
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch queues, workers and errors live",
		Long: `top shows what is queued, running and failing, who works on it and how fast, and reads it anew
every second. ? lists the keys. It pauses and resumes queues, after a question, and changes nothing else.

With --once, or where there is no terminal, it prints all of it once. When Redis is lost it keeps the
last figures, says since when, and goes on as soon as Redis is back.`,
		Example: `  work top --redis redis://localhost:6379/0 --namespace shop
  work top --interval 5s
  work top --once --json | jq '.queues[] | select(.waiting > 1000).name'`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.Console, o.Namespace, o.Redis = a.Console(), a.Namespace, a.Redis
			return a.Inspect(ctx, func(ctx context.Context, inspector *inspect.Inspector) error {
				return top.Watch(ctx, inspector, o)
			})
		}),
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.Interval, "interval", top.DefaultInterval,
		"time between two readings, a `duration` of 100ms to 1h")
	flags.BoolVar(&o.Once, "once", false, "print the figures once and end")
	return cmd
}
