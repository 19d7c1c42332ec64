package partitions_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// wipe makes a partition one that was restarted without its data.
func (d *divided) wipe(i int) {
	d.T.Helper()
	const script = "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', k) end return 1"
	replies, err := d.Raw().Driver().Pipeline(d.Ctx(), redisconn.Call{Command: "EVAL",
		Args: []any{script, 0, "{" + partition.Namespace(d.Namespace, i) + "}*"}})
	require.NoError(d.T, err)
	require.NoError(d.T, replies[0].Err)
}

// mapAt is the version of the map that a partition has; 0 where it has none.
func (d *divided) mapAt(i int) int64 {
	d.T.Helper()
	text, err := d.store(i).ReadMap(d.Ctx())
	require.NoError(d.T, err)
	if text == nil {
		return 0
	}
	m, err := partition.Decode(text)
	require.NoError(d.T, err)
	return m.Version
}

// TestAPoolGivesTheMapBack to a partition that has lost it, so that those who start then know of the others.
func TestAPoolGivesTheMapBack(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		for lost := range 2 {
			d := newDivided(t, s, 2)
			d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("load", pooltest.Nothing))
			d.wipe(lost)
			d.Until("the map is there again", func() bool { return d.mapAt(lost) == d.m.Version })
		}
	})
}

// TestAnEnqueuerGivesTheMapBackThatAllHaveLost although no worker knew it any more: none is left that serves one
// partition only.
func TestAnEnqueuerGivesTheMapBackThatAllHaveLost(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 3), newShares()
		shares.Release()
		d.Enqueue("load", 0)
		for i := range 3 {
			d.wipe(i)
		}
		pool := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("load", shares.handle))
		for range 30 {
			d.Enqueue("load", 0)
		}
		for i := 1; i < 3; i++ {
			pooltest.Await(t, d.Spy, func(e event.PartitionJoined) bool { return e.Partition == i })
		}
		shares.Began(t, 30)
		d.Drained(pool)
		for i := range 3 {
			assert.Equal(t, d.m.Version, d.mapAt(i), "partition %d", i)
		}
	})
}
