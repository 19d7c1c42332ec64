package middleware_test

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/middleware"
)

func ExampleCatch() {
	span := func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		err := middleware.Catch(ctx, next, func(gone error) { fmt.Println("it never returned:", gone) })
		fmt.Println("it ended with:", err)
		return err
	}
	_ = span(context.Background(), &work.Job{}, func(context.Context) error { panic("no luck") })
	// Output: it ended with: panic: no luck
}
