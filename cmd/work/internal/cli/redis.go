package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	_ "github.com/265d0351/work/goredis" // redis+sentinel:// and redis+cluster://
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
)

// NeedRedis refuses to go on without a Redis that outlives this program.
func (a *App) NeedRedis() error {
	if err := a.addPassword(); err != nil { // a completion runs no command
		return err
	}
	switch {
	case a.Redis == "":
		return exit.Usagef("no Redis is named: give --redis redis://localhost:6379/0 or set WORK_REDIS")
	case dsn.InMemory(a.Redis):
		return exit.Usagef("%s ends with this program, and the job with it: name a Redis that stays", a.Redis)
	}
	return nil
}

// Inspect does something with an inspector, which it closes. Where some partitions of the namespace do not answer to a
// read the others are shown, and the error says so.
func (a *App) Inspect(ctx context.Context, do func(context.Context, *inspect.Inspector) error) error {
	if err := a.NeedRedis(); err != nil {
		return err
	}
	inspector, err := inspect.New(a.Redis, work.Namespace(a.Namespace))
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	asking, missing := partly.Collect(ctx)
	if err = do(asking, inspector); err == nil && missing.Err() != nil {
		err = &exit.StatusError{Status: exit.Undone, Err: missing.Err()}
	}
	if closeErr := inspector.Close(); err == nil {
		err = closeErr
	}
	return Explain(ctx, err)
}

// Force is the flag that goes on where a name is known to nobody.
func Force(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "also for a name that no queue, worker, schedule or limit has yet")
}

// CheckNames refuses names that nothing in Redis has, unless it is forced: they are nearly always misspelt. Where that
// cannot be told, what is to be done tells why.
func CheckNames(ctx context.Context, i *inspect.Inspector, force bool, names ...string) error {
	if force {
		return nil
	}
	var unknown *inspect.UnknownNameError
	if errors.As(i.CheckNames(ctx, names...), &unknown) {
		return exit.Usagef("%w; --force goes on all the same", unknown)
	}
	return nil
}

// Explain tells an interruption, and mistakes in what was typed, from failures.
func Explain(ctx context.Context, err error) error {
	var invalid *work.InvalidError
	var limit *work.LimitError
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), interrupt.Err) && !errors.Is(err, interrupt.Err):
		return interrupt.Err // what broke off says less
	case errors.As(err, &invalid), errors.As(err, &limit):
		return &exit.UsageError{Err: err}
	}
	return err
}

// Enqueuer needs a Redis that outlives this program.
func (a *App) Enqueuer() (*work.Enqueuer, error) {
	if err := a.NeedRedis(); err != nil {
		return nil, err
	}
	enq, err := work.NewEnqueuer(a.Redis, work.Namespace(a.Namespace))
	if err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	return enq, nil
}

// isOwn tells whether an error has to do with the one thing that was named.
func isOwn(err error) bool {
	var state *inspect.StateError
	var far *inspect.TooDeepError
	var cancel *work.CancelError
	var invalid *work.InvalidError
	var lost *inspect.ArgsGoneError
	var twin *work.DuplicateError
	return exit.IsMissing(err) || errors.As(err, &lost) || errors.As(err, &twin) ||
		errors.As(err, &state) || errors.As(err, &far) || errors.As(err, &cancel) ||
		errors.As(err, &invalid)
}
