package flow_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// A member is an ordinary job: the limit of its name holds, and one that needs labels runs where these are.
func TestMembersAreOrdinaryJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var running, most, elsewhere, picked atomic.Int64
		plain, labelled := k.Options(), k.Options()
		labelled.Labels = []string{"gpu"}
		began, release := make(chan struct{}, 40), make(chan struct{})
		pool := func(o work.WorkerOptions, pick func() error) *work.WorkerPool {
			return k.Start(work.NewWorkerPool(nil, 5, o).
				JobWithOptions("narrow", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, func(*work.Job) error {
					now := running.Add(1)
					defer running.Add(-1)
					for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
					}
					began <- struct{}{}
					<-release
					return nil
				}).
				Job("pick", pick))
		}
		f := flow.New("f")
		first := f.Job("pick").Named("first").With(work.Needs("gpu"))
		for n := range 40 {
			f.Job("narrow").Named(fmt.Sprint("n", n)).After(first)
		}
		k.stored(f)
		pool(plain, func() error { elsewhere.Add(1); return nil })
		pool(labelled, func() error { picked.Add(1); return nil })
		pooltest.Receive(t, began)
		for n := range 40 { // two run whenever one may end
			if n < 39 {
				pooltest.Receive(t, began)
			}
			release <- struct{}{}
		}
		p := k.ended("f")
		assert.Equal(t, []any{flow.Done, 41}, []any{p.State, p.Done})
		assert.Equal(t, []int64{0, 1}, []int64{elsewhere.Load(), picked.Load()})
		assert.EqualValues(t, 2, most.Load())
	})
}

// A namespace that is erased has no flows any more, in whatever state they were.
func TestFlowsAreErasedWithTheirNamespace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f").OnDone("ok")
		f.Job("asks", "a").Named("b").After(f.Job("ok").Named("a"))
		k.stored(f)
		pool := k.pool(&runs{})
		k.ended("f")
		k.Drained(pool)
		require.NoError(t, k.Stop(pool))
		g := flow.New("g")
		g.Job("ok").After(g.Job("bad"))
		k.stored(g)
		require.Equal(t, 2, k.Number("ZCARD", "flows"))
		_, err := k.Inspector().Erase(k.Ctx())
		require.NoError(t, err)
		for _, key := range []string{"flow:f", "flow.members:f", "flow.edges:f", "flow.results:f", "flow.left:g",
			"flow.records:g", "flow.todo:g", "flow.unmet:g", "flows", "flows:over", "flow:g"} {
			assert.Zero(t, k.Number("EXISTS", key), key)
		}
		_, err = flow.Read(k.Ctx(), k.Enq, "f")
		assert.ErrorIs(t, err, flow.ErrNoFlow)
	})
}
