package main

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
)

func TestNamesThatShareAQueueAreShown(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	options, handle := work.JobOptions{Queue: "mail"}, func() error { return nil }
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: dsn, Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("welcome", options, handle).JobWithOptions("bill", options, handle).Job("sync", handle)
	require.NoError(t, pool.Start(context.Background()))
	require.NoError(t, pool.Stop(context.Background()))
	for _, name := range []string{"welcome", "bill", "bill", "sync"} {
		require.Zero(t, call("enqueue", "--redis", dsn, name, "--in", "0s").status)
	}
	shown := ""
	for _, args := range [][]string{{"queues"}, {"queues", "mail"}, {"queues", "bill"}} {
		shown += call(append(args, "--redis", dsn)...).out
	}
	moments := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?|\d+m?s( ago)?|just now|now`)
	shown = moments.ReplaceAllString(shown, "TIME")
	clitest.Golden(t, "queues-shared", regexp.MustCompile(` +`).ReplaceAllString(shown, " "))
	assert.Contains(t, call("queues", "mail", "--json", "--redis", dsn).out, `"names":["bill","welcome"]`)
}
