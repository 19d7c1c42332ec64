// Package interrupt is how the program takes Ctrl-C: the first one ends the work in good order, the second one at once.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Err is the cause with which the ctx of a command ends at Ctrl-C.
var Err = errors.New("interrupted")

// Listen returns a ctx that ends at the first SIGINT or SIGTERM and one that ends at the second; a third ends the
// program as if nobody listened. A pipe that nobody reads any more is an error of the write, not a signal: children and
// Redis are to be left in order then, too.
func Listen() (ctx, hurry context.Context, stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	hurry, cancelHurry := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		for _, react := range []func(){
			func() { cancel(Err) },
			func() { cancelHurry(); signal.Stop(signals) },
		} {
			select {
			case <-signals:
				react()
			case <-over:
				return
			}
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
		cancelHurry()
	}
}

// Gently returns a ctx for what goes on step by step: the first Ctrl-C ends it when between is called, at the end of a
// step, so that it is known what was done; the second one at once.
func Gently(ctx, hurry context.Context) (steady context.Context, between, stop func()) {
	steady, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(hurry, func() { cancel(Err) })
	between = func() {
		if cause := context.Cause(ctx); cause != nil {
			cancel(cause)
		}
	}
	return steady, between, func() {
		forget()
		cancel(nil)
	}
}

// Cause is what broke something off: Ctrl-C where it was that.
func Cause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), Err) {
		return Err
	}
	return err
}
