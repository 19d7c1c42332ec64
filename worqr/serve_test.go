package worqr_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// serve runs Serve until the test, or the function it returns, ends it.
func serve(t *testing.T, w *worqr.Client, handler worqr.Handler) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, "q", handler) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker()
		told, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		s.enqueue("q", "before")
		stop := serve(t, w, func(_ context.Context, p *worqr.Process) ([]byte, error) {
			return append([]byte("did "), p.Task...), nil
		})
		assert.JSONEq(t, `"did before"`, string(await(t, told, always[worqr.Done]).Result))
		s.enqueue("q", "after")
		assert.JSONEq(t, `"did after"`, string(await(t, told, always[worqr.Done]).Result))
		require.NoError(t, stop())
		assert.Empty(t, s.set("workingQueues:"+w.Worker()))
	})
}

func TestServePutsBackWhatFails(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]worqr.Handler{
		"an error": func(context.Context, *worqr.Process) ([]byte, error) { return nil, errors.New("broken") },
		"a panic":  func(context.Context, *worqr.Process) ([]byte, error) { panic("broken") },
		"Goexit": func(context.Context, *worqr.Process) ([]byte, error) {
			runtime.Goexit()
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker()
				events := s.events(w)
				tries := 0
				stop := serve(t, w, func(ctx context.Context, p *worqr.Process) ([]byte, error) {
					if tries++; tries < 3 {
						return failing(ctx, p)
					}
					return nil, nil
				})
				s.enqueue("q", "a")
				for range 2 {
					assert.Regexp(t, "broken|Goexit", await(t, events, always[worqr.Failed]).Err.Error())
				}
				await(t, events, always[worqr.Done])
				require.NoError(t, stop())
				assert.Equal(t, 3, tries)
				assert.Empty(t, s.waiting("q"))
			})
		})
	}
}

func TestServeEndsTheHandlerOfACancelledTask(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker()
		begun, why := make(chan struct{}), make(chan error, 1)
		stop := serve(t, w, func(ctx context.Context, _ *worqr.Process) ([]byte, error) {
			close(begun)
			<-ctx.Done()
			why <- context.Cause(ctx)
			return nil, ctx.Err()
		})
		s.enqueue("q", "a")
		<-begun
		_, err := s.producer().CancelTasks(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.ErrorIs(t, <-why, worqr.ErrCancelled)
		require.NoError(t, stop())
		assert.Empty(t, s.waiting("q"), "it is not put back")
		assert.Empty(t, s.keys("processes:*"))
	})
}

func TestServeGoesOnAfterALapse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker()
		begun, why := make(chan string, 4), make(chan error, 4)
		stop := serve(t, w, func(ctx context.Context, p *worqr.Process) ([]byte, error) {
			begun <- p.ID
			if p.ID != "" && len(why) == 0 {
				<-ctx.Done()
				why <- context.Cause(ctx)
			}
			return nil, nil
		})
		told, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		s.enqueue("q", "a")
		<-begun
		s.lapse(w.Worker())
		<-begun
		await(t, told, always[worqr.Done])
		assert.ErrorIs(t, <-why, worqr.ErrLapsed)
		require.NoError(t, stop())
		assert.Empty(t, s.waiting("q"))
	})
}

func TestServeOfAClosedClient(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker()
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- w.Serve(context.Background(), "q", func(ctx context.Context, _ *worqr.Process) ([]byte, error) {
				close(begun)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
		}()
		s.enqueue("q", "a")
		<-begun
		second := make(chan error, 1)
		go func() {
			second <- w.Serve(context.Background(), "q",
				func(context.Context, *worqr.Process) ([]byte, error) { return nil, nil })
		}()
		assert.ErrorIs(t, <-second, worqr.ErrServed)
		require.NoError(t, w.Close())
		assert.ErrorIs(t, <-ended, worqr.ErrClosed)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
	})
}

// TestCloseKeepsTheWorkerAliveUntilHandlersHaveReturned: nobody else gets a task that a handler winds down.
func TestCloseKeepsTheWorkerAliveUntilHandlersHaveReturned(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.HeartbeatEvery, options.HeartbeatLife = 5*time.Millisecond, time.Hour
		w := s.workerOf(options)
		begun, winding, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- w.Serve(context.Background(), "q", func(ctx context.Context, _ *worqr.Process) ([]byte, error) {
				close(begun)
				<-ctx.Done()
				close(winding)
				<-release
				return nil, nil
			})
		}()
		s.enqueue("q", "a")
		<-begun
		closed := make(chan error, 1)
		go func() { closed <- w.Close() }()
		<-winding
		timer := s.key("workerTimers:%s", w.Worker())
		s.cmd("PEXPIRE", timer, 60_000)
		assert.Eventually(t, func() bool { return s.cmd("PTTL", timer).(int64) > 60_000 }, patience, 5*time.Millisecond,
			"it is renewed")
		close(release)
		require.NoError(t, <-closed)
		assert.ErrorIs(t, <-ended, worqr.ErrClosed)
		assert.Empty(t, s.waiting("q"), "what the handler has done counts")
		assert.Empty(t, s.set("workers"))
	})
}
