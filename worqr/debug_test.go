package worqr_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// TestDebugEventsTellWhatIsWorkedOn, how long, and nothing of what has ended.
func TestDebugEventsTellWhatIsWorkedOn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.Debug, options.DebugEvery = true, 5*time.Millisecond
		w := s.workerOf(options, "q")
		events := s.events(w)
		assert.Equal(t, worqr.Debug{Worker: w.Worker(), Jobs: map[string]time.Duration{}},
			await(t, events, always[worqr.Debug]))
		s.enqueue("q", "a", "b")
		a, b := s.start(w, "q"), s.start(w, "q")
		e := await(t, events, func(e worqr.Debug) bool { return e.JobCount == 2 })
		assert.Len(t, e.Jobs, 2)
		first := e.Jobs[a.ID]
		assert.Positive(t, first)
		assert.GreaterOrEqual(t, first, e.Jobs[b.ID], "it began before the other one")
		await(t, events, func(e worqr.Debug) bool { return e.Jobs[a.ID] > first })
		require.NoError(t, a.Finish(t.Context(), nil))
		require.NoError(t, b.Stop(t.Context()))
		await(t, events, func(e worqr.Debug) bool { return e.JobCount == 0 })
	})
}

func TestDebugIsSilentUnlessAskedFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.DebugEvery = time.Millisecond
		w := s.workerOf(options, "q")
		events := s.events(w)
		s.enqueue("q", "a")
		s.waitBeats(w, 1)
		s.enqueue("q", "last", "of", "all")
		for e := range events {
			_, debug := e.(worqr.Debug)
			assert.False(t, debug)
			if e, ok := e.(worqr.Work); ok && e.Count == 3 {
				break
			}
		}
	})
}
