package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/inspect"
)

// purgeFlags are those of purge alone.
type purgeFlags struct {
	yes    bool
	dryRun bool
}

func newPurgeCommand(a *cli.App) *cobra.Command {
	var f purgeFlags
	cmd := &cobra.Command{
		Use:   "purge NAME",
		Short: "Remove all jobs that wait in a queue; asks first",
		Long: `purge removes as many jobs as wait when it begins, those at the front first. What runs, is scheduled, or waits
for a retry stays: for that there is jobs delete. At Ctrl-C it says how many are gone.

Exit status: 3 if there is no such queue.`,
		Example: `  work purge export --dry-run
  work purge export --yes`,
		Args: cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				return purgeQueue(ctx, a, i, f, args[0])
			})
		}),
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

// purged is how many jobs are gone.
type purged struct {
	Action  string `json:"action"`
	Name    string `json:"name"`
	DryRun  bool   `json:"dry_run"`
	Waiting int    `json:"waiting"` // when it began
	Removed int    `json:"removed"`
}

func purgeQueue(ctx context.Context, a *cli.App, i *inspect.Inspector, f purgeFlags, name string) error {
	q, err := i.Queue(ctx, name)
	if err != nil {
		return err
	}
	p := purged{Action: "purge", Name: name, DryRun: f.dryRun, Waiting: q.Waiting}
	if f.dryRun {
		return a.Console().Tell(p, fmt.Sprintf("%s would be removed from the queue of %s",
			human.Counted(q.Waiting, "job"),
			human.Visible(name)))
	}
	if !f.yes {
		if err := a.Console().Confirm(fmt.Sprintf("remove the %s that wait in the queue of %s in namespace %s?",
			human.Counted(q.Waiting, "job"), human.Visible(name), a.Namespace)); err != nil {
			return err
		}
	}
	steps := a.Console().Steps("removed")
	steady, between, stop := interrupt.Gently(ctx, a.Hurry)
	defer stop()
	p.Removed, err = i.Purge(steady, name, inspect.PurgeOptions{Progress: func(removed int) {
		steps.Set(removed, q.Waiting)
		between()
	}})
	steps.Clear()
	printed := a.Console().Tell(p, fmt.Sprintf("removed %s of %s from the queue of %s", human.Number(p.Removed),
		human.Counted(q.Waiting, "job"), human.Visible(name)))
	if err != nil {
		return interrupt.Cause(ctx, err)
	}
	return printed
}
