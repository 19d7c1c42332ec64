package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newWorkersCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("workers", "Look at workers, and tell them what to do")
	gone := false
	cmd.RunE = a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
			if gone {
				return listStoppedWorkers(ctx, a, i)
			}
			return listWorkers(ctx, a, i)
		})
	})
	cmd.Long = "workers, without another word, is workers list. A worker is a pool as Redis sees it; a large pool is " +
		"several."
	list := &cobra.Command{
		Use:   "list",
		Short: "List the workers that are registered, or those that have stopped",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  cmd.RunE,
	}
	for _, either := range []*cobra.Command{cmd, list} {
		either.Flags().BoolVar(&gone, "stopped", false, "list those that have stopped or died within a week")
	}
	cmd.AddCommand(list, newWorkersShowCommand(a), newWorkersPingCommand(a), newWorkersWaitCommand(a),
		newWorkersAskCommand(a))
	for _, order := range workerOrders {
		cmd.AddCommand(newWorkerOrderCommand(a, order))
	}
	return cmd
}

func listWorkers(ctx context.Context, a *cli.App, i *inspect.Inspector) error {
	workers, err := i.Workers(ctx)
	if err != nil {
		return err
	}
	return console.List(a.Console(), workers, "no workers are registered", workerTable)
}

func workerTable(workers []inspect.WorkerInfo) *console.Table {
	t := console.NewTable(console.ID("WORKER"), console.Left("HOST"), console.Right("PID"), console.Right("UP"),
		console.Right("BUSY"), console.Right("LOAD"), console.Left("STATE"), console.Left("VERSION"),
		console.Prose("QUEUES"))
	for _, w := range workers {
		t.Add(human.Visible(describe.ShortWorker(w.ID)), human.OrDash(w.Host),
			fmt.Sprint(w.PID),
			human.Duration(w.Uptime()), describe.WorkerBusy(w), fmt.Sprintf("%.2f", w.Load.One),
			describe.WorkerState(w),
			human.OrDash(w.Version), human.Visible(strings.Join(w.Queues, ", ")+withLabels(w)))
	}
	return t
}

// withLabels are the labels of a worker, behind its queues.
func withLabels(w inspect.WorkerInfo) string {
	if len(w.Labels) == 0 {
		return ""
	}
	return " (has " + strings.Join(w.Labels, ", ") + ")"
}

// wholeWorkers are the ids that begin so. What no worker has stays as it is.
func wholeWorkers(ctx context.Context, i *inspect.Inspector, begins []string) ([]string, error) {
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
			return nil, exit.Usagef("%s workers have an id that begins with %s: give more of it",
				human.Number(len(fit)),
				human.Visible(begin))
		}
	}
	return ids, nil
}

func newWorkersShowCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a worker, and what it runs",
		Example: `  work workers show "$(work workers list --json | jq -r .id | head -1)"`,
		Args:    cli.Exactly(1, "the id of one worker"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				ids, err := wholeWorkers(ctx, i, args)
				if err != nil {
					return err
				}
				w, err := i.Worker(ctx, ids[0])
				if err != nil {
					return err
				}
				return a.Console().Show(w, func(c *console.Console) []string { return workerLines(c, w) })
			})
		}),
	}
	a.CompleteArgs(cmd, a.WorkerIDs)
	return cmd
}

func workerLines(c *console.Console, w inspect.WorkerInfo) []string {
	lines := c.Summary([]console.SummaryLine{
		{"worker", human.Visible(w.ID)}, {"state", describe.WorkerState(w)}, {"host", human.Visible(w.Host)},
		{"pid", fmt.Sprint(w.PID)},
		{"service", human.Visible(w.Service)},
		{"version", human.Visible(w.Version)}, {"go", human.Visible(w.Go)}, {"started", human.When(w.Started, w.AsOf)},
		{"busy", describe.WorkerBusy(w)}, {"load", describe.Load(w.Load)},
		{"queues", human.Visible(strings.Join(w.Queues, ", "))},
		{"labels", human.Visible(strings.Join(w.Labels, ", "))},
	})
	if len(w.Running) == 0 {
		return lines
	}
	t := console.NewTable(console.ID("JOB"), console.Left("NAME"), console.Right("FOR"), console.Right("HEARD"),
		console.Prose("SAID"))
	for _, job := range w.Running {
		said := strings.TrimSpace(job.CheckIn + " " + string(job.Progress))
		t.Add(human.Visible(job.ID), human.OrDash(job.Name), human.Duration(job.Age(w.AsOf)),
			human.Since(job.CheckAt, w.AsOf), human.OrDash(said))
	}
	return append(append(lines, ""), t.Render(c)...)
}

