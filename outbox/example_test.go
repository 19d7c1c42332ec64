package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/outbox"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "outbox-example-")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	box, err := outbox.New(outbox.SQLite)
	check(err)
	check(box.Migrate(ctx, db))

	sent := make(chan int)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://outbox-example",
		Logger: slog.New(slog.DiscardHandler)}).
		Job("send_invoice", func(order int) error {
			sent <- order
			return nil
		})
	check(pool.Start(ctx))
	relay, err := box.Relay(db, pool.Enqueuer(), outbox.RelayOptions{})
	check(err)
	ended := make(chan error)
	go func() { ended <- relay.Run(ctx) }()

	for order := range 3 {
		tx, err := db.BeginTx(ctx, nil)
		check(err)
		_, err = box.EnqueueOrdered(ctx, tx, "invoices", work.Entry{Name: "send_invoice", Args: []any{order}})
		check(err)
		if order == 1 { // the customer has no money
			check(tx.Rollback())
			continue
		}
		check(tx.Commit())
		box.Wake()
	}
	fmt.Println("invoice of order", <-sent)
	fmt.Println("invoice of order", <-sent)
	cancel()
	check(<-ended)
	check(pool.Stop(context.Background()))
	// Output:
	// invoice of order 0
	// invoice of order 2
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
