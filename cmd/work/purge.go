package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

// purgeFlags are those of purge alone.
type purgeFlags struct {
	yes    bool
	dryRun bool
}

func newPurgeCommand(a *app) *cobra.Command {
	var f purgeFlags
	cmd := &cobra.Command{
		Use:   "purge NAME",
		Short: "Remove all jobs that wait in a queue; asks first",
		Long: `purge removes as many jobs as wait when it begins, those at the front first. What runs, is scheduled, or waits
for a retry stays: for that there is jobs delete. At Ctrl-C it says how many are gone.

Exit status: 3 if there is no such queue.`,
		Example: `  work purge export --dry-run
  work purge export --yes`,
		Args: exactly(1, "the name of one queue"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.inspect(ctx, func(ctx context.Context,
				i *work.Inspector) error {
				return a.purge(ctx, i, f, args[0])
			})
		}),
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	a.completeArgs(cmd, a.queueNames)
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

func (a *app) purge(ctx context.Context, i *work.Inspector, f purgeFlags, name string) error {
	q, err := i.Queue(ctx, name)
	if err != nil {
		return err
	}
	p := purged{Action: "purge", Name: name, DryRun: f.dryRun, Waiting: q.Waiting}
	if f.dryRun {
		return a.tell(p, fmt.Sprintf("%s would be removed from the queue of %s", counted(q.Waiting, "job"),
			visible(name)))
	}
	if !f.yes {
		if err := a.confirm(fmt.Sprintf("remove the %s that wait in the queue of %s in namespace %s?",
			counted(q.Waiting, "job"), visible(name), a.namespace)); err != nil {
			return err
		}
	}
	steps := a.steps("removed")
	steady, between, stop := a.gently(ctx)
	defer stop()
	p.Removed, err = i.Purge(steady, name, work.PurgeOptions{Progress: func(removed int) {
		steps.set(removed, q.Waiting)
		between()
	}})
	steps.clear()
	printed := a.tell(p, fmt.Sprintf("removed %s of %s from the queue of %s", number(p.Removed),
		counted(q.Waiting, "job"), visible(name)))
	if err != nil {
		return orInterrupted(ctx, err)
	}
	return printed
}
