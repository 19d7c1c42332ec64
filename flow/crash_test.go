package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// Workers die with members in hand, again and again: all flows end, and what runs at their ends is there once each.
func TestFlowsEndAlthoughWorkersDie(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const flows = 20
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end")
			var last *flow.Job
			for n := range 10 {
				job := f.Job("step").Named(fmt.Sprint("s", n))
				if last != nil && n%3 > 0 {
					job.After(last)
				}
				last = job
			}
			k.stored(f)
		}
		var mu sync.Mutex
		ran := map[string]bool{}
		begun := make(chan struct{}, 10_000)
		pool := func() *work.WorkerPool {
			return k.Start(work.NewWorkerPool(nil, 4, k.Another(pooltest.NewSpy())).
				Job("step", func(ctx context.Context, job *work.Job) error {
					mu.Lock()
					ran[job.ID] = true
					mu.Unlock()
					begun <- struct{}{}
					return nil
				}))
		}
		for range 2 {
			doomed := pool()
			for range 15 {
				pooltest.Receive(t, begun)
			}
			k.Crash(doomed)
		}
		pool()
		for i := range flows {
			assert.Equal(t, flow.Done, k.ended(fmt.Sprint("f", i)).State)
		}
		assert.Len(t, ran, 10*flows)
		ends := map[string]bool{}
		for _, id := range k.Strings("LRANGE", "queue:end", 0, -1) {
			assert.False(t, ends[id], "once each: %s", id)
			ends[id] = true
		}
		assert.Len(t, ends, flows)
	})
}

// A hub for which more members wait than one script looks at, whatever its end: when all of it is retried they wait for
// it again.
func TestManyWaitAgainForAHubThatIsRetried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const many = 1200
		f := flow.New("f")
		hub := f.Job("dies").Named("hub")
		for n := range many {
			f.Job("dies").Named(fmt.Sprint(n)).After(hub).Even(flow.Dead)
		}
		k.stored(f)
		var hubOver atomic.Bool
		var before, died atomic.Int64
		generation := atomic.Int64{}
		pool := k.Start(work.NewWorkerPool(nil, 20, k.Options()).Job("dies", func(job *work.Job) error {
			switch {
			case job.ID == "f/hub":
				hubOver.Store(true)
			case !hubOver.Load():
				before.Add(1)
			}
			if generation.Load() == 0 {
				died.Add(1)
				return work.Bury(errors.New("no"))
			}
			return nil
		}))
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		assert.EqualValues(t, many+1, died.Load())
		generation.Store(1)
		hubOver.Store(false)
		_, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		p := k.ended("f")
		assert.Equal(t, []any{flow.Done, many + 1}, []any{p.State, p.Done})
		assert.Zero(t, before.Load(), "began before the hub")
	})
}

// More wait for one member than a script looks at: what is left is done by the worker with the lease, who is told.
func TestMoreWaitForAMemberThanOneScriptSetsFree(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f").OnDone("end")
		first, last := f.Job("step").Named("first"), f.Job("other").Named("last")
		for n := range 1300 {
			job := f.Job(fmt.Sprint("step", n%12)).Named(fmt.Sprint(n)).After(first)
			last.After(job)
		}
		k.stored(f)
		pool := work.NewWorkerPool(nil, 20, k.Options()).Job("step", pooltest.Nothing).Job("other", pooltest.Nothing)
		for n := range 12 {
			pool.Job(fmt.Sprint("step", n), pooltest.Nothing)
		}
		k.Start(pool)
		p, err := flow.Wait(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []int{1302, 1302}, []int{p.Total, p.Done})
		assert.Equal(t, []string{"f/@done"}, k.Strings("LRANGE", "queue:end", 0, -1))
	})
}
