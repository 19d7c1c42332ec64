package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// plan schedules a job after so many ms.
func (s *site) plan(t *testing.T, queue, id string, ms int64) {
	t.Helper()
	s.calls++
	j := job(queue, id)
	j.Place, j.When = rdb.In, ms
	_, err := s.store.Enqueue(t.Context(), "lane of the test", s.calls, []rdb.NewJob{j})
	require.NoError(t, err)
}

func waitingIDs(page []rdb.Waiting) []string {
	ids := []string{}
	for _, w := range page {
		ids = append(ids, w.Queue+"/"+w.ID)
	}
	return ids
}

func TestDueMovesWhatIsDueAndSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.plan(t, "a", "a1", 20)
		s.plan(t, "b", "b1", 40)
		s.plan(t, "a", "a2", 60)
		s.plan(t, "a", "a3", 3_600_000)
		due := func(call rdb.DueCall) rdb.Due {
			d, err := s.store.Due(t.Context(), rdb.ShelfScheduled, call)
			require.NoError(t, err)
			return d
		}
		first := due(rdb.DueCall{Ahead: time.Minute})
		assert.Zero(t, first.Moved)
		assert.Equal(t, []string{"a/a1", "b/b1", "a/a2"}, waitingIDs(first.Page))
		assert.Equal(t, first.Page[0].Due, first.Next)

		s.pass(t, 100*time.Millisecond)
		move := append(first.Page, rdb.Waiting{ID: "a3", Queue: "a"}, rdb.Waiting{ID: "gone", Queue: "a"},
			first.Page[0])
		second := due(rdb.DueCall{Move: move, Ahead: time.Minute})
		assert.Equal(t, 3, second.Moved)
		assert.Empty(t, second.Page)
		assert.Equal(t, asInt(t, s.scores(t, "scheduled")["a3"]), second.Next.UnixMilli())
		assert.Equal(t, []string{"a1", "a2"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"b1"}, s.list(t, "queue:b"))
		assert.Equal(t, map[string]string{"a3": "a"}, s.hash(t, "names"))
		assert.Equal(t, []string{"a", "b"}, s.set(t, "ready"))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
		assert.Zero(t, due(rdb.DueCall{Move: first.Page}).Moved, "sent twice")
		assert.Equal(t, []string{"a1", "a2"}, s.list(t, "queue:a"))
	})
}

func TestDueSkipsWhatCannotMoveAndRemovesWhatHasNoRecord(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "x", "nameless")
		s.plan(t, "bad", "bad1", 1)
		s.plan(t, "a", "a1", 2)
		s.cmd(t, "ZADD", "retry", 3, "ghost", 4, "nameless")
		s.cmd(t, "SET", "queue:bad", "something else")
		s.pass(t, 10*time.Millisecond)

		scheduled, err := s.store.Due(t.Context(), rdb.ShelfScheduled,
			rdb.DueCall{Move: []rdb.Waiting{{ID: "bad1", Queue: "bad"}}})
		require.NoError(t, err)
		assert.Equal(t, []string{"bad1"}, scheduled.Stuck)
		assert.Equal(t, []string{"bad/bad1", "a/a1"}, waitingIDs(scheduled.Page))
		scheduled, err = s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Skip: 1})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/a1"}, waitingIDs(scheduled.Page))
		assert.Equal(t, scheduled.Page[0].Due, scheduled.Next)

		retry, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{})
		require.NoError(t, err)
		assert.Equal(t, []string{"/ghost", "/nameless"}, waitingIDs(retry.Page))
		retry, err = s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: retry.Page})
		require.NoError(t, err)
		assert.Equal(t, 1, retry.Removed)
		assert.Equal(t, []string{"/nameless"}, waitingIDs(retry.Page))
		kept, err := s.store.Record(t.Context(), "nameless")
		require.NoError(t, err)
		assert.Equal(t, record("nameless"), kept, "the caller finds the name in it")
		none, err := s.store.Record(t.Context(), "ghost")
		require.NoError(t, err)
		assert.Nil(t, none)
	})
}

