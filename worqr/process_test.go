package worqr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ids"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/worqr"
)

func TestStartTask(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a", "b")
		p := s.start(w, "q")
		assert.Equal(t, "a", string(p.Task))
		assert.Regexp(t, `^q_[0-9a-f-]{36}$`, p.ID)
		assert.Equal(t, []string{"a"}, texts(s.cmd("LRANGE", s.key("processes:%s", p.ID), 0, -1)))
		assert.Equal(t, []string{p.ID}, texts(s.cmd("SMEMBERS", s.key("workingProcesses:%s:q", w.Worker()))))
		assert.Equal(t, []string{"b"}, s.waiting("q"))
	})
}

func TestStartTaskIsRefusedWithoutStartWork(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue("q", "a")
		_, err := s.producer().StartTask(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrNotStarted)
		w := s.worker()
		var refused *worqr.NotWorkingError
		_, err = w.StartTask(t.Context(), "q")
		require.ErrorAs(t, err, &refused)
		require.NoError(t, w.StartWork(t.Context(), "q"))
		s.cmd("SREM", s.key("workingQueues:%s", w.Worker()), "q") // Redis has the last word
		_, err = w.StartTask(t.Context(), "q")
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
	})
}

func TestStartTaskLeavesNothingBehindWhenTheQueueIsEmpty(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		before := s.keys("*")
		_, err := w.StartTask(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrEmpty)
		assert.ElementsMatch(t, before, s.keys("*"))
	})
}

func TestStopTaskGoesToTheFrontAndPeersAreTold(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, peer := s.worker("q"), s.worker("q")
		s.enqueue("q", "a", "b")
		p := s.start(w, "q")
		told, err := peer.Watch(t.Context(), "q")
		require.NoError(t, err)
		require.NoError(t, w.StopTask(t.Context(), p.ID))
		assert.Equal(t, 1, await(t, told, always[worqr.Work]).Count)
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
		assert.Empty(t, s.keys("processes:*"))
		assert.Empty(t, s.keys("workingProcesses:*"))
		assert.ErrorIs(t, cause(p), worqr.ErrProcessEnded)
		assert.ErrorIs(t, w.StopTask(t.Context(), p.ID), worqr.ErrProcessGone)
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
	})
}

func TestFinishTask(t *testing.T) {
	t.Parallel()
	for name, result := range map[string][]byte{"without result": nil, "with result": []byte("r"),
		"with an empty result": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker("q")
				s.enqueue("q", "a")
				told, err := s.producer().Watch(t.Context(), "q")
				require.NoError(t, err)
				p := s.start(w, "q")
				require.NoError(t, w.FinishTask(t.Context(), p.ID, result))
				done := await(t, told, always[worqr.Done])
				assert.Equal(t, []string{"q", w.Worker(), "a"}, []string{done.Queue, done.Worker, string(done.Task)})
				text, ok := done.Text()
				assert.Equal(t, result != nil, ok)
				assert.Equal(t, result, text)
				assert.Equal(t, result != nil, done.Result != nil)
				assert.Empty(t, s.keys("processes:*"))
				assert.Empty(t, s.keys("workingProcesses:*"))
				assert.Empty(t, s.keys("startedProcesses:*"))
			})
		})
	}
}

func TestAProcessThatIsNoLongerOursCannotBeFinished(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, other := s.worker("q"), s.worker("q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		for name, id := range map[string]string{
			"unknown": "q_" + ids.UUID(), "no process id": "q", "empty": "", "without a queue": "_" +
				ids.UUID(),
			"NUL": "q_\x00", "of another queue": "r" + p.ID[1:],
		} {
			var gone *worqr.ProcessError
			assert.ErrorAs(t, w.FinishTask(t.Context(), id, nil), &gone, name)
			assert.ErrorAs(t, w.StopTask(t.Context(), id), &gone, name)
		}
		assert.ErrorIs(t, other.FinishTask(t.Context(), p.ID, nil), worqr.ErrProcessGone, "of another worker")
		assert.ErrorIs(t, other.StopTask(t.Context(), p.ID), worqr.ErrProcessGone)
		require.NoError(t, w.FinishTask(t.Context(), p.ID, nil))
		assert.ErrorIs(t, w.FinishTask(t.Context(), p.ID, nil), worqr.ErrProcessGone, "twice")
	})
}

// TestStartAndFinishTakeOneRoundTripEach counts them.
func TestStartAndFinishTakeOneRoundTripEach(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w, trips := s.counted("q")
		_, err := w.EnqueueUnique(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		trips.take()
		p := s.start(w, "q")
		assert.Equal(t, []string{"worqr/start"}, trips.take())
		require.NoError(t, w.FinishTask(t.Context(), p.ID, []byte("result")))
		assert.Equal(t, []string{"worqr/finish"}, trips.take())
		_, err = w.StartTask(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrEmpty)
		assert.Equal(t, []string{"worqr/start"}, trips.take())
	})
}

// TestALostReplyToAStart: sent again it finds the same task.
func TestALostReplyToAStart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c, proxy := s.proxied(s.options(), "q")
		s.enqueue("q", "a", "b")
		lost := proxy.SwallowReply("q_")
		p := s.start(c, "q")
		<-lost
		assert.Equal(t, "a", string(p.Task))
		assert.Equal(t, []string{"b"}, s.waiting("q"))
		assert.Len(t, s.keys("processes:*"), 1)
		lost = proxy.SwallowReply(p.ID)
		require.NoError(t, p.Finish(t.Context(), nil),
			"gone after a call without an answer means that the call ended it")
		<-lost
	})
}

