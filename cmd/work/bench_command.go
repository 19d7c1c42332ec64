package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/spf13/cobra"
)

// benchFlags are those of bench alone.
type benchFlags struct {
	jobs        int
	duration    time.Duration
	concurrency int
	queues      int
	enqueuers   int
	argsBytes   int
	verbose     bool
}

func newBenchCommand(a *app) *cobra.Command {
	var f benchFlags
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
		Args: atMost(0, "no argument"),
		RunE: a.runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return a.bench(ctx, f, cmd.Flags().Changed("jobs"))
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&f.jobs, "jobs", 50_000, "how many `jobs`")
	flags.DurationVar(&f.duration, "duration", 0, "enqueue for this `duration` instead, then process what was enqueued")
	flags.IntVar(&f.concurrency, "concurrency", 20, "`jobs` that run at the same time")
	flags.IntVar(&f.queues, "queues", 10, "job `names`, each of which is a queue")
	flags.IntVar(&f.enqueuers, "enqueuers", 16, "`callers` that enqueue at the same time")
	flags.IntVar(&f.argsBytes, "args-bytes", 0, "`bytes` of arguments of each job, beside its number")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of the worker pool")
	return cmd
}

// The most that can be asked for. The bytes are what the arguments of all jobs take: Redis may hold much else.
const (
	benchMostJobs        = 10_000_000
	benchMostConcurrency = 100_000
	benchMostQueues      = 10_000
	benchMostCallers     = 10_000
	benchMostArgs        = 1 << 20
	benchMostBytes       = 1 << 30
)

func (f benchFlags) validate(jobsGiven bool) error {
	switch {
	case f.duration < 0:
		return usagef("--duration is %s: give a positive duration, as 10s", f.duration)
	case f.duration > 0 && jobsGiven:
		return usagef("--jobs %d and --duration %s exclude each other: give one", f.jobs, f.duration)
	case f.jobs < 1 || f.jobs > benchMostJobs:
		return usagef("--jobs is %d: give 1 to %d", f.jobs, benchMostJobs)
	case f.concurrency < 1 || f.concurrency > benchMostConcurrency:
		return usagef("--concurrency is %d: give 1 to %d", f.concurrency, benchMostConcurrency)
	case f.queues < 1 || f.queues > benchMostQueues:
		return usagef("--queues is %d: give 1 to %d", f.queues, benchMostQueues)
	case f.enqueuers < 1 || f.enqueuers > benchMostCallers:
		return usagef("--enqueuers is %d: give 1 to %d", f.enqueuers, benchMostCallers)
	case f.argsBytes < 0 || f.argsBytes > benchMostArgs:
		return usagef("--args-bytes is %d: give 0 to %d", f.argsBytes, benchMostArgs)
	case f.duration == 0 && f.jobs*f.argsBytes > benchMostBytes:
		return usagef("--jobs %d with --args-bytes %d would fill Redis with more than 1 GiB: give fewer", f.jobs,
			f.argsBytes)
	}
	return nil
}

// mostJobs is how many jobs may be stored: those asked for, or as many as fit where the time decides.
func (f benchFlags) mostJobs() int {
	switch {
	case f.duration == 0:
		return f.jobs
	case f.argsBytes == 0:
		return benchMostJobs
	}
	return min(benchMostJobs, benchMostBytes/f.argsBytes)
}

// bench runs the command and prints what came out.
func (a *app) bench(ctx context.Context, f benchFlags, jobsGiven bool) error {
	if err := f.validate(jobsGiven); err != nil {
		return err
	}
	b := &bench{
		benchFlags: f, redis: lasting(a.redis), namespace: a.namespace + "-bench-" + rand.Text()[:10],
		console: newConsole(a), logger: a.logger(f.verbose), hurry: a.hurry,
	}
	found, err := b.run(ctx)
	if err != nil {
		return err
	}
	return found.show(b.console, a.json)
}
