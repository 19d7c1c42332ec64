package worqr_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

func (s *site) set(key string) []string { return texts(s.cmd("SMEMBERS", s.key("%s", key))) }

func TestStartWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.WorkerID = "w1"
		c := s.dial(options)
		assert.Empty(t, c.Worker())
		require.NoError(t, c.Start(t.Context()))
		assert.Equal(t, "w1", c.Worker())
		assert.Equal(t, []string{"w1"}, s.set("workers"))
		assert.Equal(t, []string{"w1"}, s.set("leasedWorkers"))
		assert.Equal(t, []string{"w1"}, s.set("permanentWorkers"), "so that the released program leaves it alone")
		assert.Empty(t, s.set("expiringWorkers"), "for the same reason")
		assert.Equal(t, "RUN", text(s.cmd("GET", s.key("workerTimers:w1"))))
		left := s.cmd("PTTL", s.key("workerTimers:w1")).(int64)
		assert.LessOrEqual(t, left, int64(3000))
		assert.Positive(t, left)
		assert.ErrorIs(t, c.Start(t.Context()), worqr.ErrStarted)

		var taken *worqr.WorkerError
		require.ErrorAs(t, s.dial(options).Start(t.Context()), &taken)
		assert.ErrorIs(t, taken, worqr.ErrWorkerTaken)
		s.cmd("SADD", s.key("workers"), "released")
		options.WorkerID = "released"
		assert.ErrorIs(t, s.dial(options).Start(t.Context()), worqr.ErrWorkerTaken)
	})
}

func TestCloseLeavesNothingOfAWorkerBehind(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue("q", "a", "b", "c")
		w := s.worker("q", "r")
		a := s.start(w, "q")
		s.start(w, "q")
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		assert.ErrorIs(t, cause(a), worqr.ErrClosed)
		assert.Equal(t, []string{"a", "b", "c"}, s.waiting("q"))
		for _, pattern := range []string{"work*", "permanent*", "leased*", "registrations", "processes:*", "started*",
			"voided*"} {
			assert.Empty(t, s.keys(pattern), pattern)
		}
		for name, call := range map[string]error{
			"Start": w.Start(t.Context()), "StartWork": w.StartWork(t.Context(), "q"),
			"Enqueue":    w.Enqueue(t.Context(), "q", nil),
			"FinishTask": w.FinishTask(t.Context(), a.ID, nil),
		} {
			assert.ErrorIs(t, call, worqr.ErrClosed, name)
		}
	})
}

func TestPermanentWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.WorkerID, options.Permanent = "p", true
		w := s.workerOf(options, "q")
		s.enqueue("q", "a")
		s.start(w, "q")
		assert.False(t, s.exists("workerTimers:p"))
		assert.Empty(t, s.set("leasedWorkers"))
		failed, err := s.producer().Cleanup(t.Context())
		require.NoError(t, err)
		assert.Empty(t, failed)
		events := s.events(w)
		returned, err := s.producer().FailWorker(t.Context(), "p")
		require.NoError(t, err)
		assert.Equal(t, 1, returned)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
		await(t, events, always[worqr.Restarted])
		assert.Equal(t, []string{"p"}, s.set("workers"), "it is alive and starts anew")
		assert.Equal(t, "a", string(s.start(w, "q").Task))
	})
}

func TestKeepWorkerAlive(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.WorkerID, options.HeartbeatEvery = "w", 5*time.Millisecond
		options.HeartbeatLife = time.Hour
		s.workerOf(options)
		s.cmd("PEXPIRE", s.key("workerTimers:w"), 60_000)
		require.Eventually(t, func() bool {
			return s.cmd("PTTL", s.key("workerTimers:w")).(int64) > 60_000
		}, patience, 5*time.Millisecond, "it is renewed")
	})
}

func TestALapseIsNoticedAndReported(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		events := s.events(w)
		s.enqueue("q", "a", "b")
		p := s.start(w, "q")
		s.lapse(w.Worker())
		_, err := w.StartTask(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrLapsed)
		assert.Equal(t, w.Worker(), await(t, events, always[worqr.Lapsed]).Worker)
		<-p.Context().Done()
		assert.ErrorIs(t, cause(p), worqr.ErrLapsed)
		await(t, events, always[worqr.Restarted])
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"), "its own task is in front again")
		assert.ErrorIs(t, p.Finish(t.Context(), nil), worqr.ErrProcessGone)
		assert.Equal(t, "a", string(s.start(w, "q").Task), "it goes on under the same id")
	})
}

func TestListWorkers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for id, permanent := range map[string]bool{"b": false, "c": true} {
			options := s.options()
			options.WorkerID, options.Permanent = id, permanent
			s.workerOf(options)
		}
		s.lapse(s.corpse("dead", "q"))
		s.cmd("SADD", s.key("workers"), "r1", "r2", "r3")
		s.cmd("SADD", s.key("expiringWorkers"), "r1", "r2")
		s.cmd("SADD", s.key("permanentWorkers"), "r3")
		s.cmd("SET", s.key("workerTimers:r1"), "RUN")
		workers, err := s.producer().Workers(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []worqr.WorkerInfo{
			{ID: "b", Ours: true, Alive: true}, {ID: "c", Ours: true, Permanent: true, Alive: true},
			{ID: "dead", Ours: true},
			{ID: "r1", Alive: true}, {ID: "r2"}, {ID: "r3", Permanent: true, Alive: true},
		}, workers)
	})
}

func TestFailOtherWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		victim := s.corpse("victim", "q", "a", "b", "c")
		w := s.worker("q")
		s.enqueue("q", "d", "e")
		mine := s.start(w, "q")
		events := s.events(w)
		returned, err := s.producer().FailWorker(t.Context(), victim)
		require.NoError(t, err)
		assert.Equal(t, 3, returned)
		await(t, events, func(e worqr.Work) bool { return e.Count == 3 })
		assert.Equal(t, []string{"a", "b", "c", "e"}, s.waiting("q"), "to the front, in order")
		assert.NoError(t, mine.Context().Err(), "only its tasks")
		assert.Equal(t, []string{w.Worker()}, s.set("workers"))
		require.NoError(t, mine.Finish(t.Context(), nil))
		_, err = s.producer().FailWorker(t.Context(), victim)
		assert.ErrorIs(t, err, worqr.ErrWorkerUnknown)
	})
}

func TestFailOwnWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a", "b")
		p := s.start(w, "q")
		events := s.events(w)
		returned, err := w.FailWorker(t.Context(), w.Worker())
		require.NoError(t, err)
		assert.Equal(t, 1, returned)
		await(t, events, always[worqr.Restarted])
		assert.ErrorIs(t, cause(p), worqr.ErrLapsed)
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
	})
}

func TestWorkersOfTheReleasedProgramAreNeverFailed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd("SADD", s.key("workers"), "r")
		s.cmd("SADD", s.key("expiringWorkers"), "r")
		s.cmd("SADD", s.key("workingQueues:r"), "q")
		_, err := s.producer().FailWorker(t.Context(), "r")
		assert.ErrorIs(t, err, worqr.ErrWorkerUnknown)
		failed, err := s.producer().Cleanup(t.Context())
		require.NoError(t, err)
		assert.Empty(t, failed)
		assert.Equal(t, []string{"r"}, s.set("expiringWorkers"))
		assert.Equal(t, []string{"q"}, s.set("workingQueues:r"))
	})
}

func TestPeriodicCleanupOfDeadWorkers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var tasks []string
		for i := range 620 { // two steps
			tasks = append(tasks, fmt.Sprint(i))
		}
		dead, alive := s.corpse("dead", "q", tasks...), s.corpse("alive", "q", "other")
		options := s.options()
		options.CleanupEvery = 10 * time.Millisecond
		w := s.workerOf(options, "q")
		events := s.events(w)
		s.lapse(dead)
		e := await(t, events, always[worqr.WorkerFailed])
		assert.Equal(t, worqr.WorkerFailed{Worker: "dead", Returned: 620}, e)
		assert.Equal(t, tasks, s.waiting("q"))
		held, err := w.Holdings(t.Context(), alive)
		require.NoError(t, err)
		assert.Len(t, held, 1)
		assert.Empty(t, s.keys("*:dead*"))
	})
}

// TestADeadWorkersIDIsTakenOverInGoodOrder: a program with a fixed id that crashed and comes back.
func TestADeadWorkersIDIsTakenOverInGoodOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.lapse(s.corpse("w", "q", "a", "b"))
		options := s.options()
		options.WorkerID = "w"
		w := s.workerOf(options, "q")
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
		assert.Equal(t, "a", string(s.start(w, "q").Task))
	})
}

// TestAnyoneGoesOnWithAWorkerThatIsHalfTakenApart: whoever began it may have died.
func TestAnyoneGoesOnWithAWorkerThatIsHalfTakenApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		dead := s.corpse("dead", "q", "a", "b")
		s.cmd("DEL", s.key("workerTimers:dead"))
		held, err := s.producer().Holdings(t.Context(), dead)
		require.NoError(t, err)
		s.cmd("SREM", s.key("workingProcesses:dead:q"), held[1].Process) // by hand, what one step does
		s.cmd("HDEL", s.key("startedProcesses:dead:q"), held[1].Process)
		s.cmd("LMOVE", s.key("processes:%s", held[1].Process), s.key("queues:q"), "RIGHT", "RIGHT")
		failed, err := s.producer().Cleanup(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"dead"}, failed)
		assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
	})
}

func TestInspectionOfWhatAWorkerHolds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q", "r")
		s.enqueue("q", "a", "b")
		s.enqueue("r", "c")
		a, b, c := s.start(w, "q"), s.start(w, "q"), s.start(w, "r")
		held, err := s.producer().Holdings(t.Context(), w.Worker())
		require.NoError(t, err)
		var ids []string
		for _, h := range held {
			assert.Equal(t, w.Worker(), h.Worker)
			ids = append(ids, h.Queue+" "+h.Process+" "+string(h.Task))
		}
		assert.ElementsMatch(t, []string{"q " + a.ID + " a", "q " + b.ID + " b", "r " + c.ID + " c"}, ids)
		held, err = s.producer().Holdings(t.Context(), "nobody")
		require.NoError(t, err)
		assert.Empty(t, held)
	})
}

func TestMatchingProcessesOfATask(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		one, two := s.worker("q"), s.worker("q")
		s.enqueue("q", "a", "b", "a")
		p, _, r := s.start(one, "q"), s.start(one, "q"), s.start(two, "q")
		s.cmd("LPUSH", s.key("processes:q_released"), "a")
		s.cmd("SADD", s.key("workingProcesses:q"), "q_released")
		matching, err := s.producer().MatchingProcesses(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.ElementsMatch(t, []worqr.Holding{
			{Process: p.ID, Worker: one.Worker(), Queue: "q", Task: []byte("a")},
			{Process: r.ID, Worker: two.Worker(), Queue: "q", Task: []byte("a")},
			{Process: "q_released", Queue: "q", Task: []byte("a")},
		}, matching)
	})
}
