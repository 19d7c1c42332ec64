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

// takings are the ways in which the released program takes a process of ours away.
func takings() map[string]func(r released, p *worqr.Process) {
	return map[string]func(r released, p *worqr.Process){
		"stopped":  func(r released, p *worqr.Process) { r.stop(p.ID) },
		"finished": func(r released, p *worqr.Process) { r.finish("r", p.ID, "") },
	}
}

// TestAProcessThatTheReleasedProgramTookAwayCannotBeEnded: somebody else may have its task.
func TestAProcessThatTheReleasedProgramTookAwayCannotBeEnded(t *testing.T) {
	t.Parallel()
	ends := map[string]func(ctx context.Context, p *worqr.Process) error{
		"finish": func(ctx context.Context, p *worqr.Process) error { return p.Finish(ctx, []byte("ours")) },
		"stop":   func(ctx context.Context, p *worqr.Process) error { return p.Stop(ctx) },
	}
	for taken, takeAway := range takings() {
		for name, end := range ends {
			t.Run(taken+", "+name, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					options := s.options()
					options.HeartbeatEvery = time.Hour // it would notice too
					w := s.workerOf(options, "q")
					s.enqueue("q", "a")
					p := s.start(w, "q")
					events := s.events(w)
					takeAway(newReleased(s), p)
					back := s.waiting("q")
					require.ErrorIs(t, end(t.Context(), p), worqr.ErrProcessGone)
					assert.ErrorIs(t, cause(p), worqr.ErrProcessGone)
					assert.Equal(t, back, s.waiting("q"), "it is not put back again")
					assert.Empty(t, s.keys("workingProcesses:*"))
					assert.Empty(t, s.keys("startedProcesses:*"))
					_, err := s.producer().DeleteQueue(t.Context(), "q")
					require.NoError(t, err)
					for e := range events {
						if d, told := e.(worqr.Done); told {
							assert.NotEqual(t, w.Worker(), d.Worker, "nothing is told of an end that was none")
						}
						if _, last := e.(worqr.Deleted); last {
							break
						}
					}
				})
			})
		}
	}
}

// TestTheContextOfAProcessThatTheReleasedProgramTookAwayEnds by a heartbeat, and what is left of it is removed.
func TestTheContextOfAProcessThatTheReleasedProgramTookAwayEnds(t *testing.T) {
	t.Parallel()
	for taken, takeAway := range takings() {
		t.Run(taken, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.workerOf(s.beatingFast(), "q")
				s.enqueue("q", "a", "b")
				p, other := s.start(w, "q"), s.start(w, "q")
				takeAway(newReleased(s), p)
				<-p.Context().Done()
				assert.ErrorIs(t, cause(p), worqr.ErrProcessGone)
				assert.Equal(t, []string{other.ID}, s.set("workingProcesses:"+w.Worker()+":q"))
				require.NoError(t, other.Context().Err())
				require.NoError(t, other.Finish(t.Context(), nil))
			})
		})
	}
}

// beatingFast are options of a worker whose heartbeat looks every few milliseconds.
func (s *site) beatingFast() worqr.Options {
	options := s.options()
	options.HeartbeatEvery, options.HeartbeatLife = 5*time.Millisecond, time.Hour
	return options
}

// TestAHandlerWhoseTaskWasPutBackEndsAndAnotherOneHasIt: no two of ours end one task.
func TestAHandlerWhoseTaskWasPutBackEndsAndAnotherOneHasIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.workerOf(s.beatingFast())
		begun, why := make(chan string, 1), make(chan error, 1)
		stop := serve(t, w, func(ctx context.Context, p *worqr.Process) ([]byte, error) {
			begun <- p.ID
			<-ctx.Done()
			why <- context.Cause(ctx)
			return []byte("ours"), nil
		})
		s.enqueue("q", "a")
		first := <-begun
		r := newReleased(s)
		r.startWorker("r", "q")
		r.stop(first)
		process, task := r.dequeue("r", "q", "0")
		assert.Equal(t, "a", task)
		assert.ErrorIs(t, <-why, worqr.ErrProcessGone)
		told, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		r.finish("r", process, "")
		assert.Equal(t, "r", await(t, told, always[worqr.Done]).Worker, "the one who has it")
		require.NoError(t, stop())
		assert.Empty(t, s.waiting("q"))
	})
}

// late is a worker that does not get to end cancelled processes until it is let.
func (s *site) late(options worqr.Options, queue string) (w *worqr.Client, let func()) {
	s.t.Helper()
	gate := make(chan struct{})
	let = sync.OnceFunc(func() { close(gate) })
	s.t.Cleanup(let)
	w = s.hooked(options, &hooks{before: func(name string) error {
		if name == "worqr/end_cancelled" {
			<-gate
		}
		return nil
	}})
	require.NoError(s.t, w.Start(s.t.Context()))
	require.NoError(s.t, w.StartWork(s.t.Context(), queue))
	return w, let
}

// TestACancelledTaskDoesNotComeBack although the handler of the released program's example puts it back before our
// worker has heard of the cancellation; and what was enqueued since stays.
func TestACancelledTaskDoesNotComeBack(t *testing.T) {
	t.Parallel()
	cancels := map[string]func(s *site, r released){
		"by the released program": func(_ *site, r released) { r.cancel("q", "a") },
		"by ours": func(s *site, _ released) {
			_, err := s.producer().CancelTasks(s.t.Context(), "q", []byte("a"))
			require.NoError(s.t, err)
		},
	}
	for name, cancel := range cancels {
		for since, enqueue := range map[string][]string{"": nil, ", enqueued again": {"a"}} {
			t.Run(name+since, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					w, let := s.late(s.options(), "q")
					s.enqueue("q", "a", "a", "b")
					first, second := s.start(w, "q"), s.start(w, "q")
					events := s.events(w)
					r := newReleased(s)
					cancel(s, r)
					r.hearCancel("a")
					assert.Equal(t, []string{"b", "a", "a"}, s.waiting("q"), "both are back")
					if len(enqueue) > 0 {
						s.enqueue("q", enqueue...)
					}
					let()
					ended := await(t, events, always[worqr.Cancelled])
					assert.ElementsMatch(t, []string{first.ID, second.ID}, ended.Processes)
					assert.ErrorIs(t, cause(first), worqr.ErrCancelled)
					assert.ErrorIs(t, cause(second), worqr.ErrCancelled)
					assert.Equal(t, append([]string{"b"}, enqueue...), s.waiting("q"))
					assert.Empty(t, s.keys("startedProcesses:*"))
				})
			})
		}
	}
}

// TestACancellationThatIsLateFindsAProcessThatALookHasMissed once: a look must not be quicker than the message.
func TestACancellationThatIsLateFindsAProcessThatALookHasMissed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.HeartbeatEvery, options.HeartbeatLife = 4*time.Second, time.Hour
		w := s.workerOf(options, "q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		events := s.events(w)
		r := newReleased(s)
		r.hearCancel("a")
		timer := s.key("workerTimers:%s", w.Worker())
		s.cmd("PEXPIRE", timer, 60_000)
		require.Eventually(t, func() bool { return s.cmd("PTTL", timer).(int64) > 60_000 }, patience,
			5*time.Millisecond)
		assert.Equal(t, []string{"a"}, s.waiting("q"))
		s.cmd("PUBLISH", s.prefix+"_q_cancel", "a") // the message that the others heard before
		assert.Equal(t, []string{p.ID}, await(t, events, always[worqr.Cancelled]).Processes)
		assert.Empty(t, s.waiting("q"))
	})
}
