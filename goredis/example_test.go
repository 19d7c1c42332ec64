package goredis_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/goredis"
)

func Example() {
	server, err := embedded.Start() // in your program: the Redis that there is
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Connection: goredis.Connection(client),
		Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("greet", work.JobOptions{Retention: time.Hour}, func(whom string) (string, error) {
			return "hello " + whom, nil
		})
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	receipt, err := pool.Enqueuer().Enqueue(ctx, "greet", "ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(work.Wait[string](ctx, pool.Enqueuer(), receipt.ID))
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: hello ada <nil>
}