func TestDueThatComesLateDoesNotMoveAJobToTheQueueOfItsPredecessor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.plan(t, "a", "mine", 1)
		s.pass(t, 5*time.Millisecond)
		old := rdb.DueCall{Move: []rdb.Waiting{{ID: "mine", Queue: "a"}}}
		due, err := s.store.Due(t.Context(), rdb.ShelfScheduled, old)
		require.NoError(t, err)
		require.Equal(t, 1, due.Moved)
		w := s.worker(t, "w1", "a")
		settle(t, w, w.Complete(ended(s.take(t, w, 1, 1, "a")...)))

		s.plan(t, "b", "mine", 1)
		s.pass(t, 5*time.Millisecond)
		due, err = s.store.Due(t.Context(), rdb.ShelfScheduled, old)
		require.NoError(t, err)
		assert.Zero(t, due.Moved)
		assert.Equal(t, []string{"b/mine"}, waitingIDs(due.Page))
		due, err = s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Move: due.Page})
		require.NoError(t, err)
		assert.Equal(t, 1, due.Moved)
		assert.Equal(t, []string{"mine"}, s.list(t, "queue:b"))
	})
}

func TestDueReadsTheNextPageInTheSameCall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const many = 2*rdb.MaxBatch + 7
		for i := range many {
			s.cmd(t, "ZADD", "retry", i+1, fmt.Sprintf("%04d", i))
			s.cmd(t, "HSET", "names", fmt.Sprintf("%04d", i), "a")
		}
		call, moved, calls := rdb.DueCall{}, 0, 0
		for {
			due, err := s.store.Due(t.Context(), rdb.ShelfRetry, call)
			require.NoError(t, err)
			moved, calls = moved+due.Moved, calls+1
			if len(due.Page) == 0 {
				assert.True(t, due.Next.IsZero())
				break
			}
			call.Move = due.Page
		}
		assert.Equal(t, many, moved)
		assert.Equal(t, 4, calls)
		assert.Equal(t, "0000", s.list(t, "queue:a")[0])
	})
}

func TestOrphanGivesBackWhatNobodyHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage func(t *testing.T, s *site)
		given  bool
		queue  []string
	}{
		"held": {func(*testing.T, *site) {}, false, []string{"a2"}},
		"dead and to be reaped": {func(t *testing.T, s *site) { s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1") },
			false, []string{"a2"}},
		"unknown worker": {func(t *testing.T, s *site) { s.cmd(t, "SREM", "workers", "w1") }, true,
			[]string{"a1", "a2"}},
		"no element": {func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "worker:w1:inprocess:a") }, true,
			[]string{"a1", "a2"}},
		"no element, no record": {func(t *testing.T,
			s *site) {
			s.cmd(t, "UNLINK", "worker:w1:inprocess:a", s.key("jobs"))
		}, true, []string{"a2"}},
		"claimed again meantime": {func(t *testing.T, s *site) { s.cmd(t, "HSET", "claimed", "a1", "w1 2 3 a") }, false,
			[]string{"a2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2")
				s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
				next, page, err := s.store.Holdings(t.Context(), "0")
				require.NoError(t, err)
				require.Equal(t, "0", next)
				require.Len(t, page, 1)
				assert.Equal(t, "1:a1", page[0].Element())
				assert.Equal(t, "w1", page[0].Worker)
				tt.damage(t, s)
				for _, want := range []bool{tt.given, false} {
					given, err := s.store.ReturnClaim(t.Context(), page[0])
					require.NoError(t, err)
					assert.Equal(t, want, given)
					assert.Equal(t, tt.queue, s.list(t, "queue:a"))
				}
			})
		})
	}
}

func TestOrphanOfAClaimThatCannotBeReadNeedsItsQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
		s.cmd(t, "HSET", "claimed", "a1", "nonsense")
		s.cmd(t, "UNLINK", "worker:w1:inprocess:a")
		_, page, err := s.store.Holdings(t.Context(), "0")
		require.NoError(t, err)
		_, err = s.store.ReturnClaim(t.Context(), page[0])
		require.ErrorContains(t, err, "nonsense")
		assert.False(t, s.exists(t, "queue:"), "a queue without a name is served by nobody")
		page[0].Queue = "a"
		given, err := s.store.ReturnClaim(t.Context(), page[0])
		require.NoError(t, err)
		assert.True(t, given)
		assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))
	})
}

