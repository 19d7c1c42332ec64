// Unique has jobs of which one lives at a time, and jobs of which so many run at once.
//
//	go run ./examples/unique
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
)

// site is the context of the jobs. A pointer in it is shared by all of them.
type site struct{ open, most *atomic.Int64 }

// Reindex is unique: while one waits or runs for a shop, another one for that shop is not stored.
func (s *site) Reindex(shop string) error {
	fmt.Println("reindexed", shop)
	return nil
}

// Download is limited: over all workers of the namespace, two run at once.
func (s *site) Download(page int) error {
	now := s.open.Add(1)
	defer s.open.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(30 * time.Millisecond) // the work
	return nil
}

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	flag.Parse()
	if err := run(context.Background(), *redis); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, redis string) error {
	s := site{open: &atomic.Int64{}, most: &atomic.Int64{}}
	pool := work.NewWorkerPool(s, 10, work.WorkerOptions{Redis: redis, Namespace: "example-unique"}).
		JobWithOptions("reindex", work.JobOptions{Unique: &work.UniqueOptions{}}, (*site).Reindex).
		JobWithOptions("download", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, (*site).Download)
	enq := pool.Enqueuer()
	for _, shop := range []string{"books", "books", "games", "books"} {
		receipt, err := enq.Enqueue(ctx, "reindex", shop) // before the start: the jobs wait
		if err != nil {
			return err
		}
		if receipt.Duplicate { // receipt.ID is that of the one that lives
			fmt.Println(shop, "will be reindexed already")
		}
	}
	pages := make([]work.Entry, 20)
	for i := range pages {
		pages[i] = work.Entry{Name: "download", Args: []any{i}}
	}
	if _, err := enq.EnqueueMany(ctx, pages); err != nil { // in one round trip
		return err
	}
	if err := pool.Start(ctx); err != nil {
		return err
	}
	if err := pool.Drain(ctx); err != nil { // until nothing is left; a service would call pool.Run
		return err
	}
	fmt.Println("20 pages, at most", s.most.Load(), "at once")
	return pool.Stop(ctx)
}
