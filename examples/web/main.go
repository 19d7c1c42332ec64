// Web is a web server that enqueues jobs, with the worker in the same program.
//
//	go run ./examples/web
//	curl -X POST localhost:8080/orders/42
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
)

// Context is what every job gets a copy of: put a database or a mailer here.
type Context struct{ Warehouse string }

// Ship is the handler of the jobs "ship". Its argument is what Enqueue was given.
func (c *Context) Ship(ctx context.Context, orderID int64) error {
	fmt.Printf("order %d leaves the warehouse in %s\n", orderID, c.Warehouse)
	return nil // an error would mean: try again later
}

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	addr := flag.String("addr", "localhost:8080", "where to listen")
	bound := flag.Duration("for", 0, "stop after this time; 0 is not at all")
	flag.Parse()
	if err := run(*redis, *addr, *bound); err != nil {
		log.Fatal(err)
	}
}

func run(redis, addr string, bound time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if bound > 0 {
		defer time.AfterFunc(bound, cancel).Stop()
	}
	pool := work.NewWorkerPool(Context{Warehouse: "Bremen"}, 10,
		work.WorkerOptions{Redis: redis, Namespace: "example-web"}).
		Job("ship", (*Context).Ship)
	enq := pool.Enqueuer() // shares the pool's connection, and refuses args that Ship could not take

	mux := http.NewServeMux()
	mux.Handle("GET /", pool.HealthHandler()) // /live and /ready, for whoever watches over the program
	mux.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			http.Error(w, "the id of an order is a number", http.StatusBadRequest)
			return
		}
		receipt, err := enq.Enqueue(r.Context(), "ship", id) // stored when there is no error
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, receipt.ID)
	})
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadTimeout: 30 * time.Second} // a client that sends slowly is not waited for
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener); cancel() }()
	fmt.Printf("listening on http://%s\n", listener.Addr())

	err = pool.Run(ctx) // until ctx ends or an interrupt comes, then what runs is finished
	err = errors.Join(err, server.Close())
	if broken := <-served; !errors.Is(broken, http.ErrServerClosed) {
		err = errors.Join(err, broken)
	}
	return err
}
