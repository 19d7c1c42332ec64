package worqr_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// TestCloseMeetsEverythingElse: whatever is under way ends, and nothing is left behind.
func TestCloseMeetsEverythingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for range 20 {
			c, err := worqr.Dial(s.server.DSN(), s.options())
			require.NoError(t, err)
			require.NoError(t, c.Start(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			begin := make(chan struct{})
			var under sync.WaitGroup
			for _, call := range []func(){
				func() { _ = c.StartWork(ctx, "q") },
				func() { _ = c.StopWork(ctx, "q") },
				func() { _, _ = c.StartTask(ctx, "q") },
				func() { _ = c.Enqueue(ctx, "q", []byte("t")) },
				func() { _, _ = c.Watch(ctx, "q") },
				func() {
					_ = c.Serve(ctx, "q", func(context.Context, *worqr.Process) ([]byte, error) { return nil, nil })
				},
				func() { assert.NoError(t, c.Close()) },
				func() { assert.NoError(t, c.Close()) },
			} {
				under.Go(func() {
					<-begin
					call()
				})
			}
			close(begin)
			under.Wait()
			cancel()
			require.NoError(t, c.Close())
		}
		assert.Empty(t, s.set("workers"))
		assert.Empty(t, s.keys("processes:*"))
	})
}

// TestRedisAwayForLongerThanATimerStands: the worker has lapsed, learns of it when Redis is back, and starts anew.
func TestRedisAwayForLongerThanATimerStands(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.HeartbeatEvery, options.HeartbeatLife = 50*time.Millisecond, 400*time.Millisecond
		c, proxy := s.proxied(options, "q")
		events := s.events(c)
		s.enqueue("q", "a")
		p := s.start(c, "q")
		proxy.Pause()
		require.Eventually(t, func() bool { return !s.exists("workerTimers:" + c.Worker()) }, patience,
			10*time.Millisecond)
		proxy.Resume()
		await(t, events, always[worqr.Lapsed])
		await(t, events, always[worqr.Restarted])
		assert.ErrorIs(t, cause(p), worqr.ErrLapsed)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
	})
}

// TestAWorkerThatCannotReachRedisStopsWorking when its timer may have run out, and not when it hears of that.
func TestAWorkerThatCannotReachRedisStopsWorking(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.HeartbeatEvery, options.HeartbeatLife = 50*time.Millisecond, 400*time.Millisecond
		c, proxy := s.proxied(options, "q")
		events := s.events(c)
		s.enqueue("q", "a")
		p := s.start(c, "q")
		proxy.Pause()
		assert.Equal(t, c.Worker(), await(t, events, always[worqr.Lapsed]).Worker)
		assert.ErrorIs(t, cause(p), worqr.ErrLapsed)
		proxy.Resume()
		await(t, events, always[worqr.Restarted])
		assert.Equal(t, []string{"a"}, s.waiting("q"))
		assert.Equal(t, "a", string(s.start(c, "q").Task))
	})
}
