package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// many are names of as many things as a script takes at once.
func many(prefix string) []string {
	names := make([]string, rdb.MaxBatch)
	for i := range names {
		names[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return names
}

// Lua unpacks at most 8000 values on Redis and 5000 on the embedded one; the largest batch must stay below.
func TestEnqueueTakesAWholeBatch(t *testing.T) {
	t.Parallel()
	batches := map[string]func(j *rdb.NewJob, i int){
		"of one queue":      func(*rdb.NewJob, int) {},
		"at the front":      func(j *rdb.NewJob, _ int) { j.Place = rdb.Front },
		"of as many queues": func(j *rdb.NewJob, i int) { j.Queue = fmt.Sprint("q", i) },
		"of chosen ids":     func(j *rdb.NewJob, _ int) { j.Chosen = true },
		"scheduled": func(j *rdb.NewJob, i int) {
			j.Queue, j.Place, j.When = fmt.Sprint("q", i), rdb.In,
				60_000
		},
		"changing their place": func(j *rdb.NewJob, i int) { j.Place = []rdb.Place{rdb.Back, rdb.Front}[i%2] },
	}
	for name, change := range batches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				jobs := make([]rdb.NewJob, rdb.MaxBatch)
				for i, id := range many("j") {
					jobs[i] = job("a", id)
					change(&jobs[i], i)
				}
				answer, err := s.store.Enqueue(t.Context(), "lane", 1, jobs)
				require.NoError(t, err)
				assert.Empty(t, answer.Problems)
				assert.Len(t, s.hash(t, "jobs"), rdb.MaxBatch)
			})
		})
	}
}

func TestSettlementsTakeAWholeBatch(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", many("j")...)
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, rdb.MaxBatch, "a")
		require.Len(t, claims, rdb.MaxBatch)
		assert.Empty(t, settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(claims), Died: "w1"})))
		claims = s.take(t, w, 2, rdb.MaxBatch, "a")
		assert.Empty(t, settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(claims), Ended: true})))

		done := ended(s.take(t, w, 3, rdb.MaxBatch, "a")...)
		for i := range done {
			done[i].Keep, done[i].Outcome = time.Millisecond, []byte("result")
		}
		assert.Empty(t, settle(t, w, w.Complete(done)))
		assert.Len(t, settle(t, w, w.Complete(done)), rdb.MaxBatch)
		s.pass(t, 5*time.Millisecond)
		swept, err := s.store.RemoveExpiredOutcomes(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, rdb.Expired{Removed: rdb.MaxBatch, More: true}, swept)
	})
}

func TestAWholeBatchOfQueuesIsFetchedAndSettledAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		queues := many("q")[:rdb.MaxQueues]
		shares := make([]rdb.Share, len(queues))
		for i, queue := range queues {
			s.enqueue(t, queue, many(queue + "-")[:8]...)
			shares[i] = rdb.Share{Queue: queue, Jobs: 8}
		}
		w := s.worker(t, "w1", many("q")...)
		fetched, err := w.Fetch(t.Context(), 1, rdb.MaxBatch, true, shares)
		require.NoError(t, err)
		require.Len(t, fetched.Jobs, rdb.MaxBatch)
		_, claims, err := w.Survey(t.Context(), 2, queues)
		require.NoError(t, err)
		require.Len(t, claims, rdb.MaxBatch)
		assert.Empty(t, settle(t, w, w.Complete(ended(claims...))))
		_, gone, err := w.Forget(t.Context(), many("q"), "")
		require.NoError(t, err)
		assert.True(t, gone)
		require.NoError(t, s.store.Wake(t.Context(), many("q")))
	})
}

func TestShelvesMoveAWholeBatch(t *testing.T) {
	t.Parallel()
	for name, queueOf := range map[string]func(i int) string{
		"to one queue":      func(int) string { return "a" },
		"to as many queues": func(i int) string { return fmt.Sprint("q", i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				args, names := []any{}, []any{}
				for i, id := range many("j") {
					args, names = append(args, i+1, id), append(names, id, queueOf(i))
				}
				s.cmd(t, "ZADD", "retry", args...)
				s.cmd(t, "ZADD", "morgue", args...)
				s.cmd(t, "HSET", "names", names...)
				page, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{})
				require.NoError(t, err)
				require.Len(t, page.Page, rdb.MaxBatch)
				moved, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: page.Page})
				require.NoError(t, err)
				assert.Equal(t, rdb.MaxBatch, moved.Moved)
				overdue, err := s.store.Overdue(t.Context(), 0, time.Hour, rdb.MaxBatch)
				require.NoError(t, err)
				assert.Len(t, overdue, rdb.MaxBatch)
			})
		})
	}
}
