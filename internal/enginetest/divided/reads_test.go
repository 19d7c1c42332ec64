package divided_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
)

// later stores jobs that are due in an hour, as many as make each partition have some, and returns their ids.
func (s *shop) later(jobs int, opts ...work.EnqueueOption) (ids []string) {
	s.t.Helper()
	enq := s.With(opts...)
	for range jobs {
		receipt, err := enq.EnqueueIn(s.t.Context(), "a", time.Hour)
		require.NoError(s.t, err)
		ids = append(ids, receipt.ID)
	}
	return ids
}

// move moves a job that is due later as a mover leaves it: all of it is there, and nothing here.
func (s *shop) move(id string, from, to int) {
	s.t.Helper()
	s.do(to, "HSET", "jobs", id, s.do(from, "HGET", "jobs", id))
	s.do(to, "HSET", "names", id, s.do(from, "HGET", "names", id))
	s.do(to, "ZADD", "scheduled", s.do(from, "ZSCORE", "scheduled", id), id)
	s.do(from, "ZREM", "scheduled", id)
	s.do(from, "HDEL", "names", id)
	s.do(from, "HDEL", "jobs", id)
}

func TestJobsAreCancelledWhereverTheyAre(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		ids := s.later(6)
		ids = append(ids, s.later(1, work.ID("given"))...)
		s.move(ids[0], s.home(ids[0]), (s.home(ids[0])+1)%3)
		fresh := s.another() // which knows of one partition
		results, err := fresh.Cancel(t.Context(), append(ids, "nobody")...)
		require.NoError(t, err)
		for i, id := range ids {
			assert.Equal(t, work.CancelResult{ID: id, Effect: work.CancelEnded, State: work.StateCancelled}, results[i])
		}
		assert.Equal(t, work.CancelResult{ID: "nobody", Effect: work.CancelNotFound}, results[len(ids)])
		at, _ := s.places()
		assert.Empty(t, at)
	})
}

func TestWhatIsNotFoundIsSoEverywhere(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		ids := s.later(6)
		_, err := work.Result[int](t.Context(), s.Enqueuer, "nobody")
		require.ErrorIs(t, err, work.ErrGone)
		s.outages.Set(2, partitiontest.Down)
		_, err = work.Result[int](soon(t, 300*time.Millisecond), s.Enqueuer, s.givenIn(1, "nobody"))
		require.NotErrorIs(t, err, work.ErrGone)
		var away *work.PartitionError
		require.ErrorAs(t, err, &away)
		assert.Equal(t, 2, away.Partition)

		ctx := soon(t, 20*time.Second)
		results, err := s.Cancel(ctx, append(ids, s.givenIn(1, "nobody"))...)
		require.ErrorAs(t, err, &away)
		assert.Equal(t, 2, away.Partition)
		ended, unknown := 0, 0
		for _, result := range results {
			switch result.Effect {
			case work.CancelEnded:
				ended++
			case "":
				unknown++
			}
		}
		assert.Equal(t, []int{4, 3}, []int{ended, unknown}, "%+v", results)
		for i, id := range ids {
			if results[i].Effect != "" {
				_, err := work.Result[int](ctx, s.Enqueuer, id)
				var none *work.NoResultError
				require.ErrorAs(t, err, &none)
				assert.Equal(t, "cancelled", none.State)
			}
		}
	})
}

func TestWaitsForJobsOfAllPartitions(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		ids := append(s.later(5), s.later(1, work.ID("given"))...)
		fresh := s.another()
		var waiting sync.WaitGroup
		waiting.Go(func() {
			_, err := work.WaitAll[int](t.Context(), fresh, ids...)
			assert.ErrorIs(t, err, work.ErrCancelled)
			var none *work.NoResultError
			assert.ErrorAs(t, err, &none)
		})
		s.awaited(ids)
		_, err := s.Cancel(t.Context(), ids...)
		require.NoError(t, err)
		waiting.Wait()
		assert.ErrorIs(t, fresh.WaitEnd(t.Context(), "nobody"), work.ErrGone)
	})
}

// awaited waits until Redis knows that all of the jobs are waited for.
func (s *shop) awaited(ids []string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		notes := 0
		for i := range s.m.Len() {
			known, _ := s.do(i, "HLEN", "waited").(int64)
			notes += int(known)
		}
		return notes >= len(ids)
	}, pooltest.Patience, 5*time.Millisecond)
}

