package worqr_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/worqr"
)

// refusing has Redis refuse the first calls of a script.
func refusing(script, code string, times int32) *hooks {
	var left atomic.Int32
	left.Store(times)
	return &hooks{before: func(name string) error {
		if name == script && left.Add(-1) >= 0 {
			return &redisconn.ServerError{Code: code, Message: code + " not now"}
		}
		return nil
	}}
}

// TestServeGoesOnUntilAProcessHasEnded: a refusal of its end does not leave the task with nobody.
func TestServeGoesOnUntilAProcessHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		err    error
	}{"finish": {"worqr/finish", nil}, "stop": {"worqr/requeue", errors.New("broken")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.hooked(s.options(), refusing(c.script, "ERR", 2))
				require.NoError(t, w.Start(t.Context()))
				told, err := s.producer().Watch(t.Context(), "q")
				require.NoError(t, err)
				failing := c.err
				stop := serve(t, w, func(context.Context, *worqr.Process) ([]byte, error) {
					defer func() { failing = nil }()
					return nil, failing
				})
				s.enqueue("q", "a")
				await(t, told, always[worqr.Done])
				require.NoError(t, stop())
				assert.Empty(t, s.keys("processes:*"))
			})
		})
	}
}

// TestARedisThatCannotSaveIsWaitedFor: a refusal for that reason passes.
func TestARedisThatCannotSaveIsWaitedFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.hooked(s.options(), refusing("worqr/finish", "MISCONF", 1))
		require.NoError(t, w.Start(t.Context()))
		require.NoError(t, w.StartWork(t.Context(), "q"))
		s.enqueue("q", "a")
		require.NoError(t, s.start(w, "q").Finish(t.Context(), nil))
	})
}

func TestAStopWorkThatFailedIsCalledAgain(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"worqr/requeue", "worqr/leave"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.hooked(s.options(), refusing(script, "BADKEY", 1))
				require.NoError(t, w.Start(t.Context()))
				require.NoError(t, w.StartWork(t.Context(), "q"))
				s.enqueue("q", "a")
				s.start(w, "q")
				require.Error(t, w.StopWork(t.Context(), "q"))
				require.NoError(t, w.StopWork(t.Context(), "q"))
				assert.Equal(t, []string{"a"}, s.waiting("q"))
				assert.Empty(t, s.set("workingQueues:"+w.Worker()))
			})
		})
	}
}

// TestABrokenWorkerDoesNotKeepTheCleanupFromTheOthers: keys of a wrong type stop neither its other queues nor other
// workers.
func TestABrokenWorkerDoesNotKeepTheCleanupFromTheOthers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for _, worker := range []string{"broken", "d1", "d2", "d3"} {
			s.lapse(s.corpse(worker, "q-"+worker, worker))
		}
		for _, queue := range []string{"r1", "r2", "r3"} { // in whatever order the set has them
			s.cmd("SADD", s.key("workingQueues:broken"), queue)
			s.cmd("SADD", s.key("workingProcesses:broken:%s", queue), queue+"_1")
			s.cmd("LPUSH", s.key("processes:%s_1", queue), queue)
		}
		s.cmd("DEL", s.key("startedProcesses:broken:r2"))
		s.cmd("SET", s.key("startedProcesses:broken:r2"), "no hash")
		c := s.producer()
		failed, err := c.Cleanup(t.Context())
		require.ErrorContains(t, err, `worker "broken"`)
		assert.ElementsMatch(t, []string{"d1", "d2", "d3"}, failed)
		for queue, want := range map[string][]string{"q-d1": {"d1"}, "q-d3": {"d3"}, "q-broken": {"broken"},
			"r1": {"r1"}, "r3": {"r3"}, "r2": {}} {
			assert.ElementsMatch(t, want, s.waiting(queue), queue)
		}
		s.cmd("DEL", s.key("startedProcesses:broken:r2"))
		failed, err = c.Cleanup(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"broken"}, failed)
		assert.Equal(t, []string{"r2"}, s.waiting("r2"))
	})
}
