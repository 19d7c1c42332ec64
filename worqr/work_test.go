package worqr_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

func TestStartWorkOnlyIfStarted(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.producer()
		require.ErrorIs(t, c.StartWork(t.Context(), "q"), worqr.ErrNotStarted)
		require.NoError(t, c.Start(t.Context()))
		require.NoError(t, c.StartWork(t.Context(), "q"))
		require.NoError(t, c.StartWork(t.Context(), "q"), "twice does nothing")
		assert.Equal(t, []string{"q"}, s.set("workingQueues:"+c.Worker()))
	})
}

func TestStartWorkSubscribesAndTellsAtOnceIfTasksWait(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue("q", "a", "b")
		w := s.worker()
		events := s.events(w)
		require.NoError(t, w.StartWork(t.Context(), "q"))
		assert.Equal(t, worqr.Work{Queue: "q", Count: 2}, await(t, events, always[worqr.Work]))
		s.enqueue("q", "c")
		assert.Equal(t, worqr.Work{Queue: "q", Count: 1}, await(t, events, always[worqr.Work]))
	})
}

func TestStopWorkPutsBackOwnTasksOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, other := s.worker("q", "r"), s.worker("q")
		s.enqueue("q", "a", "b", "c", "d")
		s.enqueue("r", "x")
		a := s.start(w, "q")
		b := s.start(other, "q")
		s.start(w, "q")
		x := s.start(w, "r")
		told, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		require.NoError(t, w.StopWork(t.Context(), "q"))
		assert.Equal(t, 2, await(t, told, always[worqr.Work]).Count)
		assert.Equal(t, []string{"a", "c", "d"}, s.waiting("q"))
		assert.ErrorIs(t, cause(a), worqr.ErrProcessEnded)
		assert.Equal(t, []string{"r"}, s.set("workingQueues:"+w.Worker()))
		assert.Equal(t, []string{"r"}, s.set("servedQueues:"+w.Worker()))
		_, err = w.StartTask(t.Context(), "q")
		assert.ErrorAs(t, err, new(*worqr.NotWorkingError))
		require.NoError(t, b.Finish(t.Context(), nil))
		require.NoError(t, x.Finish(t.Context(), nil))
		require.NoError(t, w.StopWork(t.Context(), "q"), "twice does nothing")
		require.NoError(t, w.StartWork(t.Context(), "q"), "and it may begin again")
		assert.Equal(t, "a", string(s.start(w, "q").Task))
	})
}

// TestRequestWork: anybody may ask, also without a worker, and all who listen are told.
func TestRequestWork(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, c := s.worker("q"), s.producer()
		events := s.events(w)
		watched, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		require.NoError(t, c.RequestWork(t.Context(), "q"), "none waits, none is told")
		s.enqueue("q", "a", "b", "c")
		assert.Equal(t, 3, await(t, events, always[worqr.Work]).Count)
		assert.Equal(t, 3, await(t, watched, always[worqr.Work]).Count)
		s.start(w, "q")
		for _, asking := range []*worqr.Client{c, w, s.worker("other")} {
			require.NoError(t, asking.RequestWork(t.Context(), "q"))
			assert.Equal(t, 2, await(t, events, always[worqr.Work]).Count)
			assert.Equal(t, 2, await(t, watched, always[worqr.Work]).Count)
		}
		require.ErrorAs(t, c.RequestWork(t.Context(), ""), new(*worqr.InvalidError))
	})
}

// TestEachTaskToOneWorker: several workers take what is there as fast as they can.
func TestEachTaskToOneWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const tasks = 600
		var mu sync.Mutex
		var got []string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var serving sync.WaitGroup
		for range 3 {
			options := s.options()
			options.Concurrency = 4
			w := s.dial(options)
			require.NoError(t, w.Start(t.Context()))
			serving.Go(func() {
				assert.NoError(t, w.Serve(ctx, "q", func(_ context.Context, p *worqr.Process) ([]byte, error) {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, string(p.Task))
					if len(got) == tasks {
						cancel()
					}
					return nil, nil
				}))
			})
		}
		var all []string
		for i := range tasks {
			all = append(all, fmt.Sprint(i))
		}
		for some := range slices.Chunk(all, 50) {
			s.enqueue("q", some...)
		}
		serving.Wait()
		assert.ElementsMatch(t, all, got)
		assert.Empty(t, s.waiting("q"))
	})
}

