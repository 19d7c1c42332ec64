package flow_test

import (
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redistest"
)

// numbers are so many entries of the job "n".
func numbers(n int) iter.Seq[work.Entry] {
	return func(yield func(work.Entry) bool) {
		for i := range n {
			if !yield(work.Entry{Name: "n", Args: []any{i}}) {
				return
			}
		}
	}
}

func TestABatchRunsWhenAllOfItIsStored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		var ran atomic.Int64
		pool := k.Start(work.NewWorkerPool(nil, 20, k.Options()).
			Job("n", func(n int) error {
				ran.Add(1)
				if n == 700 {
					return work.Bury(errors.New("no"))
				}
				return nil
			}).
			Job("ok", r.done))
		receipt, err := flow.Batch(k.Ctx(), k.Enq, "b", numbers(1203), flow.OnDone("ok"), flow.OnDeath("ok"))
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "b", Jobs: 1203}, receipt)
		p := k.ended("b")
		assert.Equal(t, []int{1203, 1202, 1}, []int{p.Total, p.Done, p.Dead})
		k.Drained(pool)
		assert.EqualValues(t, 1203, ran.Load())
		assert.Equal(t, []string{"b/@dead"}, r.all())
		_, err = flow.Retry(k.Ctx(), k.Enq, "b")
		require.NoError(t, err)
		k.Drained(pool)
		assert.EqualValues(t, 1204, ran.Load(), "the one that is not done")
		assert.Equal(t, []string{"b/@dead", "b/@dead#2"}, r.all())
	})
}

func TestABatchThatWasCutOffIsCompletedByTheSameEntries(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		bad := func(yield func(work.Entry) bool) {
			for entry := range numbers(900) {
				if !yield(entry) {
					return
				}
			}
			yield(work.Entry{})
		}
		_, err := flow.Batch(k.Ctx(), k.Enq, "b", bad, flow.Retention(time.Hour))
		require.EqualError(t, err, `entry 900 of flow "b", which is not stored to its end: job name is empty: `+
			`use 1 to 200 bytes of UTF-8`)
		assert.Zero(t, k.Number("LLEN", "queue:n"))
		_, err = flow.Batch(k.Ctx(), k.Enq, "b", numbers(3), flow.Retention(time.Hour))
		require.EqualError(t, err, `flow "b" is one of which 500 members are stored, another number than was given: `+
			`give what was given when its store was cut off, or cancel it first`)
		receipt, err := flow.Batch(k.Ctx(), k.Enq, "b", numbers(900), flow.Retention(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "b", Jobs: 900}, receipt)
		assert.Equal(t, 900, k.Number("LLEN", "queue:n"))
		receipt, err = flow.Batch(k.Ctx(), k.Enq, "b", numbers(900), flow.Retention(time.Hour))
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "b", Jobs: 900, Duplicate: true}, receipt)
		assert.Equal(t, 900, k.Number("LLEN", "queue:n"))
	})
}

func TestABatchOfNothingIsDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		_, err := flow.Batch(k.Ctx(), k.Enq, "b", numbers(0), flow.OnDone("ok"))
		require.NoError(t, err)
		assert.Equal(t, flow.Done, k.ended("b").State)
		assert.Equal(t, []string{"b/@done"}, k.Strings("LRANGE", "queue:ok", 0, -1))
	})
}

func TestAChainRunsInItsOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := work.NewWorkerPool(nil, 4, k.Options())
		var entries []work.Entry
		for i := range 5 {
			name := fmt.Sprint("s", i)
			pool.Job(name, r.done)
			entries = append(entries, work.Entry{Name: name})
		}
		k.Start(pool)
		_, err := flow.Chain(k.Ctx(), k.Enq, "c", entries...)
		require.NoError(t, err)
		assert.Equal(t, flow.Done, k.ended("c").State)
		assert.Equal(t, []string{"c/s0", "c/s1", "c/s2", "c/s3", "c/s4"}, r.all())
	})
}

func TestNoMemberOfACancelledFlowBegins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := pooltest.StoreOf(k.Enq)
		f := flow.New("f")
		f.Job("n").After(f.Job("ok"))
		k.stored(f)
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		pool := k.pool(&runs{})
		k.Drained(pool)
		require.NoError(t, k.Stop(pool)) // else it goes on with the flow
		assert.Equal(t, []string{"edone\nok\n"}, k.Strings("LRANGE", "flow.todo:f", 0, -1))
		_, err = flowdb.Of(store).Cancel(k.Ctx(), "f", nil, false) // by whoever dies then
		require.NoError(t, err)
		_, err = flowdb.Of(store).Advance(k.Ctx(), "f", []string{"n"})
		require.NoError(t, err)
		assert.Zero(t, k.Number("LLEN", "queue:n"))
		_, err = flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Cancelled, k.ended("f").State)
	})
}
