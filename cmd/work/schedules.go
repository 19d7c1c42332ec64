package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newSchedulesCommand(a *app) *cobra.Command {
	cmd := a.group("schedules", "Look at the schedules of periodic jobs, and change them")
	cmd.Long = "schedules, without another word, is schedules list."
	cmd.RunE = a.runs(func(ctx context.Context, _ *cobra.Command,
		_ []string) error {
		return a.inspect(ctx, a.listSchedules)
	})
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the schedules, with their next ticks",
		Args:  atMost(0, "no argument"),
		RunE:  cmd.RunE,
	}, newSchedulesAddCommand(a))
	for _, order := range scheduleOrders {
		cmd.AddCommand(newScheduleOrderCommand(a, order))
	}
	return cmd
}

// shownSchedule is a schedule as JSON.
type shownSchedule struct {
	ID      string          `json:"id"`
	Spec    string          `json:"spec"`
	TZ      string          `json:"tz,omitempty"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Jitter  string          `json:"jitter,omitempty"`
	Missed  string          `json:"missed"`
	Overlap string          `json:"overlap"`
	Service string          `json:"service,omitempty"`
	Paused  bool            `json:"paused"`
	Last    time.Time       `json:"last,omitzero"`
	LastJob string          `json:"last_job,omitempty"`
	Next    time.Time       `json:"next,omitzero"`
	Problem string          `json:"problem,omitempty"`
}

func newShownSchedule(s work.ScheduleInfo) shownSchedule {
	shown := shownSchedule{
		ID: s.ID, Spec: s.Spec, TZ: s.Options.TZ, Name: s.Name, Args: s.Args, Missed: s.Options.Missed.String(),
		Overlap: s.Options.Overlap.String(),
		Service: s.Service, Paused: s.Paused, Last: s.Last, LastJob: s.LastJob, Next: s.Next,
	}
	if s.Options.Jitter != 0 {
		shown.Jitter = s.Options.Jitter.String()
	}
	if s.Problem != nil {
		shown.Problem = s.Problem.Error()
	}
	return shown
}

func (a *app) listSchedules(ctx context.Context, i *work.Inspector) error {
	schedules, err := i.Schedules(ctx)
	if err != nil {
		return err
	}
	shown := make([]shownSchedule, len(schedules))
	for n, s := range schedules {
		shown[n] = newShownSchedule(s)
	}
	return list(a, shown, "there are no schedules", scheduleTable)
}

func scheduleTable(schedules []shownSchedule) *table {
	t := &table{columns: []column{{title: "SCHEDULE"}, {title: "SPEC"}, {title: "JOB"}, {title: "NEXT (UTC)"},
		{title: "LAST JOB"}, {title: "OF"}, {title: "ARGS", prose: true}}}
	for _, s := range schedules {
		next, spec := stamp(s.Next), s.Spec
		if s.Paused {
			next = "paused"
		}
		if s.Problem != "" {
			next = visible(s.Problem)
		}
		if s.TZ != "" {
			spec += " " + s.TZ
		}
		t.rows = append(t.rows, []string{visible(s.ID), visible(spec), orDash(s.Name), next, orDash(s.LastJob),
			orDash(fallback(s.Service, "by hand")), visible(string(s.Args))})
	}
	return t
}

// scheduleOrder is something that is done to a schedule.
type scheduleOrder struct {
	name, past, short string
	asks              bool
	do                func(*work.Inspector, context.Context, string) (job string, err error)
}

var scheduleOrders = []scheduleOrder{
	{"pause", "paused", "Keep schedules from enqueueing", false, withoutJob((*work.Inspector).PauseSchedule)},
	{"resume", "resumed", "Let paused schedules enqueue again", false, withoutJob((*work.Inspector).ResumeSchedule)},
	{"run", "run", "Enqueue the jobs of schedules at once, and print their ids", false, runSchedule},
	{"remove", "removed", "Remove schedules; asks first", true, withoutJob((*work.Inspector).RemoveSchedule)},
}

func withoutJob(do func(*work.Inspector, context.Context, string) error) func(*work.Inspector, context.Context,
	string) (string, error) {
	return func(i *work.Inspector, ctx context.Context, id string) (string, error) { return "", do(i, ctx, id) }
}

func runSchedule(i *work.Inspector, ctx context.Context, id string) (string, error) {
	receipt, err := i.RunScheduleNow(ctx, id)
	return receipt.ID, err
}

func newScheduleOrderCommand(a *app, order scheduleOrder) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   order.name + " ID...",
		Short: order.short,
		Long: order.short + `. What a program declares it declares again at its next start.

Exit status: 3 if none of the schedules is there, 5 if some are not.`,
		Example: fmt.Sprintf("  work schedules %s nightly", order.name),
		Args:    needSome("ids of schedules"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, ids []string) error {
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
				if order.asks && !yes {
					if err := a.confirm(fmt.Sprintf("remove %s in namespace %s?", counted(len(ids), "schedule"),
						a.namespace)); err != nil {
						return err
					}
				}
				d := deed{verb: order.name, past: order.past, noun: "schedule", each: order.name == "run"}
				d.do = func(ctx context.Context, ids []string) ([]upshot, error) {
					job, err := order.do(i, ctx, ids[0])
					return judged(upshot{ID: ids[0], Job: job}, err)
				}
				return a.carryOut(ctx, d, ids)
			})
		}),
	}
	if order.asks {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	}
	a.completeArgs(cmd, a.scheduleIDs)
	return cmd
}

// scheduleFlags are those of schedules add.
type scheduleFlags struct {
	id, tz, missed, overlap string
	jitter                  time.Duration
	text, replace           bool
}

func newSchedulesAddCommand(a *app) *cobra.Command {
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
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command,
			args []string) error {
			return a.addSchedule(ctx, f, args)
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
	flags.BoolVar(&f.text, "string", false, "take every ARG as a string, not as JSON")
	flags.BoolVar(&f.replace, "replace", false, "change the schedule where there is one of that id")
	return cmd
}

func (f scheduleFlags) options() (work.PeriodicOptions, error) {
	options := work.PeriodicOptions{ID: f.id, TZ: f.tz, Jitter: f.jitter}
	switch f.overlap {
	case "allow":
	case "skip":
		options.Overlap = work.OverlapSkip
	default:
		return options, usagef("--overlap is %q: give allow or skip", f.overlap)
	}
	switch f.missed {
	case "once":
	case "skip":
		options.Missed = work.MissedSkip
	default:
		var n int
		if _, err := fmt.Sscanf(f.missed+"\n", "%d\n", &n); err != nil || n < 1 || n > 100 {
			return options, usagef("--missed is %q: give once, skip, or 1 to 100", f.missed)
		}
		options.Missed = work.MissedAll(n)
	}
	return options, nil
}

func (a *app) addSchedule(ctx context.Context, f scheduleFlags, args []string) error {
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
	return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
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
		return a.showSchedule(ctx, i, fallback(f.id, name))
	})
}

// showSchedule prints a schedule as it is now.
func (a *app) showSchedule(ctx context.Context, i *work.Inspector, id string) error {
	if a.quiet && !a.json {
		return nil
	}
	schedules, err := i.Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if s.ID == id {
			shown := newShownSchedule(s)
			return a.show(shown, func(c *console) []string { return scheduleTable([]shownSchedule{shown}).render(c) })
		}
	}
	return fmt.Errorf("schedule %s was added and is gone again: %w", visible(id), work.ErrNoSchedule)
}
