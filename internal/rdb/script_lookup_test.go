package rdb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// meddling is a Driver that counts requests and does something before the second one.
type meddling struct {
	redisconn.Driver
	requests int
	meddle   func()
}

func (m *meddling) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if m.requests++; m.requests == 2 && m.meddle != nil {
		m.meddle()
	}
	return m.Driver.Pipeline(ctx, calls...)
}

// queueA is the name in each record of a test in which all jobs are of queue a.
func queueA([]byte) string { return "a" }

// lookUp looks for one job while something is done between its two requests.
func (s *site) lookUp(t require.TestingT, id string, meddle func()) rdb.Found {
	m := &meddling{Driver: s.driver, meddle: meddle}
	found, err := rdb.NewStore(m, s.namespace).Lookup(context.Background(), []string{id}, queueA)
	require.NoError(t, err)
	require.NoError(t, found[0].Err)
	require.LessOrEqual(t, m.requests, 3, "the third asks the workers of a queue for quotas")
	return found[0]
}

// TestAJobThatMovesBetweenTheRequestsIsSeenOnce has the job go from each place to another after the keys were read.
func TestAJobThatMovesBetweenTheRequestsIsSeenOnce(t *testing.T) {
	t.Parallel()
	shelve := func(shelf rdb.Shelf) func(t *testing.T, s *site, w *rdb.Worker) {
		return func(t *testing.T, s *site, w *rdb.Worker) {
			call := w.Shelve(rdb.Shelved{Claim: rdb.Claim{Queue: "a", Element: "1:x"}, Shelf: shelf, Delay: time.Hour})
			require.Empty(t, settle(t, w, call))
		}
	}
	take := func(t *testing.T, s *site, w *rdb.Worker) { require.Len(t, s.take(t, w, 1, 1, "a"), 1) }
	due := func(t *testing.T, s *site, _ *rdb.Worker) {
		s.cmd(t, "ZADD", "retry", 1, "x")
		answer, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: []rdb.Waiting{{ID: "x", Queue: "a"}}})
		require.NoError(t, err)
		require.Equal(t, 1, answer.Moved)
	}
	release := func(t *testing.T, s *site, w *rdb.Worker) {
		require.Empty(t, settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: []string{"1:x"}})))
	}
	end := func(keep time.Duration) func(t *testing.T, s *site, w *rdb.Worker) {
		return func(t *testing.T, s *site, w *rdb.Worker) {
			done := ended(rdb.Claim{Queue: "a", Element: "1:x"})
			done[0].Keep, done[0].Outcome = keep, []byte("{}")
			require.Empty(t, settle(t, w, w.Complete(done)))
		}
	}
	type step = func(t *testing.T, s *site, w *rdb.Worker)
	for name, c := range map[string]struct {
		before []step
		move   step
		want   rdb.Where
	}{
		"queue to worker":   {nil, take, rdb.WhereClaimed},
		"worker to queue":   {[]step{take}, release, rdb.WhereQueue},
		"worker to retry":   {[]step{take}, shelve(rdb.ShelfRetry), "retry"},
		"worker to later":   {[]step{take}, shelve(rdb.ShelfScheduled), "scheduled"},
		"worker to morgue":  {[]step{take}, shelve(rdb.ShelfMorgue), "morgue"},
		"worker to stalled": {[]step{take}, shelve(rdb.ShelfStalled), "stalled"},
		"retry to queue":    {[]step{take, shelve(rdb.ShelfRetry)}, due, rdb.WhereQueue},
		"worker to its end": {[]step{take}, end(0), rdb.WhereGone},
		"worker to outcome": {[]step{take}, end(time.Hour), rdb.WhereEnded},
		"nowhere to go":     {[]step{take}, func(*testing.T, *site, *rdb.Worker) {}, rdb.WhereClaimed},
		"queue to retry": {nil,
			func(t *testing.T, s *site, w *rdb.Worker) { take(t, s, w); shelve(rdb.ShelfRetry)(t, s, w) }, "retry"},
		"retry to worker": {[]step{take, shelve(rdb.ShelfRetry)},
			func(t *testing.T, s *site, w *rdb.Worker) { due(t, s, w); s.take(t, w, 2, 1, "a") }, rdb.WhereClaimed},
		"worker to the next": {[]step{take}, func(t *testing.T, s *site, w *rdb.Worker) {
			s.cmd(t, "HSET", "worker:w1:running", "x", "5 said before")
			release(t, s, w)
			s.take(t, s.worker(t, "w2", "a"), 1, 1, "a")
		}, rdb.WhereClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "x")
				w := s.worker(t, "w1", "a")
				for _, step := range c.before {
					step(t, s, w)
				}
				found := s.lookUp(t, "x", func() { c.move(t, s, w) })
				assert.Equal(t, c.want, found.Where)
				if c.want != rdb.WhereGone && c.want != rdb.WhereEnded {
					assert.Equal(t, record("x"), found.Record)
				}
				after := s.lookUp(t, "x", nil)
				after.Time, found.Time = time.Time{}, time.Time{}
				found.Alive = after.Alive // of a worker that the first look did not know
				assert.Equal(t, after, found, "it says what a look at rest says")
			})
		})
	}
}

