package waiting_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

func TestResultIsWhatTheHandlerReturned(t *testing.T) {
	t.Parallel()
	type report struct {
		Rows int64
		Name string
	}
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		receipt, err := b.With(work.Retention(time.Hour)).Enqueue(t.Context(), "a")
		require.NoError(t, err)
		b.End(t, "a", record.Outcome{State: record.Succeeded, EndedAt: 5,
			Result: json.RawMessage(`{"Rows":1234567890123456789,"Name":"x"}`)})
		got, err := work.Result[report](t.Context(), b.Enqueuer, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, report{Rows: 1234567890123456789, Name: "x"}, got)
		asPointer, err := work.Result[*report](t.Context(), b.Enqueuer, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, &got, asPointer)
		_, err = work.Result[[]int](t.Context(), b.Enqueuer, receipt.ID)
		assert.EqualError(t, err, `the result of job "`+receipt.ID+`" does not fit a []int: json: cannot unmarshal object into Go value of type []int`)
	})
}

func TestResultThatIsNotThereSaysWhy(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		ask := func(id string) error {
			_, err := work.Result[int](t.Context(), b.Enqueuer, id)
			return err
		}
		err := ask("nobody")
		require.ErrorIs(t, err, work.ErrGone)
		assert.EqualError(t, err, `job "nobody": no outcome is kept: it has not ended yet, its Retention (by default none) is over, or there was no such job`)

		for name, kept := range map[string]record.Outcome{"dropped": {State: record.Discarded},
			"silent": {State: record.Succeeded}} {
			_, err = b.With(work.ID(name)).Enqueue(t.Context(), name)
			require.NoError(t, err)
			require.ErrorIs(t, ask(name), work.ErrGone, "it has not ended")
			b.End(t, name, kept)
		}
		err = ask("dropped")
		var none *work.NoResultError
		require.ErrorAs(t, err, &none)
		assert.Equal(t, &work.NoResultError{ID: "dropped", State: "discarded"}, none)
		assert.EqualError(t, err, `job "dropped" ended as discarded, so it has no result`)
		assert.EqualError(t, ask("silent"),
			`job "silent" is done but has no result: its handler must return a value beside its error`)

		b.Command(t, "HSET", b.Key("outcomes"), "odd", "not JSON")
		assert.ErrorContains(t, ask("odd"), `the outcome of job "odd" is not what this version writes`)
		assert.EqualError(t, ask(""), "job id is empty: use 1 to 200 bytes of UTF-8")
	})
}

func TestAResultIsReadAsWhatTheHandlerReturned(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := pooltest.Report{Lines: 9007199254740993, Notes: map[string]string{"<&>": "\u2028 日本 \x00"},
			Next: &pooltest.Report{}}
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retention: time.Hour},
				func() (pooltest.Report, error) { return want, nil }).
			JobWithOptions("nil", work.JobOptions{Retention: time.Hour},
				func() (*pooltest.Report, error) { return nil, nil }))
		first, second := k.Enqueue("a").ID, k.Enqueue("nil").ID
		k.Drained(pool)
		got, err := work.Result[pooltest.Report](k.Ctx(), k.Enq, first)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		none, err := work.Result[*pooltest.Report](k.Ctx(), k.Enq, second)
		require.NoError(t, err)
		assert.Nil(t, none)
		_, err = work.Result[[]int](k.Ctx(), k.Enq, first)
		require.ErrorContains(t, err, "does not fit a []int")
		fromPool, err := work.Result[pooltest.Report](k.Ctx(), pool.Enqueuer(), first)
		require.NoError(t, err)
		assert.Equal(t, want, fromPool)
		k.Empty("a", "nil")
	})
}

func TestOutcomesAreKeptForTheirRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		value := func() (int, error) { return 42, nil }
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("by default", value).
			JobWithOptions("by option", work.JobOptions{Retention: time.Hour}, value).
			JobWithOptions("without value", work.JobOptions{Retention: time.Hour}, func() error { return nil }))
		for _, row := range []struct {
			title, name string
			options     []work.EnqueueOption
			kept        time.Duration
		}{
			{"no retention", "by default", nil, 0},
			{"of the job", "by option", nil, time.Hour},
			{"of the enqueue", "by default", []work.EnqueueOption{work.Retention(time.Minute)}, time.Minute},
			{"the enqueue beats a longer one", "by option", []work.EnqueueOption{work.Retention(time.Minute)},
				time.Minute},
			{"a part of a millisecond", "by default", []work.EnqueueOption{work.Retention(time.Minute + 1)},
				time.Minute + time.Millisecond},
		} {
			t.Run(row.title, func(t *testing.T) {
				began := time.Now()
				receipt, err := k.Enq.With(row.options...).Enqueue(k.Ctx(), row.name)
				require.NoError(t, err)
				k.Drained(pool)
				got, err := work.Result[int](k.Ctx(), k.Enq, receipt.ID)
				if row.kept == 0 {
					require.ErrorIs(t, err, work.ErrGone)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, 42, got)
				k.DueIn(began, "outcomes:until", receipt.ID, row.kept)
			})
		}
		t.Run("handler without a value", func(t *testing.T) {
			id := k.Enqueue("without value").ID
			k.Drained(pool)
			_, err := work.Result[int](k.Ctx(), k.Enq, id)
			var none *work.NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, "done", none.State)
		})
	})
}

func TestAResultThatCannotBeKeptFailsTheAttemptOnlyIfItIsToBeKept(t *testing.T) {
	t.Parallel()
	circle := &pooltest.Report{}
	circle.Next = circle
	rows := []struct {
		name   string
		result any
		text   string
	}{
		{"NaN", math.NaN(), "json: unsupported value: NaN"},
		{"a circle", circle, "encountered a cycle"},
		{"MarshalJSON panics", marshals(func() ([]byte, error) { panic("boom") }), "panic: boom"},
		{"MarshalJSON that is no JSON", marshals(func() ([]byte, error) { return []byte("{"), nil }),
			"unexpected end of JSON input"},
		{"a channel inside any", map[string]any{"c": make(chan int)}, "unsupported type: chan int"},
		{"too large", strings.Repeat("x", 1<<20), "its JSON has 1048578 bytes: return at most 1048576"},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.LargeArgs = -1 // else the largest is an object
		pool := work.NewWorkerPool(nil, 1, options)
		for _, row := range rows {
			handler := func() (any, error) { return row.result, nil }
			pool.JobWithOptions(row.name, work.JobOptions{Backoff: pooltest.Hourly, Retention: time.Hour}, handler)
			pool.JobWithOptions(row.name+", not kept", work.JobOptions{Backoff: pooltest.Hourly}, handler)
			k.EnqueueAs(row.name, row.name)
			k.EnqueueAs(row.name+", not kept", row.name+", not kept")
		}
		k.Start(pool)
		k.Drained(pool)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](row.name))
				var refused *work.ResultError
				require.ErrorAs(t, failed.Err, &refused)
				assert.Contains(t, refused.Handler, "result_test.go:")
				assert.Contains(t, k.Trail(row.name).Errors[0].Error, row.text)
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](row.name+", not kept"))
			})
		}
		assert.Equal(t, len(rows), k.Number("HLEN", "jobs"))
		assert.Zero(t, k.Number("HLEN", "outcomes"))
	})
}

func TestTheLargestResultThatIsNoObjectIsKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		want := strings.Repeat("x", pooltest.MaxResultBytes-len(`""`))
		options := k.Options()
		options.LargeArgs = -1
		pool := k.Start(work.NewWorkerPool(nil, 4, options).
			JobWithOptions("large", work.JobOptions{Retention: time.Hour}, func() (string, error) { return want, nil }))
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = k.Enqueue("large").ID
		}
		k.Drained(pool)
		for _, id := range ids {
			got, err := work.Result[string](k.Ctx(), k.Enq, id)
			require.NoError(t, err)
			assert.True(t, want == got)
		}
	})
}

// marshals is a result that says itself what it is as JSON.
type marshals func() ([]byte, error)

func (m marshals) MarshalJSON() ([]byte, error) { return m() }
