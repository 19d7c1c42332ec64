package flow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// Whoever ends a flow tells of it: here a worker, by each of the calls by which it ends jobs.
func TestTheEndOfAFlowIsToldByTheWorkerThatEndsIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for job, how := range map[string]event.FlowEnd{"ok": event.FlowDone, "logs": event.FlowDone,
			"bad": event.FlowDead, "drop": event.FlowDead} {
			t.Run(job, func(t *testing.T) {
				k, r := newKit(t, s), &runs{}
				pool := k.pool(r)
				f := flow.New("f")
				f.Job(job).After(f.Job("ok").Named("first"))
				k.stored(f)
				end := pooltest.Await(t, k.Spy, func(e event.FlowEnded) bool { return true })
				k.Drained(pool)
				assert.Equal(t, event.FlowEnded{Flow: "f", How: how, Generation: 1, Jobs: 2, Took: end.Took}, end)
				assert.Less(t, end.Took, pooltest.Patience)
				assert.Equal(t, 1, pooltest.Count[event.FlowEnded](k.Spy))
			})
		}
	})
}

// What the handlers and the operators of a pool do about flows its observers learn too.
func TestWhatIsDoneAboutFlowsIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.pool(r)
		spy := pooltest.NewSpy()
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.WithObserver(spy),
			work.WithLogger(pooltest.Silent()))
		require.NoError(t, err)
		defer enq.Close()
		f := flow.New("f")
		f.Job("bad")
		receipt, err := flow.Enqueue(k.Ctx(), enq, f)
		require.NoError(t, err)
		k.ended("f")
		_, err = flow.Enqueue(k.Ctx(), enq, f) // it is there already
		require.NoError(t, err)
		_, err = flow.Retry(k.Ctx(), enq, "f")
		require.NoError(t, err)
		second := pooltest.Await(t, k.Spy, func(e event.FlowEnded) bool { return e.Generation == 2 })
		k.Drained(pool)
		require.NoError(t, k.Stop(pool)) // its daemons would go on with what follows
		assert.Equal(t, event.FlowDead, second.How)
		assert.Equal(t, []event.FlowStored{{Flow: receipt.ID, Jobs: 1}}, pooltest.Seen[event.FlowStored](spy))
		assert.Equal(t, []event.FlowReopened{{Flow: "f"}}, pooltest.Seen[event.FlowReopened](spy))
		assert.Empty(t, pooltest.Seen[event.FlowEnded](spy), "the worker has told")

		cancelled := flow.New("g")
		cancelled.Job("ok").After(cancelled.Job("nobody"))
		_, err = flow.Enqueue(k.Ctx(), enq, cancelled)
		require.NoError(t, err)
		_, err = flow.Cancel(k.Ctx(), enq, "g")
		require.NoError(t, err)
		_, err = flow.Batch(k.Ctx(), enq, "empty", slices.Values([]work.Entry{}))
		require.NoError(t, err)
		var ends []event.FlowEnded
		for _, end := range pooltest.Seen[event.FlowEnded](spy) {
			end.Took = 0
			ends = append(ends, end)
		}
		assert.Equal(t, []event.FlowEnded{{Flow: "g", How: event.FlowCancelled, Generation: 1, Jobs: 2},
			{Flow: "empty", How: event.FlowDone, Generation: 1}}, ends)
	})
}

// What is left to be done about a flow is done by the daemons, and its end then told by them.
func TestTheEndOfAFlowIsToldByTheDaemons(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("ok", func(ctx context.Context) error {
			_, err := flow.Pause(ctx, work.EnqueuerFromContext(ctx), "f")
			return err
		}))
		f := flow.New("f")
		f.Job("ok")
		k.stored(f)
		k.Until("the member has ended", func() bool { return k.Number("SCARD", "flow.left:f") == 0 })
		assert.Zero(t, pooltest.Count[event.FlowEnded](k.Spy), "it is paused")
		k.Number("HDEL", "flow:f", "paused") // a caller of Resume that died before it went on
		k.Number("ZADD", "flows:busy", 1, "f")
		end := pooltest.Await(t, k.Spy, func(e event.FlowEnded) bool { return e.Flow == "f" })
		k.Drained(pool)
		assert.Equal(t, event.FlowDone, end.How)
		assert.Less(t, time.Duration(0), end.Took)
	})
}
