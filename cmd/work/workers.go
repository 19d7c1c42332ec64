package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
)

func newWorkersCommand(a *app) *cobra.Command {
	cmd := a.group("workers", "Look at workers, and tell them what to do")
	show := a.listsWorkers
	cmd.RunE = a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.inspect(ctx, show) })
	cmd.Long = "workers, without another word, is workers list. A worker is a pool as Redis sees it; a large pool is " +
		"several."
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the workers that are registered",
		Args:  atMost(0, "no argument"),
		RunE:  cmd.RunE,
	}, newWorkersShowCommand(a), newWorkersPingCommand(a))
	for _, order := range workerOrders {
		cmd.AddCommand(newWorkerOrderCommand(a, order))
	}
	return cmd
}

func (a *app) listsWorkers(ctx context.Context, i *work.Inspector) error {
	workers, err := i.Workers(ctx)
	if err != nil {
		return err
	}
	return list(a, workers, "no workers are registered", workerTable)
}

func workerTable(workers []work.WorkerInfo) *table {
	t := &table{columns: []column{{title: "WORKER"}, {title: "HOST"}, {title: "PID", right: true},
		{title: "UP", right: true}, {title: "BUSY", right: true},
		{title: "STATE"}, {title: "VERSION"}, {title: "QUEUES", prose: true}}}
	for _, w := range workers {
		t.rows = append(t.rows, []string{visible(shortWorker(w.ID)), orDash(w.Host), fmt.Sprint(w.PID),
			brief(w.Uptime()), workerBusy(w), workerState(w),
			orDash(w.Version), visible(strings.Join(w.Queues, ", "))})
	}
	return t
}

// shortWorker is the beginning of an id, which is long and random. All commands take it for the whole.
func shortWorker(id string) string { return id[:min(len(id), 12)] }

// wholeWorkers are the ids that begin so. What no worker has stays as it is.
func wholeWorkers(ctx context.Context, i *work.Inspector, begins []string) ([]string, error) {
	all, err := allWorkers(ctx, i)
	if err != nil {
		return nil, err
	}
	ids := slices.Clone(begins)
	for n, begin := range begins {
		var fit []string
		for _, id := range all {
			if strings.HasPrefix(id, begin) && begin != "" {
				fit = append(fit, id)
			}
		}
		switch {
		case len(fit) == 1:
			ids[n] = fit[0]
		case len(fit) > 1 && !slices.Contains(fit, begin):
			return nil, usagef("%s workers have an id that begins with %s: give more of it", number(len(fit)),
				visible(begin))
		}
	}
	return ids, nil
}

func workerBusy(w work.WorkerInfo) string { return fmt.Sprintf("%d/%d", len(w.Running), w.Concurrency) }

func workerState(w work.WorkerInfo) string {
	wanted := map[string]string{"pause": "paused", "quiet": "quiet", "stop": "stopping"}
	switch {
	case !w.Alive:
		return "no heartbeat"
	case w.Wanted == "":
		return "at work"
	}
	return fallback(wanted[w.Wanted], visible(w.Wanted))
}

func newWorkersShowCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a worker, and what it runs",
		Example: `  work workers show "$(work workers list --json | jq -r .id | head -1)"`,
		Args:    exactly(1, "the id of one worker"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) error {
				ids, err := wholeWorkers(ctx, i, args)
				if err != nil {
					return err
				}
				w, err := i.Worker(ctx, ids[0])
				if err != nil {
					return err
				}
				return a.show(w, func(c *console) []string { return workerLines(c, w) })
			})
		}),
	}
	a.completeArgs(cmd, a.workerIDs)
	return cmd
}

func workerLines(c *console, w work.WorkerInfo) []string {
	lines := factLines(c, []fact{
		{"worker", visible(w.ID)}, {"state", workerState(w)}, {"host", visible(w.Host)}, {"pid", fmt.Sprint(w.PID)},
		{"service", visible(w.Service)},
		{"version", visible(w.Version)}, {"go", visible(w.Go)}, {"started", momentText(w.Started, w.AsOf)},
		{"busy", workerBusy(w)},
		{"queues", visible(strings.Join(w.Queues, ", "))},
	})
	if len(w.Running) == 0 {
		return lines
	}
	t := &table{columns: []column{{title: "JOB"}, {title: "NAME"}, {title: "FOR", right: true},
		{title: "HEARD", right: true}, {title: "SAID", prose: true}}}
	for _, job := range w.Running {
		said := strings.TrimSpace(job.CheckIn + " " + string(job.Progress))
		t.rows = append(t.rows, []string{visible(job.ID), orDash(job.Name), brief(job.Age(w.AsOf)),
			sinceText(job.CheckAt, w.AsOf), orDash(said)})
	}
	return append(append(lines, ""), t.render(c)...)
}

