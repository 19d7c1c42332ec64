package work

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// TestTwoVersionsShareAQueueOnlyWhereBothHaveTheHandler: a version that lost a handler leaves its jobs alone, and
// another version beside it or after it runs them.
func TestTwoVersionsShareAQueueOnlyWhereBothHaveTheHandler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 10)
		handler := func(version string) any {
			return func(job *Job) error { ran <- version + " " + job.Name; return nil }
		}
		newer := k.start(NewWorkerPool(nil, 2, k.options()).Job("renamed", handler("newer")))
		k.enqueue("name")
		k.enqueue("renamed")
		assert.Equal(t, "newer renamed", receive(t, ran))
		require.NoError(t, newer.Drain(k.ctx()))
		assert.Equal(t, 1, k.number("LLEN", "queue:name"), "it waits, and no attempt is used")

		older := NewWorkerPool(nil, 2, k.options()).Job("name", handler("older"))
		k.start(older)
		assert.Equal(t, "older name", receive(t, ran))
		require.NoError(t, older.Drain(k.ctx()))
		k.empty("name", "renamed")
	})
}

// TestArgsOfAnotherVersionThatDoNotFitGoToTheMorgue, at once, and run when they are retried by a version that takes
// them.
func TestArgsOfAnotherVersionThatDoNotFitGoToTheMorgue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		older := NewWorkerPool(nil, 1, k.options()).Job("n", func(one string) error { return nil })
		require.NoError(t, older.Start(k.ctx()))
		id := k.enqueue("n", "one", "two").ID
		died := await(t, k.spy, func(e event.JobBuried) bool { return e.ID == id })
		assert.Contains(t, died.Reason, "wanted a JSON array of 1")
		require.NoError(t, older.Stop(k.ctx()))

		ran := make(chan string, 1)
		newer := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("n", func(one, two string) error { ran <- one + two; return nil }))
		require.NoError(t, k.inspector().RetryNow(k.ctx(), id))
		assert.Equal(t, "onetwo", receive(t, ran))
		require.NoError(t, newer.Drain(k.ctx()))
		k.empty("n")
	})
}
