// Command bench measures this library and its peers side by side: the same scenarios in one run, the libraries taking
// turns, several rounds, one table. See docs/performance.md.
//
//	go run . --quick                      everything, in under ten minutes
//	go run .                              everything, with more jobs and rounds
//	go run . --quick --only 'idle|process' --lib work,asynq
//	go run . --drivers                    clients of Redis below this library, side by side
//	go run . --own                        a peer's own benchmark beside our adapter for it
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