func TestSweepRemovesOutcomesThatAreOver(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		s.enqueue(t, "a", "a1", "a2")
		done := ended(s.take(t, w, 1, 2, "a")...)
		done[0].Keep, done[0].Outcome = time.Millisecond, []byte("1")
		done[1].Keep, done[1].Outcome = time.Hour, []byte("2")
		settle(t, w, w.Complete(done))
		s.pass(t, 10*time.Millisecond)
		for _, want := range []int{1, 0} {
			swept, err := s.store.RemoveExpiredOutcomes(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, rdb.Expired{Removed: want}, swept)
		}
		outcome, err := s.store.Outcome(t.Context(), "a2")
		require.NoError(t, err)
		assert.Equal(t, "2", string(outcome))
		assert.Len(t, s.scores(t, "outcomes:until"), 1)
	})
}

func TestRetireLanesRemovesThoseThatAreSilent(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		for i := range 3 * rdb.MaxBatch {
			s.cmd(t, "HSET", "lanes", fmt.Sprintf("old-%d", i), "7 1000 3=duplicate")
		}
		recent := fmt.Sprintf("7 %d", s.now(t).UnixMilli()-1000)
		s.cmd(t, "HSET", "lanes", "recent", recent)
		require.NoError(t, everyPart(func(cursor string) (string,
			error) {
			return s.store.RemoveStaleLanes(t.Context(), cursor, time.Minute)
		}))
		lanes := s.hash(t, "lanes")
		assert.Len(t, lanes, 2)
		assert.Equal(t, recent, lanes["recent"])
		assert.Contains(t, lanes, "lane of the test")
	})
}

// A ms has places for 4095 ids that each sort before the one that came before: the order of more is that of the ids,
// and none is late.
func TestDueKeepsTheOrderOfTheEnqueueWithinAMillisecond(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const jobs, places = 4140, 4095
		at := s.now(t).Add(time.Hour).Truncate(time.Millisecond)
		var wanted []string
		for call := int64(1); len(wanted) < jobs; call++ {
			var batch []rdb.NewJob
			for range 460 {
				j := job("a", fmt.Sprintf("%05d", 99999-len(wanted)))
				j.Place, j.When = rdb.At, at.UnixMilli()
				batch, wanted = append(batch, j), append(wanted, j.ID)
			}
			_, err := s.store.Enqueue(t.Context(), "lane", call, batch)
			require.NoError(t, err)
		}
		due, err := s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Ahead: time.Hour - 20*time.Minute})
		require.NoError(t, err)
		require.Empty(t, due.Page)
		require.Equal(t, at, due.Next, "whole milliseconds")
		for skip := 0; skip < places; skip += len(due.Page) {
			due, err = s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Skip: skip, Ahead: 2 * time.Hour})
			require.NoError(t, err)
			for i, waiting := range due.Page[:min(len(due.Page), places-skip)] {
				require.Equal(t, wanted[skip+i], waiting.ID)
				require.Equal(t, at, waiting.Due)
			}
		}
		within := s.cmd(t, "ZCOUNT", "scheduled", at.UnixMilli(), fmt.Sprint("(", at.UnixMilli()+1))
		assert.EqualValues(t, jobs, within, "none is due in another ms")
	})
}

// The fraction of a score puts nothing off.
func TestDueMovesAllOfAMillisecondAtItsBeginning(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for _, id := range []string{"c", "b", "a"} {
			s.plan(t, "q", id, 50)
		}
		page, err := s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Ahead: time.Minute})
		require.NoError(t, err)
		require.Equal(t, []string{"q/c", "q/b", "q/a"}, waitingIDs(page.Page))
		s.pass(t, 50*time.Millisecond) // on the embedded Redis, no more than that
		due, err := s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Move: page.Page})
		require.NoError(t, err)
		assert.Equal(t, 3, due.Moved)
		assert.Equal(t, []string{"c", "b", "a"}, s.list(t, "queue:q"))
	})
}
