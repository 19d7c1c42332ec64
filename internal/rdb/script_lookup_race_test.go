package rdb_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// TestAJobThatLivesIsAlwaysFound has a job go round in random ways while it is looked for all the time.
func TestAJobThatLivesIsAlwaysFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const rounds = 1_000
		s.enqueue(t, "a", "x")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var lookers sync.WaitGroup
		seen := make([]map[rdb.Where]int, 2)
		for i := range seen {
			seen[i] = map[rdb.Where]int{}
			lookers.Go(func() {
				for ctx.Err() == nil {
					found, err := s.store.Lookup(context.Background(), []string{"x"}, queueA)
					if !assert.NoError(t, err) || !assert.NoError(t, found[0].Err) {
						return
					}
					seen[i][found[0].Where]++
				}
			})
		}
		w := s.worker(t, "w1", "a")
		for n := range rounds {
			s.goRound(t, w, int64(n+1))
		}
		stop()
		lookers.Wait()
		for _, places := range seen {
			for _, place := range []rdb.Where{rdb.WhereGone, rdb.WhereEnded, rdb.WhereNowhere} {
				assert.Zero(t, places[place], place)
			}
			assert.Greater(t, len(places), 1, "it was seen on the move: %v", places)
		}
	})
}

// goRound brings a job from its queue to a worker, and back to its queue in one of three ways.
func (s *site) goRound(t *testing.T, w *rdb.Worker, number int64) {
	claim := s.take(t, w, number, 1, "a")[0]
	shelf := []rdb.Shelf{"", rdb.ShelfRetry, rdb.ShelfScheduled}[rand.N(3)]
	if shelf == "" {
		require.Empty(t, settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: []string{claim.Element}})))
		return
	}
	require.Empty(t, settle(t, w, w.Shelve(rdb.Shelved{Claim: claim, Shelf: shelf, Delay: time.Hour})))
	s.cmd(t, "ZADD", string(shelf), 1, "x") // it is due
	answer, err := s.store.Due(context.Background(), shelf, rdb.DueCall{Move: []rdb.Waiting{{ID: "x", Queue: "a"}}})
	require.NoError(t, err)
	require.Equal(t, 1, answer.Moved)
}
