package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

// divide makes a driver for the namespace of a kit, of which partitions may fail.
func (k *kit) divide(s redistest.Server) (*partitiontest.Outages, *work.Enqueuer) {
	k.Helper()
	driver, err := redisconn.Open(s.DSN())
	require.NoError(k, err)
	k.Cleanup(func() { _ = driver.Close() })
	outages := partitiontest.NewOutages(driver, k.namespace)
	enq, err := work.NewEnqueuer("", work.Namespace(k.namespace),
		work.WithConnection(pooltest.Connection{Of: outages}))
	require.NoError(k, err)
	k.Cleanup(func() { _ = enq.Close() })
	return outages, enq
}

// where are the partitions that have each job.
func (k *kit) where(driver redisconn.Driver, n int) map[string][]int {
	k.Helper()
	at := map[string][]int{}
	for i := range n {
		value, err := redisconn.Do(context.Background(), driver, redisconn.Call{Command: "HKEYS",
			Args: []any{"{" + partition.Namespace(k.namespace, i) + "}:jobs"}})
		require.NoError(k, err)
		for _, id := range value.([]any) {
			at[string(id.([]byte))] = append(at[string(id.([]byte))], i)
		}
	}
	return at
}

// countAt is how many jobs a partition has.
func countAt(where map[string][]int, partition int) (n int) {
	for _, at := range where {
		if slices.Contains(at, partition) {
			n++
		}
	}
	return n
}

// written writes jobs that are bound by their ids, and as many that are not.
func (k *kit) written(n int, prefix string) (ids []string) {
	k.Helper()
	for i := range n {
		receipts := k.enqueue(work.Entry{Name: "a", Args: []any{i}}, work.Entry{Name: "a", Args: []any{i},
			Options: []work.EnqueueOption{work.ID(fmt.Sprint(prefix, i))}})
		ids = append(ids, receipts[0].ID, receipts[1].ID)
	}
	return ids
}

// TestAnOutboxOfSeveralPartitions relays while a namespace is divided, and divided otherwise.
func TestAnOutboxOfSeveralPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		outages, enq := k.divide(s)
		relay := k.relay(enq, outbox.RelayOptions{Batch: 20})
		claimed := 0
		relay.At(func(step string) {
			if claimed++; step == "claimed" && claimed%5 == 1 && claimed < 40 { // behind the assignment of a call
				m := partitiontest.Divided(int64(claimed), 1+claimed/10)
				partitiontest.WriteMap(t, outages.Driver, k.namespace, m)
			}
		})
		ids := k.written(60, "given-")
		k.run(relay)
		k.emptied()
		at := k.where(outages.Driver, 5)
		assert.Len(t, at, len(ids))
		used := map[int]bool{}
		for _, id := range ids {
			require.Len(t, at[id], 1, "stored once")
			used[at[id][0]] = true
		}
		assert.Greater(t, len(used), 1)
		assert.Empty(t, told[outbox.Parked](k))
		assert.Empty(t, told[outbox.Trouble](k))
	})
}

// A call that was executed, and whose reply is lost, is answered by the partition where it was sent, wherever its jobs
// would go by then.
func TestALostReplyOfAPartitionStoresNothingElsewhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		outages, enq := k.divide(s)
		partitiontest.WriteMap(t, outages.Driver, k.namespace, partitiontest.Divided(1, 2))
		asked := map[int]bool{} // for its layout: the reply to that question is not the one to lose
		for i := range 8 {
			id := fmt.Sprint("asked-", i)
			_, err := enq.EnqueueMany(t.Context(), []work.Entry{{Name: "b",
				Options: []work.EnqueueOption{work.ID(id)}}})
			require.NoError(t, err)
			asked[k.where(outages.Driver, 2)[id][0]] = true
		}
		require.Len(t, asked, 2)
		first := k.where(outages.Driver, 2)
		ids := k.written(20, "given-")
		outages.Set(1, partitiontest.Mute)
		relay := k.relay(enq, outbox.RelayOptions{Batch: 10})
		var once sync.Once
		relay.At(func(step string) {
			// Several lanes claim at a time: that one has claimed again does not say that anything was sent before.
			if step == "claimed" && countAt(k.where(outages.Driver, 2), 1) > countAt(first, 1) {
				once.Do(func() {
					m := partitiontest.Divided(2, 2)
					for bucket := range m.Buckets {
						m.Buckets[bucket] = 0
					}
					partitiontest.WriteMap(t, outages.Driver, k.namespace, m)
					outages.Up(1)
				})
			}
		})
		k.run(relay)
		k.emptied()
		at := k.where(outages.Driver, 2)
		assert.Len(t, at, len(first)+len(ids))
		in := map[int]int{}
		for _, id := range ids {
			require.Len(t, at[id], 1, "stored once: %s", id)
			in[at[id][0]]++
		}
		assert.Positive(t, in[1], "what was executed there")
		assert.Greater(t, in[0], in[1], "and the others where they belong now")
		assert.Empty(t, told[outbox.Parked](k))
	})
}

