package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/265d0351/work"
)

// The exit statuses of the program.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2   // what was typed cannot be done as it stands
	exitNotFound    = 3   // nothing of what was named is there
	exitUnhappy     = 4   // a job that was waited for did not end well
	exitUndone      = 5   // some of what was asked for was left undone
	exitInterrupted = 130 // Ctrl-C, as shells count it
)

// app is one call of the program: its streams and global flags.
type app struct {
	in       io.Reader
	out, err io.Writer

	redis     string
	namespace string
	json      bool
	noColor   bool
	quiet     bool

	hurry   context.Context     // ends at the second signal
	columns func(io.Writer) int // instead of asking whether it is a terminal; nil asks
	path    string              // of the command that runs, "work demo"
	running bool                // a command has begun, so errors are no longer about flags and arguments
}

// execute runs the command line and returns the exit status.
func execute(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, hurry, stop := listen()
	defer stop()
	a := &app{in: in, out: out, err: errOut, hurry: hurry}
	return a.execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	return a.status(root.ExecuteContext(ctx))
}

// command makes the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "work",
		Short: "Background jobs on Redis",
		Long: `work enqueues background jobs into Redis, shows what becomes of them and puts it in order, shows on a
directory of files how they are run, and measures how fast.

Exit status: 0 success, 1 failure, 2 a mistake in flags or arguments, 3 what was named is not there,
4 a job that was waited for did not end well, 5 some of it was left undone, 130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.knownCommand,
		RunE:          a.runs(func(_ context.Context, cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(explainFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&a.redis, "redis", os.Getenv("WORK_REDIS"),
		"`DSN` of Redis, redis://localhost:6379/0 (env WORK_REDIS)")
	flags.StringVar(&a.namespace, "namespace", fallback(os.Getenv("WORK_NAMESPACE"), "work"),
		"first part of all keys, a `name` (env WORK_NAMESPACE)")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.BoolVar(&a.noColor, "no-color", false, "print without colours (env NO_COLOR)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print nothing but what is wrong")
	flags.Lookup("redis").DefValue = "" // it may hold a password, and help prints defaults
	root.AddCommand(newBenchCommand(a), newDemoCommand(a), newDoctorCommand(a), newEnqueueCommand(a), newUICommand(a),
		newVersionCommand(a), newWorkerCommand(a))
	root.AddCommand(newErrorsCommand(a), newJobsCommand(a), newLimitsCommand(a), newPauseCommand(a), newPurgeCommand(a),
		newQueuesCommand(a), newResumeCommand(a), newSchedulesCommand(a), newStatsCommand(a), newTopCommand(a),
		newWorkersCommand(a))
	return root
}

// atMost refuses more than n arguments, saying what they are.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return fmt.Errorf("%s takes %s, but here are %d arguments, from %q to %q", cmd.CommandPath(), what, len(args),
			args[0], args[len(args)-1])
	}
}

// runs wraps what a command does, to tell its errors from those of reading the command line.
func (a *app) runs(do func(context.Context, *cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running, a.path = true, cmd.CommandPath()
		return do(cmd.Context(), cmd, args)
	}
}

// knownCommand refuses arguments of a command that has others below it: they can only be misspelt ones.
func (a *app) knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q: did you mean \"%s\"?", args[0], strings.Join(near, `" or "`))
	}
	return fmt.Errorf("there is no command %q: `%s --help` lists them", args[0], cmd.CommandPath())
}

// explainFlag adds a remedy to what cobra says of a flag it does not know, or of its value.
func explainFlag(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if want, ok := wanted[wrong.GetFlag().Value.Type()]; ok {
			return fmt.Errorf("--%s is %q: give %s", wrong.GetFlag().Name, wrong.GetValue(), want)
		}
	}
	text := err.Error()
	if at := strings.Index(text, "unknown shorthand flag: '"); at >= 0 {
		if c := text[at+len("unknown shorthand flag: '")]; c >= '0' && c <= '9' {
			return fmt.Errorf("%w: put -- before arguments that begin with a minus", err)
		}
	}
	return fmt.Errorf("%w: `%s --help` lists the flags", err, cmd.CommandPath())
}

// wanted is what to give for a flag of each type.
var wanted = map[string]string{
	"int":      "a whole number, as 42, of at most 64 bits",
	"int64":    "a whole number, as 42, of at most 64 bits",
	"duration": "a duration, as 90s or 2h",
	"span":     "a duration, as 90s, 2h or 7d",
	"bool":     "true or false",
}

// status reports err and turns it into an exit status.
func (a *app) status(err error) int {
	var usage *usageError
	var unfulfilled *unfulfilledError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(a.err, "work:", err)
		return exitInterrupted
	case !a.running || errors.As(err, &usage):
		fmt.Fprintln(a.err, "work:", err)
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitFailure // who read the output has left, and knows
	}
	fmt.Fprintln(a.err, "work:", err)
	switch {
	case errors.As(err, &unfulfilled):
		return unfulfilled.status
	case isMissing(err):
		return exitNotFound
	}
	return exitFailure
}

// usageError is a mistake in what was typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// unfulfilledError is an end that is not what was asked for, with an exit status that tells which.
type unfulfilledError struct {
	status int
	err    error
}

func (e *unfulfilledError) Error() string { return e.err.Error() }

func (e *unfulfilledError) Unwrap() error { return e.err }

// isMissing tells whether something that was named is not there.
func isMissing(err error) bool {
	for _, missing := range []error{work.ErrNotFound, work.ErrNoQueue, work.ErrNoWorker, work.ErrNoSchedule,
		work.ErrGone} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

// inMemory recognizes the DSN of a Redis that lives in one process and ends with it.
func inMemory(dsn string) bool {
	scheme, _, found := strings.Cut(dsn, ":")
	return found && strings.EqualFold(scheme, "memory")
}

// fallback is value, or other where there is none.
func fallback(value, other string) string {
	if value == "" {
		return other
	}
	return value
}
