package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/event"
)

func TestStepsAreShownSentToAndForgotten(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	run := func(args ...string) said {
		return call(append(args, "--redis", dsn, "--namespace", "shop")...)
	}
	waits, done := make(chan struct{}, 3), make(chan struct{}, 1)
	options := work.WorkerOptions{Redis: dsn, Namespace: "shop", Logger: slog.New(slog.DiscardHandler),
		Observers: []work.Observer{work.ObserverFunc(func(e event.Event) {
			switch e.(type) {
			case event.JobsSettled:
				waits <- struct{}{}
			case event.JobDone:
				done <- struct{}{}
			}
		})}}
	pool := work.NewWorkerPool(nil, 1, options).Job("import", func(ctx context.Context) error {
		_, err := work.Step(ctx, "charge", func(context.Context) (int, error) { return 3, nil })
		if err == nil {
			_, err = work.Receive[string](ctx, "approval")
		}
		return err
	})
	require.NoError(t, pool.Start(t.Context()))
	t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
	_, err := pool.Enqueuer().With(work.ID("import-7")).Enqueue(t.Context(), "import")
	require.NoError(t, err)
	<-waits

	for _, got := range []said{run("jobs", "show", "import-7"), run("jobs", "steps", "import-7")} {
		assert.Zero(t, got.status, got.err)
		assert.Regexp(t, `charge +step +20`, got.out)
		assert.Contains(t, got.out, `waits for message "approval"`)
	}
	assert.Contains(t, run("jobs", "steps", "import-7", "--json").out, `"value":3`)
	assert.Zero(t, run("jobs", "send", "import-7", "other").status)
	assert.Contains(t, run("jobs", "steps", "import-7").out, "message other of ")
	forgot := run("jobs", "steps", "import-7", "--forget")
	assert.Contains(t, forgot.out, "2 steps forgotten of import-7", forgot.err)
	<-waits
	assert.Equal(t, exit.Usage, run("jobs", "send", "import-7", "approval", "no json").status)
	assert.Equal(t, exit.NotFound, run("jobs", "send", "nobody", "approval").status)
	assert.Zero(t, run("jobs", "send", "import-7", "approval", `"ann"`).status)
	<-done
}
