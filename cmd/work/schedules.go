package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newSchedulesCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("schedules", "Look at the schedules of periodic jobs, and change them")
	cmd.Long = "schedules, without another word, is schedules list."
	cmd.RunE = a.Runs(func(ctx context.Context, _ *cobra.Command,
		_ []string) error {
		return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error { return listSchedules(ctx, a, i) })
	})
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the schedules, with their next ticks",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  cmd.RunE,
	}, newSchedulesAddCommand(a))
	for _, order := range scheduleOrders {
		cmd.AddCommand(newScheduleOrderCommand(a, order))
	}
	return cmd
}

func listSchedules(ctx context.Context, a *cli.App, i *inspect.Inspector) error {
	schedules, err := i.Schedules(ctx)
	if err != nil {
		return err
	}
	shown := make([]inspect.ScheduleView, len(schedules))
	for n, s := range schedules {
		shown[n] = s.View()
	}
	return console.List(a.Console(), shown, "there are no schedules", scheduleTable)
}

func scheduleTable(schedules []inspect.ScheduleView) *console.Table {
	t := console.NewTable(console.ID("SCHEDULE"), console.Left("SPEC"), console.Left("JOB"),
		console.Left("NEXT (UTC)"), console.ID("LAST JOB"), console.Left("OF"), console.Prose("ARGS"))
	for _, s := range schedules {
		next, spec := human.Stamp(s.Next), s.Spec
		if s.Paused {
			next = "paused"
		}
		if s.Problem != "" {
			next = human.Visible(s.Problem)
		}
		if s.TZ != "" {
			spec += " " + s.TZ
		}
		t.Add(human.Visible(s.ID), human.Visible(spec), human.OrDash(s.Name), next,
			human.OrDash(s.LastJob),
			human.OrDash(cmp.Or(s.Service, "by hand")), human.Visible(string(s.Args)))
	}
	return t
}

// scheduleOrder is something that is done to a schedule.
type scheduleOrder struct {
	name, past, short string
	asks              bool
	do                func(*inspect.Inspector, context.Context, string) (job string, err error)
}

var scheduleOrders = []scheduleOrder{
	{"pause", "paused", "Keep schedules from enqueueing", false, withoutJob((*inspect.Inspector).PauseSchedule)},
	{"resume", "resumed", "Let paused schedules enqueue again", false, withoutJob((*inspect.Inspector).ResumeSchedule)},
	{"run", "run", "Enqueue the jobs of schedules at once, and print their ids", false, runSchedule},
	{"remove", "removed", "Remove schedules; asks first", true, withoutJob((*inspect.Inspector).RemoveSchedule)},
}

func withoutJob(do func(*inspect.Inspector, context.Context, string) error) func(*inspect.Inspector, context.Context,
	string) (string, error) {
	return func(i *inspect.Inspector, ctx context.Context, id string) (string, error) { return "", do(i, ctx, id) }
}

func runSchedule(i *inspect.Inspector, ctx context.Context, id string) (string, error) {
	receipt, err := i.RunScheduleNow(ctx, id)
	return receipt.ID, err
}

func newScheduleOrderCommand(a *cli.App, order scheduleOrder) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   order.name + " ID...",
		Short: order.short,
		Long: order.short + `. What a program declares it declares again at its next start.

Exit status: 3 if none of the schedules is there, 5 if some are not.`,
		Example: fmt.Sprintf("  work schedules %s nightly", order.name),
		Args:    cli.NeedSome("ids of schedules"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, ids []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if order.asks && !yes {
					if err := a.Console().Confirm(fmt.Sprintf("remove %s in namespace %s?",
						human.Counted(len(ids), "schedule"),
						a.Namespace)); err != nil {
						return err
					}
				}
				d := cli.Action{Verb: order.name, Past: order.past, Noun: "schedule", Each: order.name == "run"}
				d.Do = func(ctx context.Context, ids []string) ([]cli.Result, error) {
					job, err := order.do(i, ctx, ids[0])
					return cli.ResultOf(cli.Result{ID: ids[0], Job: job}, err)
				}
				return a.CarryOut(ctx, d, ids)
			})
		}),
	}
	if order.asks {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	}
	a.CompleteArgs(cmd, a.ScheduleIDs)
	return cmd
}

