package lifecycle

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func untilDone(ctx context.Context) { <-ctx.Done() }

func TestStopEndsTheLoop(t *testing.T) {
	t.Parallel()
	l := &Loop{Run: untilDone}
	l.Start(t.Context())
	l.Start(t.Context())
	l.Stop()
	l.Stop()
	<-l.Done()
}

func TestCtxEndsTheLoop(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := &Loop{Run: untilDone}
	l.Start(ctx)
	cancel()
	<-l.Done()
	l.Stop()
}

func TestStopBeforeStartNeverStarts(t *testing.T) {
	t.Parallel()
	l := &Loop{Run: func(context.Context) { t.Error("it ran") }}
	l.Stop()
	<-l.Done()
	l.Start(t.Context())
	<-l.Done()
}

func TestPanicIsToldAndTheLoopGoesOn(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	var told []any
	again := make(chan struct{})
	l := &Loop{
		Run: func(ctx context.Context) {
			if runs.Add(1) == 1 {
				panic("first")
			}
			close(again)
			<-ctx.Done()
		},
		Panic:   func(value any, stack string) { told = append(told, value); assert.NotEmpty(t, stack) },
		Restart: func(int) time.Duration { return 0 },
	}
	l.Start(t.Context())
	<-again
	l.Stop()
	<-l.Done()
	assert.Equal(t, []any{"first"}, told)
}

func TestPanicWithoutRestartEndsTheLoop(t *testing.T) {
	t.Parallel()
	l := &Loop{Run: func(context.Context) { panic("only") }}
	l.Start(t.Context())
	<-l.Done()
}

func TestStopWhileWaitingForTheRestart(t *testing.T) {
	t.Parallel()
	panicked := make(chan struct{})
	l := &Loop{
		Run:     func(context.Context) { panic("x") },
		Panic:   func(any, string) { close(panicked) },
		Restart: func(int) time.Duration { return time.Hour },
	}
	l.Start(t.Context())
	<-panicked
	l.Stop()
	<-l.Done()
}

// TestAnyOrderOfCalls is the stress that every loop of the framework relies on.
func TestAnyOrderOfCalls(t *testing.T) {
	t.Parallel()
	for range 200 {
		l := &Loop{Run: untilDone}
		var calls sync.WaitGroup
		for _, call := range []func(){func() { l.Start(t.Context()) }, l.Stop, l.Stop, func() { l.Start(t.Context()) },
			func() { <-l.Done() }} {
			calls.Go(call)
		}
		calls.Wait()
		<-l.Done()
	}
}

func TestGoexitIsSurvived(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	again := make(chan struct{})
	l := &Loop{
		Run: func(ctx context.Context) {
			if runs.Add(1) < 3 {
				runtime.Goexit()
			}
			close(again)
			<-ctx.Done()
		},
		Panic:   func(value any, _ string) { t.Errorf("it is no panic: %v", value) },
		Restart: func(int) time.Duration { return time.Millisecond },
	}
	l.Start(t.Context())
	<-again
	l.Stop()
	<-l.Done()
}

func TestGoexitEndsTheLoop(t *testing.T) {
	t.Parallel()
	t.Run("without restart", func(t *testing.T) {
		t.Parallel()
		l := &Loop{Run: func(context.Context) { runtime.Goexit() }}
		l.Start(t.Context())
		<-l.Done()
	})
	t.Run("when it is stopped", func(t *testing.T) {
		t.Parallel()
		l := &Loop{
			Run:     func(ctx context.Context) { <-ctx.Done(); runtime.Goexit() },
			Restart: func(int) time.Duration { t.Error("it was restarted"); return 0 },
		}
		l.Start(t.Context())
		l.Stop()
		<-l.Done()
	})
}
