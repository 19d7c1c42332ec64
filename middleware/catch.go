package middleware

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
)

// Catch calls next for a middleware that has to see how every attempt ends. A panic is returned as a *work.PanicError
// with its stack, as which the pool takes it anyway. Where the goroutine of the job ends, by runtime.Goexit, Catch does
// not return: it then calls exiting with a *work.GoexitError.
func Catch(ctx context.Context, next work.NextFunc, exiting func(error)) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			err = &work.PanicError{Value: value, Stack: excerpt.PanicStack()}
			return
		}
		exiting(&work.GoexitError{})
	}()
	err = next(ctx)
	returned = true
	return err
}