// scheduleFlags are those of schedules add.
type scheduleFlags struct {
	id, tz, missed, overlap string
	jitter                  time.Duration
	key                     string
	weight                  int
	needs                   []string
	text, replace           bool
	given                   func(name string) bool
}

func newSchedulesAddCommand(a *cli.App) *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "add SPEC NAME ARG...",
		Short: "Add a schedule by hand",
		Long: `add has a job enqueued at each tick of SPEC: five fields of cron or six with seconds in front, a descriptor
as @daily, or @every with a duration. Each ARG is a JSON value. It stays until it is removed.`,
		Example: `  work schedules add '0 3 * * *' export '{"all":true}' --id nightly --tz Europe/Berlin
  work schedules add '@every 10m' poll --overlap skip`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("the spec or the name of the job is missing: %s '@daily' NAME ARG", cmd.CommandPath())
			}
			return nil
		},
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return addSchedule(ctx, a, f, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "`id` of the schedule; otherwise the name of the job")
	flags.StringVar(&f.tz, "tz", "", "time `zone` of the spec, as Europe/Berlin; otherwise UTC")
	flags.DurationVar(&f.jitter, "jitter", 0, "let each tick be late by a time below this `duration`")
	flags.StringVar(&f.missed, "missed", "once",
		"what becomes of ticks at which no worker was there: once, skip, or the last `n` of them")
	flags.StringVar(&f.overlap, "overlap", "allow",
		"what becomes of a tick while the last job has not ended: allow or skip")
	flags.StringVar(&f.key, "key", "", "`key` on whose behalf its jobs are done: keys have turns")
	flags.IntVar(&f.weight, "weight", 1, "`turns` of that key where others have one")
	flags.StringSliceVar(&f.needs, "needs", nil,
		"`labels` that a worker must have to run its jobs, with commas between")
	flags.BoolVar(&f.text, "string", false, "take every ARG as a string, not as JSON")
	flags.BoolVar(&f.replace, "replace", false, "change the schedule where there is one of that id")
	return cmd
}

func (f scheduleFlags) options() (work.PeriodicOptions, error) {
	options := work.PeriodicOptions{ID: f.id, TZ: f.tz, Jitter: f.jitter, Key: f.key, Needs: f.needs}
	if f.given("weight") {
		if options.Weight = f.weight; f.weight == 0 {
			return options, exit.Usagef("--weight is 0: give 1 to 100")
		}
	}
	switch f.overlap {
	case "allow":
	case "skip":
		options.Overlap = work.OverlapSkip
	default:
		return options, exit.Usagef("--overlap is %q: give allow or skip", f.overlap)
	}
	switch f.missed {
	case "once":
	case "skip":
		options.Missed = work.MissedSkip
	default:
		var n int
		if _, err := fmt.Sscanf(f.missed+"\n", "%d\n", &n); err != nil || n < 1 || n > 100 {
			return options, exit.Usagef("--missed is %q: give once, skip, or 1 to 100", f.missed)
		}
		options.Missed = work.MissedAll(n)
	}
	return options, nil
}

func addSchedule(ctx context.Context, a *cli.App, f scheduleFlags, args []string) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	spec, name := args[0], args[1]
	values := make([]any, len(args)-2)
	for n, text := range args[2:] {
		if values[n], err = (enqueueFlags{text: f.text}).argument(n+1, text); err != nil {
			return err
		}
	}
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		err := work.ErrNoSchedule
		if f.replace {
			err = i.ChangeSchedule(ctx, spec, name, options, values...)
		}
		if errors.Is(err, work.ErrNoSchedule) {
			err = i.AddSchedule(ctx, spec, name, options, values...)
		}
		if err != nil {
			return err
		}
		return showSchedule(ctx, a, i, cmp.Or(f.id, name))
	})
}

// showSchedule prints a schedule as it is now.
func showSchedule(ctx context.Context, a *cli.App, i *inspect.Inspector, id string) error {
	if a.Quiet && !a.JSON {
		return nil
	}
	schedules, err := i.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if s.ID == id {
			shown := s.View()
			return a.Console().Show(shown,
				func(c *console.Console) []string { return scheduleTable([]inspect.ScheduleView{shown}).Render(c) })
		}
	}
	return fmt.Errorf("schedule %s was added and is gone again: %w", human.Visible(id), work.ErrNoSchedule)
}