// TestWorkIsPushedAndNeverPolledFor: while nothing waits, a worker that serves sends heartbeats and nothing else.
func TestWorkIsPushedAndNeverPolledFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, trips := s.counted()
		told := make(chan string)
		stop := serve(t, w, func(_ context.Context, p *worqr.Process) ([]byte, error) {
			told <- string(p.Task)
			return nil, nil
		})
		s.enqueue("q", "a")
		assert.Equal(t, "a", <-told)
		s.waitBeats(w, 1)
		trips.take() // the looks that found the queue empty
		s.waitBeats(w, 2)
		assert.Empty(t, trips.take())
		s.enqueue("q", "b")
		assert.Equal(t, "b", <-told)
		require.NoError(t, stop())
	})
}

// waitBeats waits for so many heartbeats of a worker.
func (s *site) waitBeats(w *worqr.Client, count int) {
	s.t.Helper()
	timer := s.key("workerTimers:%s", w.Worker())
	for range count {
		s.cmd("PEXPIRE", timer, 2500) // a beat makes it 3000
		require.Eventually(s.t, func() bool { return s.cmd("PTTL", timer).(int64) > 2500 }, patience,
			10*time.Millisecond)
	}
}

// TestASubscriptionIsTakenUpAgain, and what was told meanwhile is looked up.
func TestASubscriptionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c, proxy := s.proxied(s.options(), "q")
		s.enqueue("q", "running")
		p := s.start(c, "q")
		events := s.events(c)
		proxy.Pause()
		s.enqueue("q", "a", "b")
		_, err := s.producer().CancelTasks(t.Context(), "q", []byte("running"))
		require.NoError(t, err)
		proxy.Cut()
		proxy.Resume()
		await(t, events, func(e worqr.Work) bool { return e.Count == 2 })
		<-p.Context().Done()
		assert.ErrorIs(t, cause(p), worqr.ErrCancelled)
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
	})
}

func TestErrorEvents(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c, proxy := s.proxied(s.options(), "q")
		events := s.events(c)
		proxy.Cut()
		assert.Error(t, await(t, events, func(e worqr.Failed) bool { return e.Queue == "q" }).Err)
	})
}

func TestASlowReaderOfEventsMissesTheOldest(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.EventBuffer = 2
		w := s.workerOf(options, "q")
		slow, prompt := s.events(w), s.events(w)
		for i := range 5 {
			s.enqueue("q", make([]string, i+1)...)
			await(t, prompt, func(e worqr.Work) bool { return e.Count == i+1 })
		}
		var got []worqr.Event
		for e := range slow {
			if got = append(got, e); len(got) == 3 {
				break
			}
		}
		assert.Equal(t, []worqr.Event{worqr.Missed{Count: 3}, worqr.Work{Queue: "q", Count: 4},
			worqr.Work{Queue: "q", Count: 5}}, got)
	})
}

func TestEventsEndWithTheirContextAndWithTheClient(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		ctx, cancel := context.WithCancel(t.Context())
		watched, err := w.Watch(ctx, "r")
		require.NoError(t, err)
		own, untilClose := w.Events(ctx), w.Events(t.Context())
		cancel()
		for range watched {
			assert.Fail(t, "nothing was told")
		}
		for range own {
			assert.Fail(t, "nothing was told")
		}
		_, err = w.Watch(ctx, "r")
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, w.Close())
		for range untilClose {
			assert.Fail(t, "nothing was told")
		}
		_, err = w.Watch(t.Context(), "r")
		assert.ErrorIs(t, err, worqr.ErrClosed)
	})
}
