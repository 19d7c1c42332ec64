package worqr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

func TestListOfQueuesIsARegistry(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.worker("served")
		s.enqueue("b", "1")
		s.enqueue("a", "1")
		require.NoError(t, s.start(s.worker("a"), "a").Finish(t.Context(), nil))
		queues, err := c.Queues(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b", "served"}, queues, "empty ones too")
	})
}

func TestCountPeekAndListTasks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.producer()
		_, err := c.Peek(t.Context(), "q")
		require.ErrorIs(t, err, worqr.ErrEmpty)
		var tasks []string
		for i := range 250 { // three pages
			tasks = append(tasks, fmt.Sprint(i))
		}
		s.enqueue("q", tasks...)
		count, err := c.Count(t.Context(), "q")
		require.NoError(t, err)
		assert.Equal(t, 250, count)
		next, err := c.Peek(t.Context(), "q")
		require.NoError(t, err)
		assert.Equal(t, "0", string(next))
		var listed []string
		for task, err := range c.Tasks(t.Context(), "q") {
			require.NoError(t, err)
			listed = append(listed, string(task))
		}
		assert.Equal(t, tasks, listed)
		assert.Equal(t, tasks, s.waiting("q"), "nothing was taken")
	})
}

func TestDeleteQueueWithItsEventAndLocks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		var tasks []string
		for i := range 620 { // more locks than one script takes
			tasks = append(tasks, fmt.Sprint(i))
		}
		_, err := w.EnqueueUnique(t.Context(), "q", raw(tasks...)...)
		require.NoError(t, err)
		running := s.start(w, "q")
		s.enqueue("q", "plain")
		events := s.events(w)
		count, err := w.DeleteQueue(t.Context(), "q")
		require.NoError(t, err)
		assert.Equal(t, 620, count)
		assert.Equal(t, "q", await(t, events, always[worqr.Deleted]).Queue)
		assert.False(t, s.exists("queues:q"))
		assert.Len(t, s.keys("uniqueTasks:*"), 1, "the one that is worked on")
		put, err := w.EnqueueUnique(t.Context(), "q", raw("0", "1")...)
		require.NoError(t, err)
		assert.Equal(t, []bool{false, true}, put)
		require.NoError(t, running.Finish(t.Context(), nil))
		put, err = w.EnqueueUnique(t.Context(), "q", raw("0")...)
		require.NoError(t, err)
		assert.Equal(t, []bool{true}, put)
	})
}

func TestAQueueThatWasDeletedIsListedAgainWhenATaskIsPutBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		_, err := w.DeleteQueue(t.Context(), "q")
		require.NoError(t, err)
		queues, err := w.Queues(t.Context())
		require.NoError(t, err)
		require.Empty(t, queues)
		require.NoError(t, p.Stop(t.Context()))
		queues, err = w.Queues(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"q"}, queues)
	})
}

func TestCancelQueuedCopies(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.producer()
		events, err := c.Watch(t.Context(), "q")
		require.NoError(t, err)
		_, err = c.EnqueueUnique(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		s.enqueue("q", "b", "a")
		removed, err := c.CancelTasks(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.Equal(t, 2, removed)
		assert.Equal(t, []string{"b"}, s.waiting("q"))
		assert.Equal(t, "a", string(await(t, events, always[worqr.Cancelled]).Task))
		assert.Empty(t, s.keys("unique*"), "nothing is left of its lock")
		put, err := c.EnqueueUnique(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.Equal(t, []bool{true}, put)
	})
}

func TestCancelRunningCopies(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		_, err := w.EnqueueUnique(t.Context(), "q", raw("a", "b")...)
		require.NoError(t, err)
		a, b := s.start(w, "q"), s.start(w, "q")
		events := s.events(w)
		_, err = s.producer().CancelTasks(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.Equal(t, []string{a.ID}, await(t, events, always[worqr.Cancelled]).Processes)
		<-a.Context().Done()
		assert.ErrorIs(t, cause(a), worqr.ErrCancelled)
		assert.NoError(t, b.Context().Err())
		assert.ErrorIs(t, a.Finish(t.Context(), nil), worqr.ErrProcessGone)
		assert.ErrorIs(t, a.Stop(t.Context()), worqr.ErrProcessGone)
		assert.Empty(t, s.waiting("q"))
		put, err := w.EnqueueUnique(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		assert.Equal(t, []bool{true}, put)
	})
}

// TestACancelledTaskIsNeverPutBack, not even by others when its worker never heard of it; and one that was enqueued and
// started after that is.
func TestACancelledTaskIsNeverPutBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		deaf := s.corpse("gone", "q", "a", "b") // it does not listen any more
		_, err := s.producer().CancelTasks(t.Context(), "q", []byte("a"))
		require.NoError(t, err)
		s.enqueue("q", "a")
		other := s.corpse("gone too", "q", "c")
		assert.Equal(t, []string{}, s.waiting("q"))
		returned, err := s.producer().FailWorker(t.Context(), deaf)
		require.NoError(t, err)
		assert.Equal(t, 1, returned)
		assert.Equal(t, []string{"b"}, s.waiting("q"))
		returned, err = s.producer().FailWorker(t.Context(), other)
		require.NoError(t, err)
		assert.Equal(t, 2, returned, "the new copy of a, and c")
		assert.Equal(t, []string{"a", "c", "b"}, s.waiting("q"))
	})
}

// TestACancellationByTheReleasedProgramEndsRunningCopies: it leaves no mark, only a message.
func TestACancellationByTheReleasedProgramEndsRunningCopies(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		s.cmd("LREM", s.key("queues:q"), 0, "a")
		s.cmd("PUBLISH", s.prefix+"_q_cancel", "a")
		<-p.Context().Done()
		assert.ErrorIs(t, cause(p), worqr.ErrCancelled)
		assert.Empty(t, s.keys("processes:*"))
	})
}
