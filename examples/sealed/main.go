// Sealed has jobs whose args and results nobody can read in Redis, and keys that rotate while jobs wait.
//
//	go run ./examples/sealed
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"maps"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/seal"
)

func charge(ctx context.Context, card Card) (string, error) {
	return "charged the card that ends in " + card.Number[len(card.Number)-4:], nil
}

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	flag.Parse()
	if err := run(context.Background(), *redis); err != nil {
		log.Fatal(err)
	}
}

// newKey makes a key. A program has its keys from where its secrets are: see seal.ReadKeys.
func newKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) //lint:ignore errcheck it ends the program rather than return an error
	return key
}

func run(ctx context.Context, redis string) error {
	keys := seal.Keys{Seal: "2026-05", Known: map[string][]byte{"2026-05": newKey()}}
	rotated := seal.Keys{Seal: "2026-11", Known: maps.Clone(keys.Known)}
	rotated.Known["2026-11"] = newKey()
	sealer, err := seal.New(rotated) // the workers know both
	if err != nil {
		return err
	}
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: redis, Namespace: "example-sealed",
		Codecs: []work.Codec{sealer}}).JobWithOptions("charge", work.JobOptions{Retention: time.Hour}, charge)
	defer pool.Stop(ctx) //lint:ignore errcheck nothing is left to stop
	var ids []string
	for _, has := range []seal.Keys{keys, rotated} {
		id, err := enqueue(ctx, redis, has, "4929 1234 5678 9012")
		if err != nil {
			return err
		}
		job, err := inspect.Of(pool).Job(ctx, id)
		if err != nil {
			return err
		}
		text, _ := inspect.Encoded(job.Args)
		fmt.Println("in Redis:", text)
		ids = append(ids, id)
	}
	if err := pool.Start(ctx); err != nil {
		return err
	}
	results, err := work.WaitAll[string](ctx, pool.Enqueuer(), ids...)
	if err != nil {
		return err
	}
	for _, result := range results {
		fmt.Println(result)
	}
	return nil
}
