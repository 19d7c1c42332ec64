package worqr_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

func numbered(n int) (tasks []string) {
	for i := range n {
		tasks = append(tasks, fmt.Sprintf("%03d", i))
	}
	return tasks
}

// TestAWorkerIsKilledWithFiftyTasks, by SIGKILL, beside one that lives and holds tasks of the same queue.
func TestAWorkerIsKilledWithFiftyTasks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		tasks := numbered(100)
		s.enqueue("q", tasks...)
		victim := s.process(50)
		live := s.workerOf(hurried(s.prefix), "q")
		var mine []*worqr.Process
		for i := range 5 {
			mine = append(mine, s.start(live, "q"))
			require.Equal(t, tasks[50+i], string(mine[i].Task))
		}
		others, err := s.producer().Watch(t.Context(), "q")
		require.NoError(t, err)
		events := s.events(live)
		require.Empty(t, s.waiting("q")[45:])

		victim.kill()
		assert.Equal(t, worqr.WorkerFailed{Worker: victim.worker, Returned: 50},
			await(t, events, always[worqr.WorkerFailed]))
		assert.Equal(t, 50, await(t, others, always[worqr.Work]).Count, "the others are told")
		assert.Equal(t, append(append([]string{}, tasks[:50]...), tasks[55:]...), s.waiting("q"),
			"at the front, in order")
		for _, p := range mine {
			require.NoError(t, p.Finish(t.Context(), nil), "none of the live worker's was touched")
		}
		assert.Empty(t, s.keys("*"+victim.worker+"*"))
		assert.Equal(t, []string{live.Worker()}, s.set("workers"))
	})
}

// TestBothProgramsAreKilledWhileTheyShareAQueue: a released worker dies with tasks, and one of ours, which a released
// program fails before ours have found it dead. Every task is done in the end, and nothing is left.
func TestBothProgramsAreKilledWhileTheyShareAQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		tasks := numbered(300)
		options := s.options()
		options.EventBuffer = 10_000
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		told, err := s.dial(options).Watch(ctx, "q")
		require.NoError(t, err)
		r := newReleased(s)
		for _, w := range []string{"r1", "r2"} {
			r.startWorker(w, "q")
		}
		s.enqueue("q", tasks...)
		theirs := map[string]string{}
		for i := range 20 {
			w := []string{"r1", "r2"}[i%2]
			process, _ := r.dequeue(w, "q", fmt.Sprint(i))
			theirs[process] = w
		}
		victim, survivor := s.process(0), s.process(0)
		done := map[string]bool{}
		for e := range told {
			if e, ok := e.(worqr.Done); ok {
				done[string(e.Task)] = true
			}
			if len(done) == 50 && len(theirs) > 0 {
				victim.kill()
				r.failWorker(victim.worker) // and all that released workers hold is back
				s.lapse("r1")
				r.cleanup()
				theirs = nil
			}
			if len(done) == len(tasks) {
				break
			}
		}
		require.Len(t, done, len(tasks))
		require.Eventually(t, func() bool {
			return len(s.keys("processes:*"))+len(s.waiting("q"))+len(s.keys("*"+victim.worker+"*")) == 0
		}, patience, 20*time.Millisecond)
		assert.ElementsMatch(t, []string{survivor.worker, "r2"}, s.set("workers"))
	})
}

// TestWorkersAreKilledWhileTheyServe: every task is done in the end, and nothing is left.
func TestWorkersAreKilledWhileTheyServe(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		tasks := numbered(600)
		done := map[string]bool{}
		options := s.options()
		options.EventBuffer = 10_000
		told, err := s.dial(options).Watch(t.Context(), "q")
		require.NoError(t, err)
		first, second := s.process(0), s.process(0)
		s.enqueue("q", tasks...)
		survivor := (*child)(nil)
		for e := range told {
			if e, ok := e.(worqr.Done); ok {
				done[string(e.Task)] = true
			}
			switch {
			case len(done) >= 50 && survivor == nil:
				first.kill()
				survivor = s.process(0)
			case len(done) >= 200:
				second.kill()
			}
			if len(done) == len(tasks) {
				break
			}
		}
		assert.Len(t, done, len(tasks))
		require.Eventually(t, func() bool { // the last of them may have been done by a victim
			return len(s.set("workers")) == 1 && len(s.keys("processes:*"))+len(s.waiting("q")) == 0
		}, patience, 20*time.Millisecond)
		assert.Equal(t, []string{survivor.worker}, s.set("workers"))
	})
}
