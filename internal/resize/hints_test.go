package resize_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// divided is a town of three partitions of which each may be away, and an operator who knows them.
type divided struct {
	*town
	outages  *partitiontest.Outages
	operator *inspect.Inspector
}

func newDivided(t *testing.T, server redistest.Server) *divided {
	t.Helper()
	d := &divided{town: newTown(t, server)}
	partitiontest.WriteMap(t, d.driver, d.namespace, partitiontest.Divided(1, 3))
	d.outages = partitiontest.NewOutages(d.driver, d.namespace)
	d.operator = d.town.operator(t, d.outages)
	d.directory = d.another(d.outages)
	require.NoError(t, d.directory.Refresh(context.Background()))
	return d
}

// later says something while partition 1 is away: that partition is told later.
func (d *divided) later(t *testing.T, say func(context.Context, ...string) error, names ...string) {
	t.Helper()
	var partial *inspect.PartialError
	require.ErrorAs(t, say(context.Background(), names...), &partial)
	require.Len(t, partial.Missing, 1)
	assert.Equal(t, []any{3, 1, true}, []any{partial.Asked, partial.Missing[0].Partition, partial.Later})
	assert.ErrorContains(t, partial, "2 of 3 partitions have answered; they are told when they are back: partition 1")
}

// turn is a turn of the maintenance of those that are not away. It returns how much is left.
func (d *divided) turn(t *testing.T) (left int) {
	t.Helper()
	for i := range 3 {
		n, err := resize.Settle(context.Background(), d.directory, i)
		require.NoError(t, err, "partition %d", i)
		left += n
	}
	return left
}

// all compares what is paused in all partitions, and looks whether no hint is left.
func (d *divided) all(t *testing.T, names ...string) {
	t.Helper()
	for i := range 3 {
		assert.Equal(t, names, d.paused(t, i), "partition %d", i)
		assert.Empty(t, d.hash(t, i, "hints"), "partition %d", i)
	}
}

// A partition that was away is told in the first turn of the others after that.
func TestAPartitionThatWasAwayIsToldWhatWasSaid(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		d := newDivided(t, server)
		ctx := context.Background()
		require.NoError(t, d.operator.PauseQueue(ctx, "late"))
		require.NoError(t, d.operator.PauseAll(ctx))
		_, err := d.directory.Store(1).EnqueueIn(ctx, rdb.LaneCall{Lane: "lane", Number: 1, Map: 1}, []rdb.NewJob{{
			Queue: "uni", ID: "x", Place: rdb.Back, Record: []byte(`{"jid":"x","name":"uni","args":[],"t":1}`)}})
		require.NoError(t, err)
		for _, fault := range []partitiontest.Fault{partitiontest.Down, partitiontest.Mute, partitiontest.Loading} {
			d.outages.Set(1, fault)
			d.later(t, d.operator.PauseQueue, "plain", "uni")
			d.later(t, d.operator.ResumeQueue, "late")
			d.later(t, func(ctx context.Context, _ ...string) error { return d.operator.ResumeAll(ctx) })
			require.Equal(t, []string{"plain", "uni"}, d.paused(t, 0))
			left, err := resize.Settle(ctx, d.directory, 0)
			require.ErrorContains(t, err, "partition 1")
			assert.Equal(t, 4, left, "it is looked at again in a second")
			d.outages.Up(1)
			d.cmd(t, 1, "UNLINK", "wake:uni")
			d.turn(t)
			d.all(t, "plain", "uni")
			assert.Zero(t, d.turn(t))

			require.NoError(t, d.operator.ResumeQueue(ctx, "plain", "uni"))
			require.NoError(t, d.operator.PauseQueue(ctx, "late"))
			require.NoError(t, d.operator.PauseAll(ctx))
		}
		d.outages.Set(1, partitiontest.Down)
		d.later(t, func(ctx context.Context, _ ...string) error { return d.operator.ResumeAll(ctx) })
		d.outages.Up(1)
		d.cmd(t, 1, "UNLINK", "wake:uni")
		d.turn(t)
		assert.Equal(t, int64(1), d.cmd(t, 1, "LLEN", "wake:uni"), "its workers are called")
	})
}