// An id that its enqueuer chose may be that of a job of another queue by the time that the script runs.
func TestAnIDThatIsUsedAgainIsLookedForInItsNewQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "x")
		names := func(record []byte) string { return strings.Fields(string(record))[0] }
		again := func() {
			s.cmd(t, "UNLINK", "queue:a")
			s.cmd(t, "LPUSH", "queue:b", "x", "y")
			s.cmd(t, "HSET", "jobs", "x", "b now")
		}
		s.cmd(t, "HSET", "jobs", "x", "a before")
		m := &meddling{Driver: s.driver, meddle: again}
		found, err := rdb.NewStore(m, s.namespace).Lookup(t.Context(), []string{"x"}, names)
		require.NoError(t, err)
		assert.Equal(t, rdb.WhereQueue, found[0].Where)
		assert.Equal(t, "b now", string(found[0].Record))
		assert.Equal(t, 0, found[0].Waits.Before)
		assert.Equal(t, 4, m.requests)
	})
}

// A record that changes its name each time is not taken for a job that is lost.
func TestAnIDThatChangesItsQueueForEverIsAnError(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "x")
		n := 0
		found, err := s.store.Lookup(t.Context(), []string{"x"},
			func([]byte) string { n++; return fmt.Sprint("queue", n) })
		require.NoError(t, err)
		require.ErrorContains(t, found[0].Err, "ask again")
	})
}

// What a job waits for is told from the keys that a fetch goes by.
func TestLookupTellsWhatAJobWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s *site)
		want    rdb.Waits
	}{
		"nobody":                    {func(t *testing.T, s *site) {}, rdb.Waits{Before: 2}},
		"a worker of another queue": {func(t *testing.T, s *site) { s.worker(t, "w1", "b") }, rdb.Waits{Before: 2}},
		"a worker": {func(t *testing.T, s *site) { s.worker(t, "w1", "b"); s.worker(t, "w2", "a") },
			rdb.Waits{Before: 2, Served: true}},
		"more workers than are asked": {func(t *testing.T, s *site) {
			for i := range 600 {
				s.cmd(t, "SADD", "workers", fmt.Sprint("w", i))
			}
		}, rdb.Waits{Before: 2, Served: true}},
		"a pause": {func(t *testing.T, s *site) { s.cmd(t, "HSET", "limits", "a", "1 - - - -") },
			rdb.Waits{Before: 2, Rule: "1 - - - -"}},
		"the end of all pauses": {func(t *testing.T, s *site) { s.cmd(t, "HSET", "limits", "", "1 - - - -") },
			rdb.Waits{Before: 2, All: true}},
		"a limit": {func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "limits", "a", "0 3 - - -")
			s.cmd(t, "SADD", "running:a", "p", "q", "r")
		}, rdb.Waits{Before: 2, Rule: "0 3 - - -", Running: 3}},
		"a rate": {func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "limits", "a", "0 - 1 3600000 1 -")
			s.cmd(t, "SET", "rate:a", s.now(t).Add(time.Hour).UnixMilli())
		}, rdb.Waits{Before: 2, Rule: "0 - 1 3600000 1 -", Rate: time.Hour}},
		"a rate with room": {func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "limits", "a", "0 - 1 60000 1 -")
		}, rdb.Waits{Before: 2, Rule: "0 - 1 60000 1 -"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "x1", "x2", "x3", "x4")
				c.prepare(t, s)
				got := s.lookUp(t, "x3", nil).Waits
				assert.InDelta(t, c.want.Rate.Seconds(), got.Rate.Seconds(), 60, "a real clock goes on")
				got.Rate = c.want.Rate
				assert.Equal(t, c.want, got)
			})
		})
	}
}

// The cost of a look is bounded: in the middle of a long queue the position is not counted.
func TestThePositionIsToldNearTheEndsOfALongQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const long = 30_000
		for from := 0; from < long; from += rdb.MaxBatch {
			ids := make([]string, rdb.MaxBatch)
			for i := range ids {
				ids[i] = fmt.Sprint("x", from+i)
			}
			s.enqueue(t, "a", ids...)
		}
		for id, want := range map[int]int{0: 0, 1: 1, 9_999: 9_999, 10_000: -1, 19_999: -1, 20_000: 20_000,
			29_999: 29_999} {
			found := s.lookUp(t, fmt.Sprint("x", id), nil)
			assert.Equal(t, rdb.WhereQueue, found.Where, id)
			assert.Equal(t, want, found.Waits.Before, id)
		}
	})
}

// A key of a wrong type is named, and does not hide the jobs that it does not concern.
func TestLookupNamesABrokenKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "b", "x")
		s.enqueue(t, "a", "y")
		s.cmd(t, "HSET", "jobs", "x", "b", "y", "a")
		s.cmd(t, "UNLINK", "queue:b")
		s.cmd(t, "SET", "queue:b", "text")
		found, err := s.store.Lookup(t.Context(), []string{"x", "y", "none"},
			func(record []byte) string { return string(record) })
		require.NoError(t, err)
		require.ErrorContains(t, found[0].Err, s.key("queue:b"))
		assert.Equal(t, rdb.WhereQueue, found[1].Where)
		assert.Equal(t, rdb.WhereGone, found[2].Where)
	})
}

// What stands nowhere, and what stands in two places after somebody tampered with Redis, has one answer.
func TestLookupOfWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "x", "y")
		s.cmd(t, "LREM", "queue:a", 0, "x")
		assert.Equal(t, rdb.WhereNowhere, s.lookUp(t, "x", nil).Where)
		s.cmd(t, "ZADD", "morgue", 5, "y")
		assert.Equal(t, rdb.Where("morgue"), s.lookUp(t, "y", nil).Where, "as the doctor decides")
	})
}
