package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

func TestALargeResultIsAnObject(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := report{Lines: 9007199254740993, Notes: map[string]string{"<&>": long(3 << 20)}}
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Retention: time.Hour}, func() (report, error) { return want, nil }).
			JobWithOptions("small", JobOptions{Retention: time.Hour},
				func() (string, error) { return long(defaultLargeArgs), nil }))
		id, small := k.enqueue("a").ID, k.enqueue("small").ID
		k.drained(pool)
		assert.Less(t, k.number("HSTRLEN", "outcomes", id), 200, "the outcome names it")
		got, err := Result[report](k.ctx(), k.enq, id)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		got, err = Wait[report](k.ctx(), k.enq, id)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		require.NoError(t, k.enq.WaitEnd(k.ctx(), id))
		text, err := Result[string](k.ctx(), k.enq, small)
		require.NoError(t, err)
		assert.Len(t, text, defaultLargeArgs-2)

		hashes := k.strings("ZRANGE", "objects", 0, -1)
		require.Len(t, hashes, 1)
		assert.Equal(t, []string{id}, k.strings("SMEMBERS", "object:"+hashes[0]+":jobs"))
		k.do("UNLINK", "object:"+hashes[0])
		_, err = Result[report](k.ctx(), k.enq, id)
		var vanished *objects.VanishedError
		require.ErrorAs(t, err, &vanished)
		require.NoError(t, k.enq.WaitEnd(k.ctx(), id), "which reads no result")
	})
}

// A result may be the very object that the job had as its argument: the end of the job must not take its reference
// away.
func TestAResultThatIsTheArgumentStays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.ObjectGrace = time.Millisecond
		pool := NewWorkerPool(nil, 1, options).
			JobWithOptions("echo", JobOptions{Retention: time.Hour},
				func(text string) (string, error) { return text, nil })
		pool.tidying = 5 * time.Millisecond
		want := long(20_000)
		id := k.enqueue("echo", want).ID
		k.start(pool)
		k.drained(pool)
		sha := string(objects.Of(plainJSON(t, want)))
		assert.Equal(t, []string{id}, k.strings("SMEMBERS", "object:"+sha+":jobs"))
		k.do("HDEL", "outcomes", id)
		k.until("the outcome is gone, and with it the object", func() bool { return len(k.remains("object:")) == 0 })
	})
}

// Once its outcome is not kept any more, a result is nobody's.
func TestAResultGoesWithItsRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.ObjectGrace = time.Millisecond
		pool := NewWorkerPool(nil, 1, options).
			JobWithOptions("a", JobOptions{Retention: 300 * time.Millisecond},
				func() (string, error) { return long(20_000), nil })
		pool.tidying = 5 * time.Millisecond
		k.enqueue("a")
		k.start(pool)
		await[event.JobDone](t, k.spy, nil)
		k.until("all is gone", func() bool {
			return len(k.remains("object")) == 0 &&
				k.number("HLEN", "outcomes") == 0
		})
	})
}

// A full Redis takes no object, but an outcome: a result of moderate size is kept in that.
func TestAResultThatCannotBeAnObjectIsKeptInTheOutcome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("RPUSH", "objects", "a list") // so that no object can be stored
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Retention: time.Hour}, func() (string, error) { return long(20_000), nil }).
			JobWithOptions("huge", JobOptions{Retention: time.Hour, Backoff: hourly},
				func() (string, error) { return long(2 << 20), nil }))
		id, huge := k.enqueue("a").ID, k.enqueue("huge").ID
		got, err := Wait[string](k.ctx(), k.enq, id)
		require.NoError(t, err)
		assert.Equal(t, long(20_000), got)
		failed := await(t, k.spy, ofJob[event.JobFailed](huge))
		assert.True(t, isA[*ResultError](failed.Err), "%v", failed.Err)
		k.drained(pool)
	})
}
