package worqr_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// permanent makes a corpse one without a timer.
func (s *site) permanent(worker string) {
	s.lapse(worker)
	s.cmd("SREM", s.key("leasedWorkers"), worker)
}

// TestTasksOfADeadWorkerThatTheReleasedProgramFailed are found, although it has removed the set of the worker's queues.
func TestTasksOfADeadWorkerThatTheReleasedProgramFailed(t *testing.T) {
	t.Parallel()
	for name, permanent := range map[string]bool{"with a timer": false, "permanent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				dead := s.corpse("dead", "q", "a", "b")
				if permanent {
					s.permanent(dead)
				}
				newReleased(s).failWorker(dead)
				assert.Empty(t, s.waiting("q"), "it does not know our processes")
				c := s.worker("q")
				events := s.events(c)
				failed, err := c.Cleanup(t.Context())
				require.NoError(t, err)
				assert.Equal(t, []string{dead}, failed)
				assert.Equal(t, worqr.WorkerFailed{Worker: dead, Returned: 2},
					await(t, events, always[worqr.WorkerFailed]))
				assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
				assert.Empty(t, s.keys("*dead*"))
				assert.Equal(t, []string{c.Worker()}, s.set("workers"))
			})
		})
	}
}

// TestAWorkerWhoseIDComesAgainPutsBackWhatTheReleasedProgramLeft, before it begins.
func TestAWorkerWhoseIDComesAgainPutsBackWhatTheReleasedProgramLeft(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.permanent(s.corpse("w", "q", "a"))
		newReleased(s).failWorker("w")
		options := s.options()
		options.WorkerID, options.Permanent = "w", true
		w := s.workerOf(options, "q")
		assert.Equal(t, []string{"a"}, s.waiting("q"))
		assert.Equal(t, "a", string(s.start(w, "q").Task))
	})
}

// TestALivingWorkerThatTheReleasedProgramFailedStartsAnew, and others find its tasks in the queue at once, and not when
// it is closed.
func TestALivingWorkerThatTheReleasedProgramFailedStartsAnew(t *testing.T) {
	t.Parallel()
	for name, permanent := range map[string]bool{"with a timer": false, "permanent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				options := s.options()
				options.Permanent, options.HeartbeatEvery = permanent, time.Second
				w := s.workerOf(options, "q")
				s.enqueue("q", "a", "b")
				p := s.start(w, "q")
				events := s.events(w)
				newReleased(s).failWorker(w.Worker())
				assert.Equal(t, w.Worker(), await(t, events, always[worqr.Lapsed]).Worker)
				await(t, events, always[worqr.Restarted])
				assert.ErrorIs(t, cause(p), worqr.ErrLapsed)
				assert.ErrorIs(t, p.Finish(t.Context(), nil), worqr.ErrProcessGone)
				assert.Equal(t, []string{"a", "b"}, s.waiting("q"))
				assert.Equal(t, []string{w.Worker()}, s.set("workers"))
				assert.Equal(t, []string{"q"}, s.set("workingQueues:"+w.Worker()), "it serves it again")
				assert.Equal(t, "a", string(s.start(w, "q").Task))
			})
		})
	}
}

// TestAFailedWorkerTakesNothingUntilItHasStartedAnew: nobody would find the task.
func TestAFailedWorkerTakesNothingUntilItHasStartedAnew(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.Permanent, options.HeartbeatEvery = true, time.Hour
		w := s.workerOf(options, "q")
		newReleased(s).failWorker(w.Worker())
		s.cmd("SADD", s.key("workingQueues:%s", w.Worker()), "q") // else that would be the reason
		s.enqueue("q", "a")
		_, err := w.StartTask(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrLapsed)
		require.ErrorIs(t, w.StartWork(t.Context(), "r"), worqr.ErrLapsed)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
	})
}

// TestAKilledWorkerIsFailedByTheReleasedProgram before ours find it dead.
func TestAKilledWorkerIsFailedByTheReleasedProgram(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		tasks := numbered(20)
		s.enqueue("q", tasks...)
		victim := s.process(20)
		victim.kill()
		newReleased(s).failWorker(victim.worker)
		w := s.workerOf(hurried(s.prefix), "q")
		require.Eventually(t, func() bool { return len(s.waiting("q")) == 20 }, patience, 10*time.Millisecond)
		assert.Equal(t, tasks, s.waiting("q"))
		for range tasks {
			require.NoError(t, s.start(w, "q").Finish(t.Context(), nil))
		}
		require.Eventually(t, func() bool { return len(s.keys("*"+victim.worker+"*")) == 0 }, patience,
			10*time.Millisecond)
		assert.Equal(t, []string{w.Worker()}, s.set("workers"))
	})
}
