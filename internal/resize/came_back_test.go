package resize_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// A held job comes to live where it is held, and the mover dies before it can say so where the job lived. It ends, and
// nothing is left of it: neither does the one count it for ever, nor the other one take it for held elsewhere.
func TestAHeldJobComesHomeAndTheMoverDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		id := earlyID()
		s.store(t, rdb.NewJob{Queue: "busy", ID: id, Chosen: true})
		w, claims := s.work(t, 0, "busy", 1)
		require.Len(t, claims, 1)
		require.NoError(t, resize.Begin(ctx, s.directory, 2, nil))
		require.Len(t, s.foreigners(t), 2, "it lives in the other one")
		require.Error(t, s.to(&dying{named: "partition/receive", at: 1, after: true}, 1))
		for i := range 2 {
			s.cmd(t, i, "UNLINK", "mover") // its time is over
		}
		_, err := w.Settle(ctx, []redisconn.Call{w.End(claims[0], rdb.Ending{ID: id, Queue: "busy", State: "done"})})
		require.NoError(t, err)
		require.NoError(t, resize.Begin(ctx, s.directory, 1, nil))
		s.settleAll(t)
		assert.Empty(t, s.foreigners(t))
		assert.Equal(t, partition.Closed, s.directory.Map().State(1))
	})
}

// A job that was cancelled arrives where it lives, and ends. Its mover dies before it can say so, and a job of the same
// id is stored there: whoever goes on with the batch leaves that one alone.
func TestAnotherJobOfTheIDIsNotCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		id := earlyID()
		s.store(t, rdb.NewJob{Queue: "busy", ID: id, Chosen: true})
		w, claims := s.work(t, 0, "busy", 1)
		require.Len(t, claims, 1)
		require.NoError(t, resize.Begin(ctx, s.directory, 2, nil))
		results, err := ending.Cancel(ctx, s.directory.Store(0), []string{id})
		require.NoError(t, err)
		require.Equal(t, ending.Flagged, results[0].Effect)
		_, err = w.Settle(ctx, []redisconn.Call{w.Release(rdb.Released{Queue: "busy",
			Elements: []string{claims[0].Element}})})
		require.NoError(t, err)
		life, die := context.WithCancel(ctx)
		defer die()
		mover := s.another(&dying{Driver: s.driver, die: die, named: "partition/hand_over", at: 1})
		require.NoError(t, mover.Refresh(ctx))
		_, _ = resize.Settle(life, mover, 0)
		require.Contains(t, s.hash(t, 0, "frozen"), id, "the mover died before it could say so")
		require.NotContains(t, s.hash(t, 1, "jobs"), id, "it has ended where it lives")
		s.cmd(t, 0, "UNLINK", "mover") // its time is over

		s.stamp = 2
		answer := s.store(t, rdb.NewJob{Queue: "busy", ID: id, Chosen: true})
		require.Empty(t, answer.Problems)
		s.settleAll(t)
		assert.NotContains(t, s.hash(t, 0, "frozen"), id)
		assert.Contains(t, s.hash(t, 1, "jobs"), id, "nobody has cancelled that one")
		assert.Equal(t, []string{id}, s.texts(t, s.cmd(t, 1, "LRANGE", "queue:busy", 0, -1)))
	})
}

// earlyID is an id in the first bucket that is brought away.
func earlyID() string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("back%d", i); partition.BucketOfID(id) == 0 {
			return id
		}
	}
}