func newWorkersPingCommand(a *cli.App) *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "ping [ID...]",
		Short: "Ask workers for a sign of life: all, or those that are named",
		Long: `ping prints how long each worker took to answer: milliseconds as a rule, up to a second when it was just
busy with a heartbeat.

Exit status: 3 if none of the named workers is registered, 5 if one did not answer.`,
		Args: cobra.ArbitraryArgs,
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if within <= 0 {
				return exit.Usagef("--within is %s: give a duration above zero, as 5s", within)
			}
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				return pingWorkers(ctx, a, i, args, within)
			})
		}),
	}
	cmd.Flags().DurationVar(&within, "within", 5*time.Second, "give up on a worker after this `duration`")
	a.CompleteArgs(cmd, a.WorkerIDs)
	return cmd
}

func pingWorkers(ctx context.Context, a *cli.App, i *inspect.Inspector, ids []string, within time.Duration) error {
	ids, err := namedWorkers(ctx, i, ids, len(ids) == 0)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		a.Console().Note("no workers are registered")
		return nil
	}
	d := cli.Action{Verb: "ping", Past: "pinged", Noun: "worker", Each: true}
	d.Do = func(ctx context.Context, ids []string) ([]cli.Result, error) {
		limited, cancel := context.WithTimeoutCause(ctx, within, &cli.LateError{Within: within})
		defer cancel()
		took, err := i.Ping(limited, ids[0])
		answered := human.Seconds(took)
		switch late := context.Cause(limited); {
		case err == nil:
			return cli.ResultOf(cli.Result{ID: ids[0], Took: &answered}, nil)
		case ctx.Err() == nil && late != nil:
			return []cli.Result{{ID: ids[0], Err: fmt.Errorf("worker %s: %w", human.Visible(ids[0]), late)}}, nil
		}
		return cli.ResultOf(cli.Result{ID: ids[0]}, err)
	}
	return a.CarryOut(ctx, d, ids)
}

// namedWorkers are those that were named, or all.
func namedWorkers(ctx context.Context, i *inspect.Inspector, ids []string, all bool) ([]string, error) {
	if all {
		return allWorkers(ctx, i)
	}
	return wholeWorkers(ctx, i, ids)
}

func allWorkers(ctx context.Context, i *inspect.Inspector) ([]string, error) {
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
	tell              func(*inspect.Inspector, context.Context, string) error
	tellNow           func(*inspect.Inspector, context.Context, string) error // with --now; nil for none
}

var workerOrders = []workerOrder{
	{"quiet", "made quiet", "Have workers begin no more jobs, for good", false, (*inspect.Inspector).QuietWorker,
		nil},
	{"pause", "paused", "Have workers begin no more jobs, until they are resumed", false,
		(*inspect.Inspector).PauseWorker, nil},
	{"resume", "resumed", "Have paused workers begin jobs again", false, (*inspect.Inspector).ResumeWorker, nil},
	{"stop", "told to stop", "Stop the pools of workers; asks first", true, (*inspect.Inspector).StopWorker,
		(*inspect.Inspector).StopWorkerNow},
}

func newWorkerOrderCommand(a *cli.App, order workerOrder) *cobra.Command {
	var all, yes, now bool
	cmd := &cobra.Command{
		Use:   order.name + " ID...",
		Short: order.short,
		Long: order.short + `. A worker hears of it within a second, or two in a fleet of more than 1,000; this does not wait for it.

Exit status: 3 if none of the named workers is registered, 5 if some are not.`,
		Example: fmt.Sprintf("  work workers %s --all", order.name),
		Args:    cobra.ArbitraryArgs,
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return &exit.UsageError{Err: errors.New("say which workers: their ids, or --all")}
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) (err error) {
				if ids, err = namedWorkers(ctx, i, ids, all); err != nil {
					return err
				}
				if len(ids) == 0 {
					a.Console().Note("no workers are registered")
					return nil
				}
				if order.asks && !yes {
					if err := a.Console().Confirm(fmt.Sprintf("stop the pools of %s in namespace %s?",
						human.Counted(len(ids), "worker"), a.Namespace)); err != nil {
						return err
					}
				}
				do := order.tell
				if now {
					do = order.tellNow
				}
				tell := cli.OneByOne(func(ctx context.Context, id string) error { return do(i, ctx, id) })
				return a.CarryOut(ctx, cli.Action{Verb: order.name, Past: order.past, Noun: "worker", Do: tell}, ids)
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all that are registered")
	if order.asks {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	}
	if order.tellNow != nil {
		cmd.Flags().BoolVar(&now, "now", false, "wait for no handler: what runs goes back, and may run twice")
	}
	a.CompleteArgs(cmd, a.WorkerIDs)
	return cmd
}
