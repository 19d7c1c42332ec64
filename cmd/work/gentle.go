package main

import "context"

// gently returns a ctx for what goes on step by step: the first Ctrl-C ends it when between is called, at the end of a
// step, so that it is known what was done; the second one at once.
func (a *app) gently(ctx context.Context) (steady context.Context, between, stop func()) {
	steady, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(a.hurry, func() { cancel(errInterrupted) })
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
