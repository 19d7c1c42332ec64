package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
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

func newDemoCommand(a *app) *cobra.Command {
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
		Args: atMost(1, "one directory"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.demo(ctx, f, dir)
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
		return usagef("--concurrency is %d: give 1 to %d", f.concurrency, mostJobs)
	case f.workers < 0 || f.workers > mostWorkers:
		return usagef("--workers is %d: give 1 to %d, or leave it out", f.workers, mostWorkers)
	case f.kill && f.workers == 1:
		return usagef("--kill with --workers 1 would leave nobody to run the jobs: give --workers 2 or more")
	case f.slow < 0:
		return usagef("--slow is %s: give a positive duration, as 25ms", f.slow)
	case f.flaky < 0 || f.flaky > mostJobs:
		return usagef("--flaky is %d: give 0 to %d", f.flaky, mostJobs)
	case f.scheduled < 0 || f.scheduled > mostJobs:
		return usagef("--scheduled is %d: give 0 to %d", f.scheduled, mostJobs)
	}
	return nil
}

// demo runs the command and prints what came out.
func (a *app) demo(ctx context.Context, f demoFlags, dir string) error {
	f = f.withDefaults()
	if err := f.validate(); err != nil {
		return err
	}
	page := !a.json && !a.quiet
	if f.stay && !page {
		return usagef("--stay is for looking at a page whose address --json and --quiet do not print: leave them out")
	}
	path, err := openDir(dir)
	if err != nil {
		return err
	}
	d := &demo{
		dir: path, redis: lasting(a.redis), namespace: freshNamespace(a.namespace), concurrency: f.concurrency,
		workers: f.workers, kill: f.kill, slow: f.slow, flaky: f.flaky, scheduled: f.scheduled,
		console: newConsole(a), logger: a.logger(f.verbose), hurry: a.hurry, page: page, stay: f.stay,
	}
	d.present = func(out *outcome) error { return out.show(d, a.json, f.all) }
	_, err = d.run(ctx)
	return err
}

// lasting is the DSN, or "" if that of a Redis within one process: child processes would each get their own, and what
// is in it is gone with the program. The demo's embedded one serves the same purpose, and them as well.
func lasting(dsn string) string {
	if inMemory(dsn) {
		return ""
	}
	return dsn
}

// logger writes to standard error, or nowhere: what went wrong the demo says itself.
func (a *app) logger(verbose bool) *slog.Logger {
	if !verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.err, nil))
}
