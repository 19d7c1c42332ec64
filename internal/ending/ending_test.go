package ending_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// stored is a namespace with three jobs of the queue "n": one that waits, one that is scheduled, and one in the morgue.
func stored(t *testing.T, s redistest.Server) *rdb.Store {
	t.Helper()
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	store := rdb.NewStore(driver, redistest.Namespace(t))
	raw := func(id string) []byte { return (&record.Record{ID: id, Name: "n"}).Append(nil) }
	_, err = store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{
		{Queue: "n", ID: "waits", Place: rdb.Back, Record: raw("waits")},
		{Queue: "n", ID: "later", Place: rdb.In, When: time.Hour.Milliseconds(), Record: raw("later")},
	})
	require.NoError(t, err)
	for _, call := range []redisconn.Call{
		{Command: "HSET", Args: []any{store.FullName("jobs"), "dead", raw("dead")}},
		{Command: "HSET", Args: []any{store.FullName("names"), "dead", "n"}},
		{Command: "ZADD", Args: []any{store.FullName("morgue"), 1000, "dead"}},
	} {
		_, err := redisconn.Do(t.Context(), driver, call)
		require.NoError(t, err)
	}
	return store
}

func TestWhatBecomesOfJobsThatAreCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		store := stored(t, s)
		results, err := ending.Cancel(t.Context(), store, []string{"waits", "later", "dead", "nobody"})
		require.NoError(t, err)
		assert.Equal(t, []ending.Cancellation{
			{ID: "waits", Effect: ending.Ended, State: "cancelled"},
			{ID: "later", Effect: ending.Ended, State: "cancelled"},
			{ID: "dead", Effect: ending.Dead, State: "dead"},
			{ID: "nobody", Effect: ending.NotFound},
		}, results)
		_, err = ending.Cancel(t.Context(), store, []string{"waits", ""})
		var bad *invalid.Error
		require.ErrorAs(t, err, &bad)
	})
}

func TestJobsInQueuesAreLeftToWhoeverFetchesThem(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		store := stored(t, s)
		require.NoError(t, ending.CancelOnShelves(t.Context(), store, []string{"waits", "later"}))
		left, err := store.Record(t.Context(), "waits")
		require.NoError(t, err)
		assert.NotNil(t, left)
		left, err = store.Record(t.Context(), "later")
		require.NoError(t, err)
		assert.Nil(t, left)
	})
}

func TestADeadJobIsDeletedWhereItWasSeen(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		store := stored(t, s)
		page, err := store.Overdue(t.Context(), 0, time.Hour, 10)
		require.NoError(t, err)
		require.Len(t, page, 1)
		now, _, err := store.Describe(t.Context(), page)
		require.NoError(t, err)
		for _, want := range []bool{true, false} { // it is gone the second time
			obeyed, err := store.Execute(t.Context(), []rdb.Order{ending.Delete(store, &page[0], now)})
			require.NoError(t, err)
			assert.Equal(t, want, obeyed[0].Answer == rdb.AnswerDone)
		}
		left, err := store.Record(t.Context(), "dead")
		require.NoError(t, err)
		assert.Nil(t, left)
	})
}
