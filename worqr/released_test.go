package worqr_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

func TestReleasedProducersEnqueueForOurWorkers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		events := s.events(w)
		newReleased(s).enqueue("q", "a", "b")
		assert.Equal(t, worqr.Work{Queue: "q", Count: 2}, await(t, events, always[worqr.Work]))
		assert.Equal(t, "a", string(s.start(w, "q").Task))
		assert.Equal(t, "b", string(s.start(w, "q").Task))
	})
}

func TestReleasedWorkersTakeWhatOursEnqueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		r := newReleased(s)
		r.startWorker("r", "q")
		w := s.worker("q")
		events := s.events(w)
		s.enqueue("q", "a", "b")
		process, task := r.dequeue("r", "q", "0")
		assert.Equal(t, "a", task)
		p := s.start(w, "q")
		assert.Equal(t, "b", string(p.Task))
		r.finish("r", process, `"theirs"`)
		assert.Equal(t, worqr.Done{Queue: "q", Worker: "r", Task: []byte("a"), Result: []byte(`"theirs"`)},
			await(t, events, always[worqr.Done]))
		require.NoError(t, p.Finish(t.Context(), nil))
		assert.Empty(t, s.keys("processes:*"))
	})
}

// TestReleasedReadersUnderstandOurMessages: what is published, byte for byte.
func TestReleasedReadersUnderstandOurMessages(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		options := s.options()
		options.WorkerID = "w"
		w := s.workerOf(options, "q")
		heard := make(chan string, 16)
		ready := make(chan struct{})
		channels := []string{s.prefix + "_q_work", s.prefix + "_q_done", s.prefix + "_q_cancel", s.prefix + "_q_delete"}
		go func() {
			_ = s.driver.SubscribeAll(t.Context(), channels, func() { close(ready) },
				func(channel string, message []byte) {
					heard <- strings.TrimPrefix(channel, s.prefix) + " " + string(message)
				})
		}()
		<-ready
		s.enqueue("q", "a", "b", "c")
		assert.Equal(t, "_q_work 3", <-heard)
		require.NoError(t, s.start(w, "q").Finish(t.Context(), []byte("r")))
		assert.Equal(t, `_q_done {"workerId":"w","task":"a","result":"r"}`, <-heard)
		require.NoError(t, s.start(w, "q").Finish(t.Context(), nil))
		assert.Equal(t, `_q_done {"workerId":"w","task":"b"}`, <-heard)
		_, err := w.CancelTasks(t.Context(), "q", []byte("c"))
		require.NoError(t, err)
		assert.Equal(t, "_q_cancel c", <-heard)
		_, err = w.DeleteQueue(t.Context(), "q")
		require.NoError(t, err)
		assert.Equal(t, "_q_delete ", <-heard)
	})
}

// TestTheCleanupOfTheReleasedProgramLeavesOursAlone, alive or dead, and ours leaves what it does alone.
func TestTheCleanupOfTheReleasedProgramLeavesOursAlone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		r := newReleased(s)
		r.startWorker("r", "q")
		w := s.worker("q")
		s.enqueue("q", "a", "b", "c", "d")
		p := s.start(w, "q")
		_, theirs := r.dequeue("r", "q", "0")
		assert.Equal(t, "b", theirs)
		s.corpse("lapsed", "q")
		s.lapse("lapsed")
		s.cmd("DEL", s.key("workerTimers:r"))
		failed, err := w.Cleanup(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"lapsed"}, failed, "the released worker is left to its own kind")
		assert.Equal(t, []string{"q_0"}, s.set("workingProcesses:q"))
		r.cleanup()
		assert.Empty(t, s.set("workingProcesses:q"))
		assert.Contains(t, s.waiting("q"), "b")
		assert.Equal(t, []string{w.Worker()}, s.set("workers"))
		require.NoError(t, p.Finish(t.Context(), nil), "ours still has its task")
		assert.Equal(t, []string{"q"}, s.set("workingQueues:"+w.Worker()))
	})
}

func TestReleasedProgramDeletesAndCancels(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		events := s.events(w)
		s.enqueue("q", "a", "b")
		r := newReleased(s)
		r.cancel("q", "a")
		assert.Equal(t, "a", string(await(t, events, always[worqr.Cancelled]).Task))
		r.deleteQueue("q")
		await(t, events, always[worqr.Deleted])
		_, err := w.StartTask(t.Context(), "q")
		assert.ErrorIs(t, err, worqr.ErrEmpty)
	})
}
