package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/inspect"
)

// destroyFlags are those of queues destroy alone.
type destroyFlags struct {
	yes    bool
	dryRun bool
	when   cli.TimeFlags
	due    time.Time // when, by the clock of Redis; zero is at once
}

func newQueuesDestroyCommand(a *cli.App) *cobra.Command {
	var f destroyFlags
	cmd := &cobra.Command{
		Use:   "destroy NAME",
		Short: "Remove a queue with all its jobs, whatever their state; asks first",
		Long: `destroy pauses the queue and removes what waits, is scheduled, to be retried, stalled or dead, what is kept
of jobs that have ended, history, groups of errors, pause and limit. Jobs that run are cancelled and waited for. It
cannot be undone.

At Ctrl-C it says what is gone; the queue stays paused, and the same command goes on. What is enqueued meanwhile
goes too, or begins the queue anew.

With --in or --at a worker does it then, and work queues keep calls it off.

Exit status: 3 if there is no such queue.`,
		Example: `  work queues destroy export --dry-run
  work queues destroy export --in 1h --yes
  work queues destroy export --yes`,
		Args: cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) (err error) {
				if cmd.Flags().Changed("in") || cmd.Flags().Changed("at") {
					if f.due, err = f.when.Time(ctx, i); err != nil {
						return err
					}
				}
				return destroyQueue(ctx, a, i, f, args[0])
			})
		}),
	}
	f.when.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be done")
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

// destroyed is what is gone, or would be.
type destroyed struct {
	Action string `json:"action"`
	Name   string `json:"name"`
	DryRun bool   `json:"dry_run"`
	inspect.DestroyReport
	DestroyAt time.Time `json:"destroy_at,omitzero"` // nothing is done yet
}

func newQueuesKeepCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keep NAME",
		Short: "Call off that a queue is destroyed later",
		Long: "keep calls off what queues destroy has ordered with --in or --at. Of a queue that has no date it is " +
			"no\nerror.",
		Example: "  work queues keep export",
		Args:    cli.Exactly(1, "the name of one queue"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				d := cli.Action{Verb: "keep", Past: "kept", Noun: "queue"}
				d.Do = cli.OneByOne(func(ctx context.Context, name string) error {
					_, err := i.KeepQueue(ctx, name)
					return err
				})
				return a.CarryOut(ctx, d, args)
			})
		}),
	}
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

func destroyQueue(ctx context.Context, a *cli.App, i *inspect.Inspector, f destroyFlags, name string) error {
	there, err := i.DestroyQueue(ctx, name, inspect.DestroyOptions{DryRun: true})
	if err != nil {
		return err
	}
	if there.Sum() == 0 {
		if _, err := i.Queue(ctx, name); err != nil {
			return err
		}
	}
	d := destroyed{Action: "destroy", Name: name, DryRun: f.dryRun, DestroyReport: there}
	if f.dryRun {
		return a.Console().Tell(d, fmt.Sprintf("the queue of %s would be destroyed, with %s", human.Visible(name),
			destroyedText(there.DestroyedCounts)))
	}
	if !f.yes {
		if err := a.Console().Confirm(fmt.Sprintf("destroy the queue of %s in namespace %s, with %s?",
			human.Visible(name), a.Namespace, destroyedText(there.DestroyedCounts))); err != nil {
			return err
		}
	}
	if !f.due.IsZero() {
		if err := i.DestroyQueueAt(ctx, name, f.due); err != nil {
			return err
		}
		d.DestroyAt = f.due
		return a.Console().Tell(d, fmt.Sprintf("the queue of %s is to be destroyed at %s", human.Visible(name),
			human.Stamp(f.due)))
	}
	steps := a.Console().Steps("removed")
	steady, between, stop := interrupt.Gently(ctx, a.Hurry)
	defer stop()
	d.DestroyReport, err = i.DestroyQueue(steady, name, inspect.DestroyOptions{
		Progress: func(c inspect.DestroyedCounts) {
			steps.Set(c.Sum(), max(c.Sum(), there.Sum()))
			between()
		}})
	steps.Clear()
	printed := a.Console().Tell(d, "removed "+destroyedText(d.DestroyedCounts)+endText(d))
	if err != nil {
		return interrupt.Cause(ctx, err)
	}
	return printed
}

// endText says whether the queue is gone.
func endText(d destroyed) string {
	if d.Forgotten {
		return ": the queue of " + human.Visible(d.Name) + " is gone"
	}
	return ": there are jobs in the queue of " + human.Visible(d.Name)
}

// destroyedText is "3 jobs (2 waiting, 1 dead)".
func destroyedText(c inspect.DestroyedCounts) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{c.Waiting, "waiting"}, {c.Running, "running"}, {c.Scheduled, "scheduled"}, {c.Retrying, "retrying"},
		{c.Stalled, "stalled"}, {c.Dead, "dead"}, {c.Ended, "ended"},
	} {
		if part.n > 0 {
			parts = append(parts, human.Number(part.n)+" "+part.what)
		}
	}
	if len(parts) == 0 {
		return "no jobs"
	}
	return human.Counted(c.Sum(), "job") + " (" + strings.Join(parts, ", ") + ")"
}
