package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// Jobs that are due in a ms stand in the order of their enqueue, whatever their ids are, whatever stands there already,
// and however a call describes them; those that are due already go to their queue.
func TestCallsOfJobsAtManyTimesKeepTheOrderOfTheEnqueue(t *testing.T) {
	t.Parallel()
	shapes := map[string]func(n int) string{
		"ascending":  func(n int) string { return fmt.Sprintf("%05d", n) },
		"descending": func(n int) string { return fmt.Sprintf("%05d", 99999-n) },
		"any":        func(n int) string { return fmt.Sprintf("%05d", n*7919%100003) },
		// each call ascends, and comes before the one before it
		"ascending in a call": func(n int) string { return fmt.Sprintf("%03d-%05d", 999-n/60, n) },
	}
	for shape, id := range shapes {
		for _, window := range []int{1, 40, 5000} { // ms: crowded, some, many
			t.Run(fmt.Sprintf("%s in %d", shape, window), func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) { s.planAtManyTimes(t, window, id) })
			})
		}
	}
}

func (s *site) planAtManyTimes(t *testing.T, window int, id func(n int) string) {
	from := s.now(t).Add(time.Hour).UnixMilli()
	random := rand.New(rand.NewPCG(1, uint64(window)))
	var planned []rdb.NewJob
	past := map[string][]string{}
	n := 0
	for call := int64(1); call <= 12; call++ {
		var batch []rdb.NewJob
		size := 60
		if call%4 == 0 {
			size = 3 // among many others
		}
		for range size {
			j := job([]string{"a", "b"}[random.IntN(2)], id(n))
			n++
			j.Place, j.When = rdb.At, from+random.Int64N(int64(window))
			if call == 6 && random.IntN(3) == 0 {
				j.When = 1000
				past[j.Queue] = append(past[j.Queue], j.ID)
			} else {
				planned = append(planned, j)
			}
			batch = append(batch, j)
		}
		answer, err := s.store.Enqueue(t.Context(), "lane", call, batch)
		require.NoError(t, err)
		require.Empty(t, answer.Problems)
	}
	for _, queue := range []string{"a", "b"} {
		var wanted, got []string
		ordered := slices.Clone(planned)
		slices.SortStableFunc(ordered, func(x, y rdb.NewJob) int { return int(x.When - y.When) })
		for _, j := range ordered {
			if j.Queue == queue {
				wanted = append(wanted, fmt.Sprint(j.ID, " ", j.When))
			}
		}
		for skip := 0; skip < len(planned); skip += rdb.MaxBatch {
			due, err := s.store.Due(t.Context(), rdb.ShelfScheduled,
				rdb.DueCall{Skip: skip, Ahead: 3 * time.Hour, Brief: true})
			require.NoError(t, err)
			for _, w := range due.Page {
				if w.Queue == queue {
					got = append(got, fmt.Sprint(w.ID, " ", w.Due.UnixMilli()))
				}
			}
		}
		require.Equal(t, wanted, got)
		assert.Equal(t, past[queue], s.list(t, "queue:"+queue))
	}
	for _, j := range planned {
		require.EqualValues(t, j.Record, s.cmd(t, "HGET", "jobs", j.ID))
	}
}

// A call whose jobs are due partly now tells which of them their queue refused, and stores the others.
func TestOfJobsAtManyTimesOnlyThoseThatAreDueNeedTheirQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "SET", "queue:a", "no list")
		from := s.now(t).Add(time.Hour).UnixMilli()
		var batch []rdb.NewJob
		for i, when := range []int64{from, 1000, from + 7, 2000, from} {
			j := job("a", fmt.Sprint("id", i))
			j.Place, j.When = rdb.At, when
			batch = append(batch, j)
		}
		answer, err := s.store.Enqueue(t.Context(), "lane", 1, batch)
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{1: rdb.BadKey, 3: rdb.BadKey}, answer.Problems)
		assert.EqualValues(t, 3, s.cmd(t, "HLEN", "jobs"))
		assert.EqualValues(t, 3, s.cmd(t, "ZCARD", "scheduled"))
	})
}

// What is named to be moved moves also if others have come before it meanwhile, more than a page of them.
func TestDueMovesWhatWasNamedBehindAPageOfOthers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.plan(t, "q", "named", 50)
		s.pass(t, 100*time.Millisecond)
		args := []any{"scheduled"}
		for i := range rdb.MaxBatch {
			args = append(args, 1000, fmt.Sprint("other", i))
		}
		s.cmd(t, "ZADD", args[0].(string), args[1:]...)
		due, err := s.store.Due(t.Context(), rdb.ShelfScheduled,
			rdb.DueCall{Brief: true, Move: []rdb.Waiting{{ID: "named", Queue: "q"}, {ID: "named", Queue: "q"}}})
		require.NoError(t, err)
		assert.Equal(t, 1, due.Moved)
		assert.Equal(t, []string{"named"}, s.list(t, "queue:q"))
		require.Len(t, due.Page, rdb.MaxBatch)
		assert.Equal(t, due.Time, due.Page[0].Due, "since when is not told")
	})
}
