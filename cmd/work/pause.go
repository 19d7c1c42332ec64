package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

// pauseFlags are those of pause and resume.
type pauseFlags struct {
	all    bool
	wait   bool
	within time.Duration
}

func newPauseCommand(a *app) *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "pause NAME...",
		Short: "Keep the jobs of queues, or of all, from beginning",
		Long: `pause lets what runs go on, and enqueueing too. With --wait it returns once none of these jobs runs any more;
if --within passes first, or at Ctrl-C, they stay paused.`,
		Example: `  work pause export
  work pause --all --wait --within 5m`,
		Args: cobra.ArbitraryArgs,
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command,
			names []string) error {
			return a.pause(ctx, f, names)
		}),
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all queues of the namespace")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "until none of their jobs runs")
	cmd.Flags().DurationVar(&f.within, "within", 0, "with --wait: give up after this `duration`; 0 waits for ever")
	a.completeArgs(cmd, a.queueNames)
	return cmd
}

func newResumeCommand(a *app) *cobra.Command {
	var f pauseFlags
	cmd := &cobra.Command{
		Use:   "resume NAME...",
		Short: "Let the jobs of paused queues begin again",
		Long:  "resume --all ends what pause --all began: queues that were paused by name stay so.",
		Example: `  work resume export
  work resume --all`,
		Args: cobra.ArbitraryArgs,
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command,
			names []string) error {
			return a.resume(ctx, f, names)
		}),
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "all queues of the namespace")
	a.completeArgs(cmd, a.queueNames)
	return cmd
}

func (f pauseFlags) validate(names []string) error {
	switch {
	case f.all == (len(names) > 0):
		return &usageError{err: errors.New("say which queues: their names, or --all")}
	case f.within < 0:
		return usagef("--within is %s: give a positive duration, as 90s", f.within)
	case f.within > 0 && !f.wait:
		return usagef("--within is given without --wait: nothing would be waited for")
	}
	return nil
}

func (a *app) pause(ctx context.Context, f pauseFlags, names []string) error {
	if err := f.validate(names); err != nil {
		return err
	}
	return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
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
		return a.tellPause("pause", "paused", f, names)
	})
}

// waitForPause returns once nothing runs.
func waitForPause(ctx context.Context, i *work.Inspector, f pauseFlags, names []string) error {
	if f.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.within, &lateError{within: f.within})
		defer cancel()
	}
	if !f.all {
		return i.PauseAndWait(ctx, names...)
	}
	again := time.NewTicker(pauseInterval)
	defer again.Stop()
	for {
		counts, err := i.Counts(ctx)
		if err != nil {
			return err
		}
		if counts.Running == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("all queues are paused, and %s still run: %w", counted(counts.Running, "job"),
				context.Cause(ctx))
		case <-again.C:
		}
	}
}

// pauseInterval is how often it is looked whether jobs still run.
const pauseInterval = 200 * time.Millisecond

func (a *app) resume(ctx context.Context, f pauseFlags, names []string) error {
	if err := f.validate(names); err != nil {
		return err
	}
	return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
		resume := func(ctx context.Context) error { return i.ResumeQueue(ctx, names...) }
		if f.all {
			resume = i.ResumeAll
		}
		if err := resume(ctx); err != nil {
			return err
		}
		return a.tellPause("resume", "resumed", f, names)
	})
}

func (a *app) tellPause(action, past string, f pauseFlags, names []string) error {
	text := "all queues"
	if !f.all {
		text = visible(strings.Join(names, ", "))
	}
	return a.tell(struct {
		Action string   `json:"action"`
		All    bool     `json:"all"`
		Queues []string `json:"queues,omitempty"`
	}{action, f.all, names}, past+": "+text)
}