func TestAWaitFollowsAJobThatIsMoved(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		id := s.later(1)[0]
		from := s.home(id)
		to := (from + 1) % 3
		ended := make(chan error, 1)
		go func() { ended <- s.WaitEnd(soon(t, pooltest.Patience), id) }()
		s.awaited([]string{id})
		s.move(id, from, to)
		require.Eventually(t, func() bool {
			known, _ := s.do(to, "HEXISTS", "waited", id).(int64)
			return known == 1
		}, pooltest.Patience, 10*time.Millisecond, "it is waited for where it is now")
		_, err := s.Cancel(t.Context(), id)
		require.NoError(t, err)
		assert.ErrorIs(t, <-ended, work.ErrCancelled)
	})
}

func TestAPartitionThatIsDownHoldsUpNoOtherWait(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		ids := s.later(3)
		require.NotEqual(t, s.home(ids[0]), s.home(ids[1]))
		require.NotEqual(t, s.home(ids[0]), s.home(ids[2]))
		s.outages.Set(s.home(ids[0]), partitiontest.Down)
		_, err := s.Cancel(soon(t, 20*time.Second), ids[1], ids[2])
		require.NoError(t, err)
		for _, id := range ids[1:] {
			require.ErrorIs(t, s.WaitEnd(soon(t, 5*time.Second), id), work.ErrCancelled)
		}
		err = s.WaitEnd(soon(t, 200*time.Millisecond), ids[0])
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var away *work.PartitionError
		require.ErrorAs(t, err, &away)
		id, _, err := work.WaitAny[int](soon(t, 5*time.Second), s.Enqueuer, ids[0], ids[2])
		assert.Equal(t, ids[2], id)
		assert.ErrorIs(t, err, work.ErrCancelled)
	})
}

func TestACompletionQueueIsReadInAllPartitions(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		ids := s.later(9, work.Completion("ends"))
		fresh := s.another()
		read := func(enq *work.Enqueuer, n int) (got []string) {
			for range n {
				ended, err := enq.Completions("ends").Next(soon(t, 20*time.Second))
				if !assert.NoError(t, err) {
					return got
				}
				assert.Equal(t, work.StateCancelled, ended.State)
				got = append(got, ended.ID)
			}
			return got
		}
		var first, second []string
		var reading sync.WaitGroup
		reading.Go(func() { first = read(s.Enqueuer, 5) })
		reading.Go(func() { second = read(s.Enqueuer, 4) })
		_, err := s.Cancel(t.Context(), ids...)
		require.NoError(t, err)
		reading.Wait()
		assert.ElementsMatch(t, ids, append(first, second...), "each once")

		more := s.later(6, work.Completion("ends"))
		_, err = s.Cancel(t.Context(), more...)
		require.NoError(t, err)
		_, err = fresh.Cancel(t.Context(), "nobody") // it learns of the partitions
		require.NoError(t, err)
		s.outages.Set(1, partitiontest.Down)
		got := read(fresh, 4)
		s.outages.Up(1)
		got = append(got, read(fresh, 2)...)
		assert.ElementsMatch(t, more, got)
		_, err = fresh.Completions("ends").Next(soon(t, 100*time.Millisecond))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestAReplyThatIsLostTakesNoEntryFromACompletionQueue(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, s *shop) {
		ids := s.later(4, work.Completion("ends"))
		_, err := s.Cancel(t.Context(), ids...)
		require.NoError(t, err)
		s.outages.Set(1, partitiontest.Mute)
		var got []string
		next := func(d time.Duration) error {
			ended, err := s.Completions("ends").Next(soon(t, d))
			if err == nil {
				got = append(got, ended.ID)
			}
			return err
		}
		require.NoError(t, next(5*time.Second))
		require.NoError(t, next(5*time.Second))
		require.Error(t, next(300*time.Millisecond), "what is taken there is not told")
		s.outages.Up(1)
		require.NoError(t, next(20*time.Second))
		require.NoError(t, next(5*time.Second))
		assert.ElementsMatch(t, ids, got)
	})
}

func TestNamesThatAreServedInAnyPartition(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		s.do(2, "ZADD", "served", time.Now().UnixMilli(), "a")
		enq := s.another(work.ServedNames())
		_, _ = enq.Cancel(t.Context(), "nobody") // it learns of the partitions
		_, err := enq.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		_, err = enq.Enqueue(t.Context(), "b")
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		s.outages.Set(0, partitiontest.Down)
		require.NoError(t, enq.SyncClock(soon(t, 5*time.Second)))
		other := s.another(work.ServedNames())
		_, _ = other.Enqueue(soon(t, 5*time.Second), "x") // it finds the others
		_, err = other.Enqueue(soon(t, 5*time.Second), "a")
		require.NoError(t, err)
	})
}
