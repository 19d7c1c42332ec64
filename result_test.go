package work

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// end ends the only job of a queue with that outcome kept.
func (b *enqueueBench) end(t *testing.T, name string, kept outcome) {
	t.Helper()
	jobs := b.fetch(t, name)
	require.Len(t, jobs, 1)
	w := b.worker(t)
	ended := rdb.Ended{Claim: jobs[0].Claim, ID: jobs[0].ID, Keep: time.Hour, Outcome: kept.encode()}
	settled, err := w.Settle(t.Context(), []rdb.Call{w.Complete([]rdb.Ended{ended})})
	require.NoError(t, err)
	require.Empty(t, settled[0].Gone)
}

func TestResultIsWhatTheHandlerReturned(t *testing.T) {
	t.Parallel()
	type report struct {
		Rows int64
		Name string
	}
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		receipt, err := b.With(Retention(time.Hour)).Enqueue(t.Context(), "a")
		require.NoError(t, err)
		b.end(t, "a", outcome{State: stateSucceeded, EndedAt: 5,
			Result: json.RawMessage(`{"Rows":1234567890123456789,"Name":"x"}`)})
		got, err := Result[report](t.Context(), b.Enqueuer, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, report{Rows: 1234567890123456789, Name: "x"}, got)
		asPointer, err := Result[*report](t.Context(), b.Enqueuer, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, &got, asPointer)
		_, err = Result[[]int](t.Context(), b.Enqueuer, receipt.ID)
		assert.EqualError(t, err, `the result of job "`+receipt.ID+`" does not fit a []int: json: cannot unmarshal object into Go value of type []int`)
	})
}

func TestResultThatIsNotThereSaysWhy(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		ask := func(id string) error {
			_, err := Result[int](t.Context(), b.Enqueuer, id)
			return err
		}
		err := ask("nobody")
		require.ErrorIs(t, err, ErrGone)
		assert.EqualError(t, err, `job "nobody": no outcome is kept: it has not ended yet, its Retention (by default none) is over, or there was no such job`)

		for name, kept := range map[string]outcome{"dropped": {State: stateDiscarded},
			"silent": {State: stateSucceeded}} {
			_, err = b.With(ID(name)).Enqueue(t.Context(), name)
			require.NoError(t, err)
			require.ErrorIs(t, ask(name), ErrGone, "it has not ended")
			b.end(t, name, kept)
		}
		err = ask("dropped")
		var none *NoResultError
		require.ErrorAs(t, err, &none)
		assert.Equal(t, &NoResultError{ID: "dropped", State: "discarded"}, none)
		assert.EqualError(t, err, `job "dropped" ended as discarded, so it has no result`)
		assert.EqualError(t, ask("silent"),
			`job "silent" is done but has no result: its handler must return a value beside its error`)

		b.command(t, "HSET", b.key("outcomes"), "odd", "not JSON")
		assert.ErrorContains(t, ask("odd"), `the outcome of job "odd" is not what this version writes`)
		assert.EqualError(t, ask(""), "job id is empty: use 1 to 200 bytes of UTF-8")
	})
}

func TestOutcomeEncodesAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]outcome{
		"with a result":    {State: stateSucceeded, EndedAt: 1732100000000, Result: json.RawMessage(`["<a>",1]`)},
		"without a result": {State: stateDiscarded, EndedAt: -1},
		"odd":              {State: "a\"b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, encodedByJSON(t, o), string(o.encode()))
		})
	}
}