func newWorkersPingCommand(a *app) *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "ping [ID...]",
		Short: "Ask workers for a sign of life: all, or those that are named",
		Long: `ping prints how long each worker took to answer: milliseconds as a rule, up to a second when it was just
busy with a heartbeat.

Exit status: 3 if none of the named workers is registered, 5 if one did not answer.`,
		Args: cobra.ArbitraryArgs,
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if within <= 0 {
				return usagef("--within is %s: give a duration above zero, as 5s", within)
			}
			return a.inspect(ctx, func(ctx context.Context,
				i *work.Inspector) error {
				return a.ping(ctx, i, args, within)
			})
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 5*time.Second, "give up on a worker after this `duration`")
	a.completeArgs(cmd, a.workerIDs)
	return cmd
}

func (a *app) ping(ctx context.Context, i *work.Inspector, ids []string, within time.Duration) error {
	ids, err := namedWorkers(ctx, i, ids, len(ids) == 0)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		a.note("no workers are registered")
		return nil
	}
	d := deed{verb: "ping", past: "pinged", noun: "worker", each: true}
	d.do = func(ctx context.Context, ids []string) ([]upshot, error) {
		limited, cancel := context.WithTimeoutCause(ctx, within, &lateError{within: within})
		defer cancel()
		took, err := i.Ping(limited, ids[0])
		answered := seconds(took)
		switch late := context.Cause(limited); {
		case err == nil:
			return judged(upshot{ID: ids[0], Took: &answered}, nil)
		case ctx.Err() == nil && late != nil:
			return []upshot{{ID: ids[0], err: fmt.Errorf("worker %s: %w", visible(ids[0]), late)}}, nil
		}
		return judged(upshot{ID: ids[0]}, err)
	}
	return a.carryOut(ctx, d, ids)
}

// namedWorkers are those that were named, or all.
func namedWorkers(ctx context.Context, i *work.Inspector, ids []string, all bool) ([]string, error) {
	if all {
		return allWorkers(ctx, i)
	}
	return wholeWorkers(ctx, i, ids)
}

func allWorkers(ctx context.Context, i *work.Inspector) ([]string, error) {
	workers, err := i.Workers(ctx)
	var ids []string
	for _, w := range workers {
		ids = append(ids, w.ID)
	}
	return ids, err
}

// workerOrder is something that a worker can be told.
type workerOrder struct {
	name, past, short string
	asks              bool
	tell              func(*work.Inspector, context.Context, string) error
}

var workerOrders = []workerOrder{
	{"quiet", "made quiet", "Have workers begin no more jobs, for good", false, (*work.Inspector).QuietWorker},
	{"pause", "paused", "Have workers begin no more jobs, until they are resumed", false,
		(*work.Inspector).PauseWorker},
	{"resume", "resumed", "Have paused workers begin jobs again", false, (*work.Inspector).ResumeWorker},
	{"stop", "told to stop", "Stop the pools of workers; asks first", true, (*work.Inspector).StopWorker},
}

func newWorkerOrderCommand(a *app, order workerOrder) *cobra.Command {
	var all, yes bool
	cmd := &cobra.Command{
		Use:   order.name + " ID...",
		Short: order.short,
		Long: order.short + `. A worker hears of it within a second, or two in a fleet of more than 1,000; this does not wait for it.

Exit status: 3 if none of the named workers is registered, 5 if some are not.`,
		Example: fmt.Sprintf("  work workers %s --all", order.name),
		Args:    cobra.ArbitraryArgs,
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return &usageError{err: errors.New("say which workers: their ids, or --all")}
			}
			return a.inspect(ctx, func(ctx context.Context, i *work.Inspector) (err error) {
				if ids, err = namedWorkers(ctx, i, ids, all); err != nil {
					return err
				}
				if len(ids) == 0 {
					a.note("no workers are registered")
					return nil
				}
				if order.asks && !yes {
					if err := a.confirm(fmt.Sprintf("stop the pools of %s in namespace %s?",
						counted(len(ids), "worker"), a.namespace)); err != nil {
						return err
					}
				}
				tell := oneByOne(func(ctx context.Context, id string) error { return order.tell(i, ctx, id) })
				return a.carryOut(ctx, deed{verb: order.name, past: order.past, noun: "worker", do: tell}, ids)
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all that are registered")
	if order.asks {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	}
	a.completeArgs(cmd, a.workerIDs)
	return cmd
}