// What is said last counts, whichever partition heard of it first.
func TestTheLastThatWasSaidCountsWhoeverWasAway(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		d := newDivided(t, server)
		ctx := context.Background()
		d.outages.Set(1, partitiontest.Down)
		d.later(t, d.operator.PauseQueue, "plain", "late")
		d.later(t, d.operator.ResumeQueue, "plain")
		d.outages.Up(1)
		d.turn(t)
		d.all(t, "late")

		d.outages.Set(1, partitiontest.Down)
		d.later(t, d.operator.PauseQueue, "plain", "uni")
		d.later(t, d.operator.ResumeQueue, "late")
		d.outages.Up(1)
		require.NoError(t, d.operator.ResumeQueue(ctx, "plain"))
		require.NoError(t, d.operator.PauseQueue(ctx, "late"))
		require.NotEmpty(t, d.hash(t, 0, "hints"), "they are older than what is there")
		d.turn(t)
		d.all(t, "late", "uni")
	})
}

// Whoever tells a partition may die before or after it was told, or forgets what it was told, and say so once more.
func TestWhoTellsAPartitionDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, script := range []string{"limit/pause", "limit/hint"} {
			for _, after := range []bool{false, true} {
				for _, resumed := range []bool{false, true} {
					t.Run(fmt.Sprint(script, after, resumed), func(t *testing.T) {
						d := newDivided(t, server)
						d.outages.Set(1, partitiontest.Down)
						d.later(t, d.operator.PauseQueue, "plain", "uni")
						d.outages.Up(1)
						ctx, die := context.WithCancel(context.Background())
						defer die()
						teller := d.another(&dying{Driver: d.driver, at: 1, named: script, after: after, die: die})
						require.NoError(t, teller.Refresh(ctx))
						_, err := resize.Settle(ctx, teller, 0)
						require.ErrorIs(t, err, errKilled)
						want := []string{"plain", "uni"}
						if resumed {
							require.NoError(t, d.operator.ResumeQueue(context.Background(), "plain"))
							want = want[1:]
						}
						d.turn(t)
						d.all(t, want...)
					})
				}
			}
		}
	})
}

// A partition does not close before it has told others; one that has closed is told when it is opened again.
func TestAPartitionThatGoesTellsOthersFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		d := newDivided(t, server)
		ctx := context.Background()
		m := d.directory.Map().Clone()
		for b := range m.Buckets {
			m.Buckets[b] = 0
		}
		m.States[1], m.States[2], m.Version = partition.Closed, partition.Draining, 2
		partitiontest.WriteMap(t, d.driver, d.namespace, m)
		require.NoError(t, d.directory.Refresh(ctx))
		hints := []rdb.Hint{{Partition: 0, Pause: rdb.Pause{Name: "plain", Version: 5, Paused: true}},
			{Partition: 1, Pause: rdb.Pause{Name: "plain", Version: 5, Paused: true}}}
		require.NoError(t, d.directory.Store(2).AtMap(2).AddHints(ctx, hints))
		d.outages.Set(0, partitiontest.Down)
		left, err := resize.Settle(ctx, d.directory, 2)
		require.ErrorContains(t, err, "partition 0")
		assert.Equal(t, 1, left)
		d.outages.Up(0)
		_, err = resize.Settle(ctx, d.directory, 2)
		require.NoError(t, err)
		assert.Equal(t, partition.Closed, d.directory.Map().State(2))
		assert.Equal(t, []string{"plain"}, d.paused(t, 0))
		assert.Empty(t, d.paused(t, 1))
		d.open(t, 2, func(int) {})
		assert.Equal(t, []string{"plain"}, d.paused(t, 1))
	})
}
