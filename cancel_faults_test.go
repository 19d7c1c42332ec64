package work

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// interfering returns an Inspector whose requests may be interfered with.
func (k *kit) interfering(tamper func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
	error)) *Inspector {
	k.t.Helper()
	driver, err := rdb.Open(k.server.DSN())
	require.NoError(k.t, err)
	k.t.Cleanup(func() { assert.NoError(k.t, driver.Close()) })
	return newInspector(rdb.NewStore(&tampered{Driver: driver, counts: map[string]int{}, tamper: tamper}, k.namespace),
		defaultMorgueLimit)
}

func TestALostReplyToACancellationDoesNoHarm(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"cancel", "end"} {
		for _, place := range []string{"queue", "retry"} {
			t.Run(script+" "+place, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					k.putAside(place, "x")
					lost := 0
					i := k.interfering(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
						replies, err := pass(ctx, calls...)
						if nameOf(calls[0]) == script && lost < 2 {
							lost++
							return nil, errors.New("the reply was lost")
						}
						return replies, err
					})
					results, err := i.Cancel(k.ctx(), "x")
					require.NoError(t, err)
					assert.Equal(t, 2, lost)
					assert.Equal(t, []CancelResult{{"x", CancelEnded, StateCancelled}}, results)
					k.empty("a")
					k.unflagged()
				})
			})
		}
	}
}

// The connection itself is lost, between the work and the word of it.
func TestCancelOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		far, err := NewInspector(proxy.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		defer func() { assert.NoError(t, far.Close()) }()
		receipt := k.enqueue("a")
		swallowed := proxy.SwallowReply(receipt.ID)
		results, err := far.Cancel(k.ctx(), receipt.ID)
		require.NoError(t, err)
		receive(t, swallowed)
		require.NoError(t, results[0].Err())
		proxy.Cut()
		results, err = far.Cancel(k.ctx(), receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, CancelTooLate, results[0].Effect)
		k.empty("a")
		k.unflagged()
	})
}

func TestACancellationThatIsCutOffTellsWhatItDid(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ids []string
		for _, receipt := range k.enqueueNumbers("a", 0, 2*rdb.MaxBatch+1) {
			ids = append(ids, receipt.ID)
		}
		ctx, cancel := context.WithCancel(k.ctx())
		defer cancel()
		scripts := 0
		i := k.interfering(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if nameOf(calls[0]) == "cancel" {
				if scripts++; scripts == 2 {
					cancel()
					return nil, ctx.Err()
				}
			}
			return pass(ctx, calls...)
		})
		results, err := i.Cancel(ctx, ids...)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, fmt.Sprintf("it is not known of %d of %d", rdb.MaxBatch+1, len(ids)))
		require.Len(t, results, len(ids))
		for n, result := range results {
			want := CancelResult{ID: ids[n]}
			if n < rdb.MaxBatch {
				want = CancelResult{ids[n], CancelEnded, StateCancelled}
			}
			require.Equal(t, want, result)
		}
		assert.Equal(t, rdb.MaxBatch+1, k.number("LLEN", "queue:a"))

		results, err = i.Cancel(k.ctx(), ids...)
		require.NoError(t, err, "again, for all")
		for _, result := range results {
			require.NoError(t, result.Err())
		}
		k.empty("a")
		k.unflagged()
	})
}

func TestCancelNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue("a").ID
		k.do("SET", "cancelled", "text")
		results, err := k.enq.Cancel(k.ctx(), id)
		require.ErrorContains(t, err, "{"+k.namespace+"}:cancelled has the wrong type")
		assert.Equal(t, []CancelResult{{ID: id}}, results)
		require.ErrorContains(t, results[0].Err(), "it is not known whether")
		assert.Equal(t, 1, k.number("LLEN", "queue:a"))
		k.do("UNLINK", "cancelled")
	})
}

// Whoever cancels goes away between the flag and the end. What rests in a queue ends at its fetch; on a shelf, by the
// janitor.
func TestTheJanitorEndsWhatWasOnlyFlagged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, place := range []string{"scheduled", "retry", "stalled"} {
			k.putAside(place, place)
		}
		k.putAside("queue", "queue")
		k.do("SADD", "cancelled", "scheduled", "retry", "stalled", "queue", "nobody")
		pool := NewWorkerPool(nil, 1, k.options()).Job("another", func() error { return nil })
		pool.tidying = time.Millisecond
		k.start(pool)
		k.until("only the one in a queue is left", func() bool {
			return k.number("SCARD", "cancelled") == 1 && k.number("HLEN", "jobs") == 1
		})
		for _, id := range []string{"scheduled", "retry", "stalled"} {
			assert.Equal(t, stateCancelled, k.outcomeOf(id).State)
		}
		assert.Equal(t, 1, k.number("SISMEMBER", "cancelled", "queue"))
		assert.Equal(t, 1, k.number("LLEN", "queue:a"))
	})
}

// An id that its enqueuer chose is used again, after the job was flagged and before it is ended: the new job is not
// ended as if it were the old one, but for being asked for itself.
func TestAFlagIsOfOneJobOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.putAside("queue", "x")
		store := inspect(t, s, k.namespace).store
		standings, err := store.Cancel(k.ctx(), []string{"x"})
		require.NoError(t, err)
		ending, rests := endingOf(standings[0])
		require.True(t, rests)
		resting := []rdb.Resting{{Ending: ending, Spot: standings[0].Spot}}
		rested, err := store.EndResting(k.ctx(), resting)
		require.NoError(t, err)
		assert.Equal(t, []rdb.Rested{rdb.RestedEnded}, rested)

		k.putAside("queue", "x")
		rested, err = store.EndResting(k.ctx(), resting) // sent again, late
		require.NoError(t, err)
		assert.Equal(t, []rdb.Rested{rdb.RestedGone}, rested)
		assert.Equal(t, 1, k.number("LLEN", "queue:a"))
		assert.Equal(t, 1, k.number("HLEN", "unique"), "its lock is its own")
	})
}
