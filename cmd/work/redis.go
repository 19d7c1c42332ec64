package main

import (
	"context"
	"errors"

	"github.com/265d0351/work"
)

// needRedis refuses to go on without a Redis that outlives this program.
func (a *app) needRedis() error {
	switch {
	case a.redis == "":
		return usagef("no Redis is named: give --redis redis://localhost:6379/0 or set WORK_REDIS")
	case inMemory(a.redis):
		return usagef("%s ends with this program, and the job with it: name a Redis that stays", a.redis)
	}
	return nil
}

// inspect does something with an inspector, which it closes.
func (a *app) inspect(ctx context.Context, do func(context.Context, *work.Inspector) error) error {
	if err := a.needRedis(); err != nil {
		return err
	}
	inspector, err := work.NewInspector(a.redis, work.Namespace(a.namespace))
	if err != nil {
		return &usageError{err: err}
	}
	err = do(ctx, inspector)
	if closeErr := inspector.Close(); err == nil {
		err = closeErr
	}
	return explain(ctx, err)
}

// explain tells an interruption, and mistakes in what was typed, from failures.
func explain(ctx context.Context, err error) error {
	var invalid *work.InvalidError
	var limit *work.LimitError
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errInterrupted) && !errors.Is(err, errInterrupted):
		return errInterrupted // what broke off says less
	case errors.As(err, &invalid), errors.As(err, &limit):
		return &usageError{err: err}
	}
	return err
}
