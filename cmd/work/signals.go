package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is the cause with which the ctx of a command ends at Ctrl-C.
var errInterrupted = errors.New("interrupted")

// listen returns a ctx that ends at the first SIGINT or SIGTERM and one that ends at the second; a third ends the
// program as if nobody listened. A pipe that nobody reads any more is an error of the write, not a signal: children and
// Redis are to be left in order then, too.
func listen() (ctx, hurry context.Context, stop func()) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	hurry, cancelHurry := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go func() {
		for _, react := range []func(){
			func() { cancel(errInterrupted) },
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
