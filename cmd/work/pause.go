package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// pauseFlags are those of pause and resume.
type pauseFlags struct {
	all    bool
	wait   bool
	within time.Duration
	force  bool
}

func newPauseCommand(a *cli.App) *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "pause NAME...",
		Short: "Keep the jobs of queues, or of all, from beginning",
		Long: `pause lets what runs go on, and enqueueing too. With --wait it returns once none of these jobs runs any more;
if --within passes first, or at Ctrl-C, they stay paused.`,
		Example: `  work pause export
  work pause --all --wait --within 5m`,
		Args: cobra.ArbitraryArgs,
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command,
			names []string) error {
			return pauseQueues(ctx, a, f, names)
		}),
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all queues of the namespace")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "until none of their jobs runs")
	cmd.Flags().DurationVar(&f.within, "within", 0, "with --wait: give up after this `duration`; 0 waits for ever")
	cli.Force(cmd, &f.force)
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

func newResumeCommand(a *cli.App) *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "resume NAME...",
		Short: "Let the jobs of paused queues begin again",
		Long:  "resume --all ends what pause --all began: queues that were paused by name stay so.",
		Example: `  work resume export
  work resume --all`,
		Args: cobra.ArbitraryArgs,
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command,
			names []string) error {
			return resumeQueues(ctx, a, f, names)
		}),
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all queues of the namespace")
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

func (f pauseFlags) validate(names []string) error {
	switch {
	case f.all == (len(names) > 0):
		return &exit.UsageError{Err: errors.New("say which queues: their names, or --all")}
	case f.within < 0:
		return exit.Usagef("--within is %s: give a positive duration, as 90s", f.within)
	case f.within > 0 && !f.wait:
		return exit.Usagef("--within is given without --wait: nothing would be waited for")
	}
	return nil
}

func pauseQueues(ctx context.Context, a *cli.App, f pauseFlags, names []string) error {
	if err := f.validate(names); err != nil {
		return err
	}
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		if err := cli.CheckNames(ctx, i, f.force, names...); err != nil {
			return err
		}
		pause := func(ctx context.Context) error { return i.PauseQueue(ctx, names...) }
		if f.all {
			pause = i.PauseAll
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if f.wait {
			if err := waitForPause(ctx, i, f, names); err != nil {
				return err
			}
		}
		return tellPause(a, "pause", f, names)
	})
}

// waitForPause returns once nothing runs.
func waitForPause(ctx context.Context, i *inspect.Inspector, f pauseFlags, names []string) error {
	if f.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.within, &cli.LateError{Within: f.within})
		defer cancel()
	}
	if !f.all {
		err := i.PauseAndWait(ctx, names...) // they are paused already
		if late := context.Cause(ctx); err != nil && late != nil && !errors.Is(err, late) {
			err = fmt.Errorf("the queues are paused, and jobs of them may still run: %w", late)
		}
		return err
	}
	again := time.NewTicker(pauseInterval)
	defer again.Stop()
	for {
		counts, err := i.Counts(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("all queues are paused, and jobs may still run: %w", context.Cause(ctx))
		case err != nil:
			return err
		case counts.Running == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("all queues are paused, and %s still run: %w", human.Counted(counts.Running, "job"),
				context.Cause(ctx))
		case <-again.C:
		}
	}
}

// pauseInterval is how often it is looked whether jobs still run.
const pauseInterval = 200 * time.Millisecond

func resumeQueues(ctx context.Context, a *cli.App, f pauseFlags, names []string) error {
	if err := f.validate(names); err != nil {
		return err
	}
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		resume := func(ctx context.Context) error { return i.ResumeQueue(ctx, names...) }
		if f.all {
			resume = i.ResumeAll
		}
		if err := resume(ctx); err != nil {
			return err
		}
		return tellPause(a, "resume", f, names)
	})
}

func tellPause(a *cli.App, action string, f pauseFlags, names []string) error {
	text := "all queues"
	if !f.all {
		text = human.Visible(strings.Join(names, ", "))
	}
	return a.Console().Tell(struct {
		Action string   `json:"action"`
		All    bool     `json:"all"`
		Queues []string `json:"queues,omitempty"`
	}{action, f.all, names}, action+"d: "+text)
}
