package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redistest"
)

// tower is a flow of a job and, behind it, a flow of the same kind, so many in each other; and a job behind that.
func tower(depth int, job string) *flow.Flow {
	f := flow.New("f")
	if depth == 0 {
		f.Job(job).Named("deep")
		return f
	}
	fill(f, depth, job)
	return f
}

func fill(f *flow.Flow, depth int, job string) {
	if depth == 0 {
		f.Job(job).Named("deep")
		return
	}
	inner := flow.New("")
	fill(inner, depth-1, job)
	in := f.Flow("in", inner).After(f.Job("ok").Named("before"))
	f.Job("ok").Named("behind").After(in)
}

// stateOf is the state of a flow.
func (k *kit) stateOf(id string) flow.State {
	k.T.Helper()
	p, err := flow.Read(k.Ctx(), k.Enq, id)
	require.NoError(k.T, err)
	return p.State
}

func TestACancelledFlowCancelsThoseInIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		begun := make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				return context.Cause(ctx)
			}).
			Job("ok", r.done))
		k.stored(tower(3, "long"))
		assert.Equal(t, "f/in/in/in/deep", pooltest.Receive(t, begun))
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Cancelled, k.ended("f").State)
		k.Drained(pool)
		assert.NotContains(t, r.all(), "f/behind")
		for _, id := range []string{"f/in", "f/in/in", "f/in/in/in"} {
			assert.Equal(t, flow.Cancelled, k.stateOf(id), id)
		}
		assert.Zero(t, k.Number("ZCARD", "flows:busy"))
	})
}

// A flow that is cancelled before the turn of those that are in it: these are over too, and who waits for them is told.
func TestAFlowInAFlowIsCancelledBeforeItsTurn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f, _ := nested("ok")
		k.stored(f)
		p, err := flow.Cancel(k.Ctx(), k.Enq, "f/packing")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Cancelled, 2, 0}, []any{p.State, p.Cancelled, p.Left})
		assert.Equal(t, flow.Cancelled, k.ended("f/packing").State)
		pool := k.pool(r)
		p = k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []any{flow.DeadEnded, 2, 2}, []any{p.State, p.Done, p.Cancelled}, "packing and ship")
		ran := r.all()
		slices.Sort(ran)
		assert.Equal(t, []string{"f/@dead", "f/pay", "f/tell"}, ran)
		g, _ := nested("ok")
		assert.True(t, k.stored(g).Duplicate)
	})
}

// One that is cancelled since what it waits for did not end well is over as well: so a Wait for it ends.
func TestAFlowInAFlowIsCancelledWithWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f, innermost := flow.New("f"), flow.New("")
		innermost.Job("ok")
		inner := flow.New("")
		inner.Flow("deep", innermost)
		f.Flow("in", inner).After(f.Job("bad"))
		k.stored(f)
		pool := k.pool(r)
		assert.Equal(t, flow.Cancelled, k.ended("f/in").State)
		assert.Equal(t, flow.Cancelled, k.ended("f/in/deep").State)
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/bad"}, r.all())
		for _, over := range []string{"f", "f/in", "f/in/deep"} {
			pooltest.Await(t, k.Spy, func(e event.FlowEnded) bool { return e.Flow == over })
		}
		var ends []event.FlowEnded
		for _, end := range pooltest.Seen[event.FlowEnded](k.Spy) {
			if end.Flow != "f" {
				ends = append(ends, end)
			}
		}
		assert.ElementsMatch(t, []event.FlowEnded{{Flow: "f/in", How: event.FlowCancelled, Generation: 1, Jobs: 1},
			{Flow: "f/in/deep", How: event.FlowCancelled, Generation: 1, Jobs: 1}}, ends)
	})
}

func TestAPausedFlowPausesThoseInIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		begun, goOn := make(chan string, 1), make(chan bool)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("slow", func(job *work.Job) error {
				begun <- job.ID
				<-goOn
				return nil
			}).
			Job("ok", r.done))
		f, inner := flow.New("f"), flow.New("")
		inner.Job("ok").After(inner.Job("slow"))
		f.Flow("in", inner)
		k.stored(f)
		pooltest.Receive(t, begun)
		p, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.True(t, p.Paused)
		p, err = flow.Read(k.Ctx(), k.Enq, "f/in")
		require.NoError(t, err)
		assert.True(t, p.Paused)
		close(goOn)
		k.Drained(pool)
		assert.Empty(t, r.all())
		_, err = flow.Resume(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/in/ok"}, r.all())
	})
}

// One whose turn has come, and whose flow is paused before anybody goes on with it, begins paused.
func TestAFlowInAPausedFlowBeginsPaused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f, inner := flow.New("f"), flow.New("")
		inner.Job("ok")
		f.Flow("in", inner)
		k.stored(f) // no worker goes on with it
		require.Equal(t, flow.Held, k.stateOf("f/in"))
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		store := pooltest.StoreOf(k.Enq)
		require.NoError(t, maintain.AdvanceFlows(k.Ctx(), store))
		p, err := flow.Read(k.Ctx(), k.Enq, "f/in")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Running, true}, []any{p.State, p.Paused})
		assert.Empty(t, k.InLine("ok"))
		_, err = flow.Resume(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []string{"f/in/ok"}, k.InLine("ok"))
	})
}

func TestAFlowIsRetriedWithThoseInIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		fails := 1
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("some", func(job *work.Job) error {
				r.note(job.ID)
				if fails > 0 {
					fails--
					return work.Bury(errors.New("no"))
				}
				return nil
			}).
			Job("ok", r.done))
		k.stored(tower(3, "some"))
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		ran := r.all()
		assert.Equal(t, []string{"f/before", "f/in/before", "f/in/in/before", "f/in/in/in/deep"}, ran)
		_, err := flow.Retry(k.Ctx(), k.Enq, "f/in/in")
		assert.EqualError(t, err, `flow "f/in/in" is in flow "f/in", which is dead: retry that one`)
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		p := k.ended("f")
		assert.Equal(t, []any{flow.Done, 3, 2}, []any{p.State, p.Done, p.Generation})
		k.Drained(pool)
		assert.Equal(t, []string{"f/in/in/in/deep", "f/in/in/behind", "f/in/behind", "f/behind"}, r.all()[4:])
		assert.Zero(t, k.Number("ZCARD", "flows:busy"))
	})
}

// One that is dead can be retried by itself while the flow that it is in goes on, which counts how it ends then.
func TestAFlowInAFlowIsRetriedByItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		fails := 2
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("some", func(job *work.Job) error {
				r.note(job.ID)
				if fails > 0 {
					fails--
					return work.Bury(errors.New("no"))
				}
				return nil
			}).
			Job("ok", r.done))
		f, inner := flow.New("f"), flow.New("")
		inner.Job("some")
		f.Job("ok").After(f.Flow("in", inner)).Hold(flow.Dead)
		k.stored(f)
		for range 2 {
			assert.Equal(t, flow.DeadEnded, k.ended("f/in").State)
			k.Until("the end is told", func() bool { return k.Number("ZCOUNT", "flow.ends:f", 1, 1) == 1 })
			k.Drained(pool)
			_, err := flow.Retry(k.Ctx(), k.Enq, "f/in")
			require.NoError(t, err)
		}
		p := k.ended("f")
		assert.Equal(t, []any{flow.Done, 2}, []any{p.State, p.Done})
		k.Drained(pool)
		assert.Equal(t, []string{"f/in/some", "f/in/some", "f/in/some", "f/ok"}, r.all())
	})
}

func TestFlowsInAFlowAreRemovedWithIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.pool(r)
		k.stored(tower(4, "ok").Retention(time.Millisecond))
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		store := pooltest.StoreOf(k.Enq)
		k.Until("its time is over", func() bool {
			removed, err := flowdb.Of(store).Remove(k.Ctx(), "f", 0)
			require.NoError(t, err)
			return removed
		})
		assert.Empty(t, k.Remains("flow"))
	})
}

// One by its id alone is removed by nobody, and what is not sealed is removed whole.
func TestAFlowThatIsNotSealedIsRemovedWithThoseInIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f, _ := nested("ok")
		// two parts are stored, and f/packing is held
		_, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(&dying{Driver: k.Raw().Driver(), left: 3}, k.Namespace), f)
		require.Error(t, err)
		_, err = flow.Cancel(k.Ctx(), k.Enq, "f/packing")
		assert.EqualError(t, err, `flow "f/packing" is in flow "f", which is not sealed or is being retried: `+
			`cancel that one`)
		flows := flowdb.Of(pooltest.StoreOf(k.Enq))
		for _, age := range []time.Duration{0, time.Millisecond} {
			done, err := flows.Remove(k.Ctx(), "f/packing", age)
			require.NoError(t, err)
			assert.False(t, done)
		}
		_, err = flow.Cancel(k.Ctx(), k.Enq, "f")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		assert.Empty(t, k.Remains("flow"))
		assert.False(t, k.stored(f).Duplicate)
		require.NoError(t, ending.FinishFlow(k.Ctx(), pooltest.StoreOf(k.Enq), "f/packing"))
		assert.Equal(t, flow.Held, k.stateOf("f/packing"), "pay is not done")
	})
}

// Those in a flow that never began are over with it, and run in their turn when all of it is retried.
func TestAFlowThatNeverBeganIsRetriedWithThoseInIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		k.stored(tower(3, "ok"))
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		for _, id := range []string{"f", "f/in", "f/in/in", "f/in/in/in"} {
			assert.Equal(t, flow.Cancelled, k.ended(id).State, id)
		}
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Held, k.stateOf("f/in/in/in"))
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/before", "f/in/before", "f/in/in/before", "f/in/in/in/deep", "f/in/in/behind",
			"f/in/behind", "f/behind"}, r.all())
	})
}

// One that is dead was retried by itself when the flow that it is in is cancelled: it is cancelled as well, and cannot
// be retried while that lasts.
func TestAFlowThatWasRetriedByItselfIsCancelledWithThatWhichItIsIn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		begun, died := make(chan string, 2), make(chan bool, 1)
		died <- true
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				return context.Cause(ctx)
			}).
			Job("some", func(ctx context.Context, job *work.Job) error {
				select {
				case <-died:
					return work.Bury(errors.New("no"))
				default:
				}
				begun <- job.ID
				<-ctx.Done()
				return context.Cause(ctx)
			}).
			Job("ok", r.done))
		f, inner := flow.New("f"), flow.New("")
		inner.Job("some")
		f.Job("long")
		f.Job("ok").After(f.Flow("in", inner)).Even(flow.Dead)
		k.stored(f)
		assert.Equal(t, "f/long", pooltest.Receive(t, begun))
		assert.Equal(t, flow.DeadEnded, k.ended("f/in").State)
		_, err := flow.Retry(k.Ctx(), k.Enq, "f/in")
		require.NoError(t, err)
		assert.Equal(t, "f/in/some", pooltest.Receive(t, begun))
		_, err = flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		for _, id := range []string{"f", "f/in"} {
			assert.Equal(t, flow.Cancelled, k.ended(id).State, id)
		}
		k.Drained(pool)
	})
}
