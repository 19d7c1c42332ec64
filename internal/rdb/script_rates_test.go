package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// rated stores so many jobs of queue a under a rule, and returns a worker for them.
func (s *site) rated(t *testing.T, jobs int, limit rdb.Limit) *rdb.Worker {
	t.Helper()
	ids := make([]string, jobs)
	for i := range ids {
		ids[i] = fmt.Sprint("a", i)
	}
	s.enqueue(t, "a", ids...)
	s.limit(t, "a", rdb.Rule{Limit: limit})
	return s.worker(t, "w1", "a")
}

func fetch(t *testing.T, w *rdb.Worker, number int64, wanted int) rdb.Fetched {
	t.Helper()
	fetched, err := w.Fetch(t.Context(), number, wanted, false, []rdb.Share{{Queue: "a", Jobs: wanted}})
	require.NoError(t, err)
	require.Equal(t, rdb.Registered, fetched.State)
	return fetched
}

func TestAFetchThatUsesUpARateSaysWhenTheNextMayBegin(t *testing.T) {
	t.Parallel()
	hourly := rdb.Limit{Jobs: 10, Per: time.Hour, Burst: 3}
	both := hourly
	both.Concurrent = 7
	full := hourly
	full.Concurrent = 3
	for name, row := range map[string]struct {
		limit rdb.Limit
		known bool
	}{
		"a rate":                   {hourly, true},
		"a rate before a limit":    {both, true},
		"a limit as full as that":  {full, false},
		"a limit without any rate": {rdb.Limit{Concurrent: 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.rated(t, 5, row.limit)
				fetched := fetch(t, w, 1, 9)
				require.Len(t, fetched.Jobs, 3)
				wait, held := fetched.Held["a"]
				require.True(t, held)
				if !row.known {
					assert.Negative(t, wait)
					return
				}
				assert.Greater(t, wait, 5*time.Minute)
				assert.LessOrEqual(t, wait, 6*time.Minute)
			})
		})
	}
}

// What is taken ahead of its time comes with that time, and nothing else comes later.
func TestAFetchTakesJobsAheadOfTheirTime(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.rated(t, 20, rdb.Limit{Jobs: 10, Per: time.Second, Burst: 2})
		w.Ahead = 450 * time.Millisecond
		fetched := fetch(t, w, 1, 20)
		require.Len(t, fetched.Jobs, 6, "a burst of 2, and 4 ahead")
		for i, job := range fetched.Jobs {
			assert.InDelta(t, max(0, i-1)*100, job.In.Milliseconds(), 1, "job %d", i)
		}
		assert.InDelta(t, 500, fetched.Held["a"].Milliseconds(), 1, "until the next one, ahead or not")
		w.Ahead = 0
		assert.Empty(t, fetch(t, w, 2, 20).Jobs, "those count")
	})
}

func TestAWorkerIsCalledToWaitForARate(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.rated(t, 4, rdb.Limit{Jobs: 1, Per: time.Hour, Burst: 1})
		require.Len(t, fetch(t, w, 1, 9).Jobs, 1)
		s.cmd(t, "UNLINK", "wake:a")
		require.NoError(t, s.store.Wake(t.Context(), []string{"a"}))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"), "nothing but time makes room: somebody is to wait for it")

		s.cmd(t, "UNLINK", "wake:a", s.key("rate:a"))
		require.Len(t, fetch(t, w, 2, 9).Jobs, 1)
		assert.False(t, s.exists(t, "wake:a"), "the one that fetched has processors left, and waits itself")
		s.cmd(t, "UNLINK", "wake:a", s.key("rate:a"))
		require.Len(t, fetch(t, w, 3, 1).Jobs, 1)
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"), "it has none left: another one is called")
	})
}

// No more is owed than the burst takes: what lies further ahead was written before somebody set the clock back.
func TestAClockThatWasSetBackHoldsNoRateUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.rated(t, 9, rdb.Limit{Jobs: 10, Per: time.Second, Burst: 2})
		s.cmd(t, "SET", "rate:a", s.now(t).Add(time.Hour).UnixMilli())
		require.Len(t, fetch(t, w, 1, 9).Jobs, 2)
		assert.LessOrEqual(t, s.cmd(t, "PTTL", "rate:a"), int64(300), "from there on all is as it should be")
	})
}
