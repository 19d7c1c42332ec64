package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/flows"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/cmd/work/internal/jobs"
	migrate "github.com/265d0351/work/cmd/work/internal/migrate/command"
)

// execute runs the command line and returns the exit status.
func execute(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, hurry, stop := interrupt.Listen()
	defer stop()
	a := &cli.App{In: in, Out: out, Err: errOut, Hurry: hurry}
	return run(ctx, a, args)
}

// run runs the command line of one call.
func run(ctx context.Context, a *cli.App, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(args)
	help := &notedWriter{Writer: a.Out}
	root.SetOut(help)
	err := cli.RefuseEmpty(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if help.err != nil {
		a.Running = true // what was typed is right
		err = fmt.Errorf("cannot write to standard output: %w", help.err)
	}
	return a.Status(err)
}

// notedWriter keeps the first error: help and completion, which cobra writes, drop it or take it for a mistake.
type notedWriter struct {
	io.Writer
	err error
}

func (w *notedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// newRootCommand makes the tree of commands.
func newRootCommand(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "work",
		Short: "Background jobs on Redis",
		Long: `work enqueues background jobs into Redis, shows what becomes of them and puts it in order, shows on a
directory of files how they are run, and measures how fast.

Exit status: 0 success, 1 failure, 2 a mistake in flags or arguments, 3 what was named is not there,
4 a job that was waited for did not end well, 5 some of it was left undone, 130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.KnownCommand,
		RunE:          a.Runs(func(_ context.Context, cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(cli.ExplainFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&a.Redis, "redis", os.Getenv("WORK_REDIS"),
		"`DSN` of Redis, redis://localhost:6379/0 (env WORK_REDIS)")
	flags.StringVar(&a.RedisPasswordFile, "redis-password-file", os.Getenv("WORK_REDIS_PASSWORD_FILE"),
		"`file` with the password of Redis; or set WORK_REDIS_PASSWORD (env WORK_REDIS_PASSWORD_FILE)")
	a.RedisPassword = os.Getenv("WORK_REDIS_PASSWORD")
	flags.StringVar(&a.Namespace, "namespace", cmp.Or(os.Getenv("WORK_NAMESPACE"), "work"),
		"first part of all keys, a `name` (env WORK_NAMESPACE)")
	flags.BoolVar(&a.JSON, "json", false, "print JSON")
	flags.BoolVar(&a.NoColor, "no-color", false, "print without colours (env NO_COLOR)")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print only results and what is wrong")
	flags.Lookup("redis").DefValue = "" // it may hold a password, and help prints defaults
	root.AddCommand(newBenchCommand(a), newDemoCommand(a), newDoctorCommand(a), newEnqueueCommand(a), newUICommand(a),
		newVersionCommand(a), newWorkerCommand(a))
	root.AddCommand(newAlertsCommand(a), newAuditCommand(a), newErrorsCommand(a), flows.NewCommand(a),
		jobs.NewCommand(a),
		newKeysCommand(a), newLimitsCommand(a), migrate.New(a),
		newPartitionsCommand(a), newPauseCommand(a), newPurgeCommand(a),
		newQueuesCommand(a), newResumeCommand(a), newSchedulesCommand(a), newStatsCommand(a), newTopCommand(a),
		newWorkersCommand(a))
	return root
}
