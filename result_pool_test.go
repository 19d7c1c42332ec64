package work

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

type report struct {
	Lines int64             `json:"lines"`
	Notes map[string]string `json:"notes"`
	Next  *report           `json:"next,omitempty"`
}

func TestAResultIsReadAsWhatTheHandlerReturned(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := report{Lines: 9007199254740993, Notes: map[string]string{"<&>": "\u2028 日本 \x00"}, Next: &report{}}
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Retention: time.Hour}, func() (report, error) { return want, nil }).
			JobWithOptions("nil", JobOptions{Retention: time.Hour}, func() (*report, error) { return nil, nil }))
		first, second := k.enqueue("a").ID, k.enqueue("nil").ID
		k.drained(pool)
		got, err := Result[report](k.ctx(), k.enq, first)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		none, err := Result[*report](k.ctx(), k.enq, second)
		require.NoError(t, err)
		assert.Nil(t, none)
		_, err = Result[[]int](k.ctx(), k.enq, first)
		require.ErrorContains(t, err, "does not fit a []int")
		fromPool, err := Result[report](k.ctx(), pool.Enqueuer(), first)
		require.NoError(t, err)
		assert.Equal(t, want, fromPool)
		k.empty("a", "nil")
	})
}

func TestOutcomesAreKeptForTheirRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		value := func() (int, error) { return 42, nil }
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("by default", value).
			JobWithOptions("by option", JobOptions{Retention: time.Hour}, value).
			JobWithOptions("without value", JobOptions{Retention: time.Hour}, func() error { return nil }))
		for _, row := range []struct {
			title, name string
			options     []EnqueueOption
			kept        time.Duration
		}{
			{"no retention", "by default", nil, 0},
			{"of the job", "by option", nil, time.Hour},
			{"of the enqueue", "by default", []EnqueueOption{Retention(time.Minute)}, time.Minute},
			{"the enqueue beats a longer one", "by option", []EnqueueOption{Retention(time.Minute)}, time.Minute},
			{"a part of a millisecond", "by default", []EnqueueOption{Retention(time.Minute + 1)}, time.Minute +
				time.Millisecond},
		} {
			t.Run(row.title, func(t *testing.T) {
				began := time.Now()
				receipt, err := k.enq.With(row.options...).Enqueue(k.ctx(), row.name)
				require.NoError(t, err)
				k.drained(pool)
				got, err := Result[int](k.ctx(), k.enq, receipt.ID)
				if row.kept == 0 {
					require.ErrorIs(t, err, ErrGone)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, 42, got)
				k.duration(began, "outcomes:until", receipt.ID, row.kept)
			})
		}
		t.Run("handler without a value", func(t *testing.T) {
			id := k.enqueue("without value").ID
			k.drained(pool)
			_, err := Result[int](k.ctx(), k.enq, id)
			var none *NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, "done", none.State)
		})
	})
}

func TestAResultThatCannotBeKeptFailsTheAttemptOnlyIfItIsToBeKept(t *testing.T) {
	t.Parallel()
	circle := &report{}
	circle.Next = circle
	rows := []struct {
		name   string
		result any
		text   string
	}{
		{"NaN", math.NaN(), "json: unsupported value: NaN"},
		{"a circle", circle, "encountered a cycle"},
		{"MarshalJSON panics", &hostile{marshal: boom2}, "panic: boom"},
		{"MarshalJSON that is no JSON", &hostile{marshal: func() ([]byte, error) { return []byte("{"), nil }},
			"unexpected end of JSON input"},
		{"a channel inside any", map[string]any{"c": make(chan int)}, "unsupported type: chan int"},
		{"too large", strings.Repeat("x", 1<<20), "its JSON has 1048578 bytes: return at most 1048576"},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.LargeArgs = -1 // else the largest is an object
		pool := NewWorkerPool(nil, 1, options)
		for _, row := range rows {
			handler := func() (any, error) { return row.result, nil }
			pool.JobWithOptions(row.name, JobOptions{Backoff: hourly, Retention: time.Hour}, handler)
			pool.JobWithOptions(row.name+", not kept", JobOptions{Backoff: hourly}, handler)
			k.enqueueAs(row.name, row.name)
			k.enqueueAs(row.name+", not kept", row.name+", not kept")
		}
		k.start(pool)
		k.drained(pool)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				failed := await(t, k.spy, ofJob[event.JobFailed](row.name))
				var refused *ResultError
				require.ErrorAs(t, failed.Err, &refused)
				assert.Contains(t, refused.Handler, "result_pool_test.go:")
				assert.Contains(t, k.trail(row.name).Errors[0].Error, row.text)
				await(t, k.spy, ofJob[event.JobDone](row.name+", not kept"))
			})
		}
		assert.Equal(t, len(rows), k.number("HLEN", "jobs"))
		assert.Zero(t, k.number("HLEN", "outcomes"))
	})
}

func TestTheLargestResultThatIsNoObjectIsKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := strings.Repeat("x", maxResultBytes-len(`""`))
		options := k.options()
		options.LargeArgs = -1
		pool := k.start(NewWorkerPool(nil, 4, options).
			JobWithOptions("large", JobOptions{Retention: time.Hour}, func() (string, error) { return want, nil }))
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = k.enqueue("large").ID
		}
		k.drained(pool)
		for _, id := range ids {
			got, err := Result[string](k.ctx(), k.enq, id)
			require.NoError(t, err)
			assert.True(t, want == got)
		}
	})
}
