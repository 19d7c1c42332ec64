package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/demo"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// demoFlags are those of the demo alone.
type demoFlags struct {
	all         bool
	kill        bool
	verbose     bool
	stay        bool
	concurrency int
	workers     int
	flaky       int
	scheduled   int
	slow        time.Duration
}

func newDemoCommand(a *cli.App) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Measure every file below a directory by background jobs",
		Long: `demo starts a worker pool, enqueues one job for each regular file below DIR (default: the
present directory), and reads size, lines, words and SHA-256 of each back from Redis. Beside them
run jobs that fail at times and jobs scheduled for later. Then it walks DIR again without any jobs
and compares: exit status 0 means that every result agrees and every job ended well.

Lines are newline characters, as wc -l counts; words are separated by Unicode white space. Symbolic
links are not followed. A file that changes meanwhile is reported as changed, and is a difference if
the job and the walk saw different contents.

The dashboard is served meanwhile, on a free port of this machine; its address, with the token that lets a
browser in, goes to standard error.
With --stay it is there until Ctrl-C, to look at what was done.

Redis is embedded in the program unless --redis names one that is not memory://; then the demo uses
a namespace of its own.`,
		Example: `  work demo
  work demo --all ~/src
  work demo --stay --slow 20ms
  work demo --workers 3 --kill
  work demo --redis redis://localhost:6379/0 --json /etc`,
		Args: cli.AtMost(1, "one directory"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return runDemo(ctx, a, f, dir)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "show every file, by path")
	flags.IntVar(&f.concurrency, "concurrency", 20, "`jobs` that run at the same time, in each process")
	flags.IntVar(&f.workers, "workers", 0,
		"run the jobs in this many child `processes`, not in this one (with --kill: 3)")
	flags.BoolVar(&f.kill, "kill", false, "kill one of the child processes midway (SIGKILL)")
	flags.DurationVar(&f.slow, "slow", 0, "make each job last this much longer (with --kill: 25ms)")
	flags.IntVar(&f.flaky, "flaky", 10, "`jobs` that fail once or twice")
	flags.IntVar(&f.scheduled, "scheduled", 10, "`jobs` for 0.2 to 0.65 seconds later")
	flags.BoolVar(&f.stay, "stay", false, "serve the dashboard until Ctrl-C, not only while the jobs run")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show the log of the worker pool")
	return cmd
}

// withDefaults fills in what --kill needs.
func (f demoFlags) withDefaults() demoFlags {
	if f.kill && f.workers == 0 {
		f.workers = 3
	}
	if f.kill && f.slow == 0 {
		f.slow = 25 * time.Millisecond
	}
	return f
}

func (f demoFlags) validate() error {
	const mostWorkers, mostJobs = 100, 100_000
	switch {
	case f.concurrency < 1 || f.concurrency > mostJobs:
		return exit.Usagef("--concurrency is %d: give 1 to %d", f.concurrency, mostJobs)
	case f.workers < 0 || f.workers > mostWorkers:
		return exit.Usagef("--workers is %d: give 1 to %d, or leave it out", f.workers, mostWorkers)
	case f.kill && f.workers == 1:
		return exit.Usagef("--kill with --workers 1 would leave nobody to run the jobs: give --workers 2 or more")
	case f.slow < 0:
		return exit.Usagef("--slow is %s: give a positive duration, as 25ms", f.slow)
	case f.flaky < 0 || f.flaky > mostJobs:
		return exit.Usagef("--flaky is %d: give 0 to %d", f.flaky, mostJobs)
	case f.scheduled < 0 || f.scheduled > mostJobs:
		return exit.Usagef("--scheduled is %d: give 0 to %d", f.scheduled, mostJobs)
	}
	return nil
}

// runDemo runs the command and prints what came out.
func runDemo(ctx context.Context, a *cli.App, f demoFlags, dir string) error {
	f = f.withDefaults()
	if err := f.validate(); err != nil {
		return err
	}
	page := !a.JSON && !a.Quiet
	if f.stay && !page {
		return exit.Usagef("--stay is for looking at a page whose address --json and --quiet do not print: leave " +
			"them out")
	}
	return demo.Run(ctx, demo.Options{
		Dir: dir, Redis: dsn.Lasting(a.Redis), Namespace: a.Namespace, Concurrency: f.concurrency,
		Workers: f.workers, Kill: f.kill, Slow: f.slow, Flaky: f.flaky, Scheduled: f.scheduled,
		Console: a.Console(), Logger: a.Logger(f.verbose), Hurry: a.Hurry, JSON: a.JSON, All: f.all, Page: page,
		Stay: f.stay,
	})
}

// newWorkerCommand is the command of a demo's child process. It is hidden: its input and output are made for the
// parent.
func newWorkerCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    demo.WorkerCommand,
		Short:  "Run the jobs of a demo, as its child process",
		Hidden: true,
		Args:   cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return demo.RunWorker(ctx, a.In, a.Out, a.Err)
		}),
	}
}
