package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/bench"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dsn"
)

func newBenchCommand(a *cli.App) *cobra.Command {
	var o bench.Options
	var verbose bool
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast jobs are enqueued and processed on a Redis",
		Long: `bench stores no-op jobs, one call per job, then starts a worker pool in this process that works them
off, then enqueues single jobs to that idle pool and measures how long each takes to its handler. It
prints the rates, what Redis' processor spent per job where Redis tells it, and how the rates went
over time. Every job is known by a number: exit status 0 means that each ran exactly once.

Rates of processing count from the first handler to the last. What Redis spent includes whatever else
it served meanwhile.

All keys are in a namespace of its own, which is removed at the end, at an error and at Ctrl-C; other
keys are not touched. The jobs take memory of Redis as long as they wait, and the walk that removes
the namespace (SCAN) takes longer in a database with many other keys.

Redis is embedded in the program unless --redis names one that is not memory://. The embedded one is
made for tests: its figures say nothing about a real one.`,
		Example: `  work bench
  work bench --redis redis://localhost:6379/0 --jobs 100000 --enqueuers 128 --concurrency 200
  work bench --redis redis://localhost:6379/0 --duration 10s --json`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			o.Redis, o.Namespace, o.JobsGiven = dsn.Lasting(a.Redis), a.Namespace, cmd.Flags().Changed("jobs")
			o.Console, o.Logger, o.Hurry, o.JSON = a.Console(), a.Logger(verbose), a.Hurry, a.JSON
			return bench.Run(ctx, o)
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Jobs, "jobs", 50_000, "how many `jobs`")
	flags.DurationVar(&o.Duration, "duration", 0, "enqueue for this `duration` instead, then process what was enqueued")
	flags.IntVar(&o.Concurrency, "concurrency", 20, "`jobs` that run at the same time")
	flags.IntVar(&o.Queues, "queues", 10, "job `names`, each of which is a queue")
	flags.IntVar(&o.Enqueuers, "enqueuers", 16, "`callers` that enqueue at the same time")
	flags.IntVar(&o.ArgsBytes, "args-bytes", 0, "`bytes` of arguments of each job, beside its number")
	flags.BoolVarP(&verbose, "verbose", "v", false, "show the log of the worker pool")
	return cmd
}
