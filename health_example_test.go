package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
)

func ExampleWorkerPool_HealthHandler() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("health")).Job("export", func() error { return nil })
	handler := pool.HealthHandler() // http.ListenAndServe("localhost:8081", handler)
	ask := func() {
		for _, path := range []string{"/live", "/ready"} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
			fmt.Print(path, " ", answer.Code, " ", answer.Body)
		}
	}
	ask()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer stop(ctx, pool)
	ask()
	// Output:
	// /live 200 {"status":"ok"}
	// /ready 503 {"status":"failed","problems":[{"component":"pool","error":"the worker pool is not started: call Start or Run first"}]}
	// /live 200 {"status":"ok"}
	// /ready 200 {"status":"ok"}
}

func ExampleWorkerPool_Healthy() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("healthy")).Job("export", func() error { return nil })
	err := pool.Healthy(ctx)
	var unhealthy *work.UnhealthyError
	if errors.As(err, &unhealthy) {
		for _, problem := range unhealthy.Problems {
			fmt.Println(problem.Component, "|", problem.Err)
		}
	}
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer stop(ctx, pool)
	fmt.Println(pool.Healthy(ctx))
	// Output:
	// pool | the worker pool is not started: call Start or Run first
	// <nil>
}
