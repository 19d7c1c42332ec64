// Package cli is what the commands of the program share: the streams and global flags of a call (App), how arguments
// and flags are read, how Redis is reached, and how one thing after the other is done to what was named (Action).
//
// A command in cmd/work makes its cobra.Command with these parts. Nothing here knows of a single command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/inspect"
)

// App is one call of the program: its streams and global flags.
type App struct {
	In       io.Reader
	Out, Err io.Writer

	Redis     string // with a password once a command runs
	Namespace string
	JSON      bool
	NoColor   bool
	Quiet     bool

	RedisPassword, RedisPasswordFile string // to be put into Redis

	Hurry   context.Context     // ends at the second signal
	Columns func(io.Writer) int // instead of asking whether it is a terminal; nil asks
	Path    string              // of the command that runs, "work demo"
	Running bool                // a command has begun, so errors are no longer about flags and arguments
}

// Console is how this call prints.
func (a *App) Console() *console.Console {
	c := console.New(a.Out, a.Err, a.Columns, a.NoColor)
	c.In, c.Quiet, c.JSON, c.Command = a.In, a.Quiet, a.JSON, a.Path
	return c
}

// Runs wraps what a command does, to tell its errors from those of reading the command line.
func (a *App) Runs(do func(context.Context, *cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.Running, a.Path = true, cmd.CommandPath()
		if dsn.HasPassword(a.Redis) {
			a.WarnOfSecret(cmd, "redis", "WORK_REDIS, WORK_REDIS_PASSWORD or --redis-password-file")
		}
		if err := a.addPassword(); err != nil {
			return err
		}
		return do(cmd.Context(), cmd, args)
	}
}

// Status reports err and turns it into an exit status.
func (a *App) Status(err error) int {
	var usage *exit.UsageError
	var unfulfilled *exit.StatusError
	var partial *inspect.PartialError
	switch {
	case err == nil:
		return exit.OK
	case errors.Is(err, interrupt.Err):
		fmt.Fprintln(a.Err, "work:", err)
		return exit.Interrupted
	case !a.Running || errors.As(err, &usage):
		fmt.Fprintln(a.Err, "work:", err)
		return exit.Usage
	case errors.Is(err, syscall.EPIPE):
		return exit.Failure // who read the output has left, and knows
	}
	fmt.Fprintln(a.Err, "work:", err)
	switch {
	case errors.As(err, &unfulfilled):
		return unfulfilled.Status
	case exit.IsMissing(err):
		return exit.NotFound
	case errors.As(err, &partial):
		return exit.Undone
	}
	return exit.Failure
}

// Logger writes to standard error, or nowhere: what went wrong a command says itself.
func (a *App) Logger(verbose bool) *slog.Logger {
	if !verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.Err, nil))
}