// TestAStartThatNobodyWaitsForLeavesNoTask: its ctx ends when Redis has executed it and the reply is lost.
func TestAStartThatNobodyWaitsForLeavesNoTask(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		ctx, cancel := context.WithCancel(t.Context())
		c := s.losing("worqr/start", cancel)
		s.enqueue("q", "a")
		told, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		_, err = c.StartTask(ctx, "q")
		require.ErrorIs(t, err, context.Canceled)
		await(t, told, always[worqr.Work])
		assert.Equal(t, []string{"a"}, s.waiting("q"))
		assert.Empty(t, s.keys("processes:*"))
	})
}

// TestAStartThatLandsLateIsVoid: Redis gets the request when the worker has already given the process up.
func TestAStartThatLandsLateIsVoid(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.corpse("w", "q")
		store, w := worqrdb.New(s.driver, s.prefix), worqrdb.Worker{ID: "w", Registration: "r-w", Life: time.Hour}
		_, err := store.Requeue(t.Context(), worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_1"},
			Void: time.Hour})
		require.NoError(t, err)
		s.enqueue("q", "a")
		taken, err := store.Start(t.Context(), w, "q", "q_1")
		require.NoError(t, err)
		assert.Equal(t, worqrdb.Taken{State: worqrdb.Void}, taken)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
	})
}

// TestAProcessThatWasTakenAwayIsNotReportedAsCancelled when a cancellation of its task is heard.
func TestAProcessThatWasTakenAwayIsNotReportedAsCancelled(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		events := s.events(w)
		s.cmd("SREM", s.key("workingProcesses:%s:q", w.Worker()), p.ID) // as whoever fails the worker does
		s.cmd("PUBLISH", s.prefix+"_q_cancel", "a")
		assert.Empty(t, await(t, events, always[worqr.Cancelled]).Processes)
		assert.ErrorIs(t, cause(p), worqr.ErrProcessGone)
	})
}

// TestACancelledProcessIsReportedAfterALostReply: gone after a call without an answer means that the call ended it.
func TestACancelledProcessIsReportedAfterALostReply(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		lost := make(chan struct{})
		w := s.losing("worqr/end_cancelled", func() { close(lost) })
		s.enqueue("q", "a")
		p := s.start(w, "q")
		events := s.events(w)
		_, err := s.producer().CancelTasks(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		<-lost
		assert.Equal(t, []string{p.ID}, await(t, events, always[worqr.Cancelled]).Processes)
		assert.ErrorIs(t, cause(p), worqr.ErrCancelled)
	})
}

// TestAFinishUnderWayIsNoProcessThatWasTakenAway: a cancellation is heard when Redis has executed it and the answer has
// not come.
func TestAFinishUnderWayIsNoProcessThatWasTakenAway(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		executed, answered := make(chan struct{}), make(chan struct{})
		w := s.hooked(s.options(), &hooks{after: func(name string) error {
			if name == "worqr/finish" {
				close(executed)
				<-answered
			}
			return nil
		}})
		require.NoError(t, w.Start(t.Context()))
		require.NoError(t, w.StartWork(t.Context(), "q"))
		s.enqueue("q", "a")
		p := s.start(w, "q")
		events := s.events(w)
		finished := make(chan error, 1)
		go func() { finished <- p.Finish(t.Context(), nil) }()
		<-executed
		s.cmd("PUBLISH", s.prefix+"_q_cancel", "a")
		assert.Empty(t, await(t, events, always[worqr.Cancelled]).Processes)
		assert.NoError(t, p.Context().Err())
		close(answered)
		require.NoError(t, <-finished)
		assert.ErrorIs(t, cause(p), worqr.ErrProcessEnded)
	})
}

// One outcome is no answer to another: the task that was put back waits, and a finish that finds it gone says so.
func TestAFinishAfterAStopWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	outcomes := map[string]func(p *worqr.Process) error{
		"worqr/requeue": func(p *worqr.Process) error { return p.Stop(context.Background()) },
		"worqr/finish":  func(p *worqr.Process) error { return p.Finish(context.Background(), nil) },
	}
	for first, end := range outcomes {
		for second, again := range outcomes {
			t.Run(first+" then "+second, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					var losing atomic.Bool
					options := s.options()
					options.CallTimeout = 200 * time.Millisecond
					c := s.hooked(options, &hooks{after: func(name string) error {
						if name == first && losing.Load() {
							return errLost
						}
						return nil
					}})
					require.NoError(t, c.Start(t.Context()))
					require.NoError(t, c.StartWork(t.Context(), "q"))
					s.enqueue("q", "t")
					p, err := c.StartTask(t.Context(), "q")
					require.NoError(t, err)
					losing.Store(true)
					require.Error(t, end(p))
					losing.Store(false)
					if first == second {
						require.NoError(t, again(p), "the first one counted")
						return
					}
					require.ErrorIs(t, again(p), worqr.ErrProcessGone)
				})
			})
		}
	}
}