// Rows that are bound by something that is on its way wait for it, and for nothing else: others behind them do not, the
// relay rests meanwhile, and it finds out by itself when all has arrived.
func TestRowsThatWaitForAMoveHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		batch, behind int
		poll          time.Duration
	}{
		"several batches of them":     {4, 9, time.Hour},
		"one batch, and no others":    {11, 0, time.Hour},
		"all of both in one batch":    {500, 9, time.Hour},
		"by a relay that looks often": {500, 9, time.Millisecond},
		"one of others in each one":   {12, 30, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				waitForAMove(t, s, row.behind, outbox.RelayOptions{Batch: row.batch, Poll: row.poll})
			})
		})
	}
}

// holding is an outbox with so many rows that wait for what is on its way.
func holding(t *testing.T, s redistest.Server, rows int) (*kit, *partitiontest.Outages, *work.Enqueuer) {
	t.Helper()
	k := newKit(t, sqlite(t), s.DSN())
	outages, enq := k.divide(s)
	moving := partitiontest.Divided(1, 2)
	moving.Moving = map[int]int{}
	for bucket := range moving.Buckets {
		moving.Moving[bucket] = 1 - moving.Buckets[bucket]
	}
	partitiontest.WriteMap(t, outages.Driver, k.namespace, moving)
	_, err := enq.EnqueueMany(t.Context(), []work.Entry{{Name: "learns the map"}})
	require.NoError(t, err)
	for i := range rows {
		k.enqueue(work.Entry{Name: "a", Options: []work.EnqueueOption{work.ID(fmt.Sprint("held-", i))}})
	}
	return k, outages, enq
}

// Nobody asks for a move any more once the rows that waited for it are gone.
func TestRowsThatAreDeletedAreNotHeld(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, _, enq := holding(t, s, 3)
		relay := k.relay(enq, outbox.RelayOptions{})
		more, holds, err := relay.Round(t.Context())
		require.NoError(t, err)
		assert.False(t, more)
		assert.True(t, holds)
		k.exec("DELETE FROM $")
		_, holds, err = relay.Round(t.Context())
		require.NoError(t, err)
		assert.False(t, holds)
	})
}

func waitForAMove(t *testing.T, s redistest.Server, behind int, options outbox.RelayOptions) {
	t.Helper()
	const held = 11
	k, outages, enq := holding(t, s, held)
	for range behind {
		k.enqueue(work.Entry{Name: "a"})
	}
	k.exec("UPDATE $ SET lane = 3")
	stop := k.run(k.relay(enq, options))
	left := func(n int64) func() bool { return func() bool { return k.number("SELECT COUNT(*) FROM $") == n } }
	require.Eventually(t, left(held), patience, time.Millisecond, "those that are bound by nothing")
	k.box.Wake()
	require.Eventually(t, k.box.Heeded, patience, time.Millisecond, "it rests")
	partitiontest.WriteMap(t, outages.Driver, k.namespace, partitiontest.Divided(2, 2))
	require.Eventually(t, left(0), patience, time.Millisecond)
	stop()
	assert.Len(t, k.where(outages.Driver, 2), held+behind+1)
	assert.Empty(t, told[outbox.Parked](k))
	assert.Empty(t, told[outbox.Trouble](k))
	if options.Batch == 12 {
		assert.Less(t, len(told[outbox.Relayed](k)), 8, "calls are full where they can be")
	}
}
