package partitions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// Whoever stores a flow with members at home elsewhere may die at any call: nothing of it runs, the same call completes
// it, and each member runs once.
func TestAwayAFlowIsStoredAlthoughItsProgramDies(t *testing.T) {
	atEachCall(t, nil, func(h *hands, enq *work.Enqueuer, d *dying) {
		_, err := flow.Enqueue(h.Ctx(), enq, h.aFlow())
		if d.dead() && h.stateOf("f") != flow.Running {
			require.Error(h.T, err)
			h.goOn()
			assert.Empty(h.T, h.ran, "nothing of it runs")
			h.store(h.aFlow())
		} else if !d.dead() {
			require.NoError(h.T, err)
		}
		h.until(flow.Done)
		h.didRun(allOf...)
		assert.Zero(h.T, h.sum("HLEN", "unique"))
	})
}

// A flow whose store was cut off is removed on both sides, with the locks of its members.
func TestAwayAFlowThatWasCutOffIsRemoved(t *testing.T) {
	atEachCall(t, nil, func(h *hands, enq *work.Enqueuer, d *dying) {
		_, _ = flow.Enqueue(h.Ctx(), enq, h.aFlow())
		if h.stateOf("f") == flow.Filling {
			_, err := flow.Cancel(h.Ctx(), h.Enq, "f")
			require.ErrorIs(h.T, err, flow.ErrNoFlow)
			h.nothingLeft()
		}
	})
}

// Whoever goes on with a flow and its members may die at any call, or do it twice: each runs once.
func TestAwayAFlowEndsAlthoughWhoGoesOnDies(t *testing.T) {
	atEachCall(t, func(h *hands) { h.store(h.aFlow()) }, func(h *hands, _ *work.Enqueuer, d *dying) {
		doomed := partition.NewDirectory(d, h.Namespace)
		for range 12 {
			for i := range 3 {
				_ = maintain.AdvanceFlows(h.Ctx(), doomed.Store(i))
				h.run(i)
			}
		}
		h.until(flow.Done)
		h.didRun(allOf...)
	})
}

// Whoever cancels a flow may die at any call: all of it is cancelled, also members at home elsewhere whose turn has
// come, and those whose turn has not.
func TestAwayAFlowIsCancelledAlthoughItsProgramDies(t *testing.T) {
	begun := func(h *hands) {
		h.store(h.aFlow())
		for i := range 3 { // "free" waits in its queue
			require.NoError(h.T, maintain.AdvanceFlows(h.Ctx(), h.directory.Store(i)))
		}
	}
	atEachCall(t, begun, func(h *hands, enq *work.Enqueuer, d *dying) {
		_, err := flow.Cancel(h.Ctx(), enq, "f")
		if !d.dead() {
			require.NoError(h.T, err)
		}
		p, err := flow.Read(h.Ctx(), h.Enq, "f")
		require.NoError(h.T, err)
		if p.State == flow.Running && !p.Cancelling { // it died before Redis knew of it
			_, err = flow.Cancel(h.Ctx(), h.Enq, "f")
			require.NoError(h.T, err)
		}
		for range 5 {
			for i := range 3 {
				require.NoError(h.T, maintain.AdvanceFlows(h.Ctx(), h.directory.Store(i)))
			}
		}
		h.until(flow.Cancelled)
		assert.Empty(h.T, h.ran)
		assert.Zero(h.T, h.sum("HLEN", "unique"))
		assert.Zero(h.T, h.sum("HLEN", "jobs"))
	})
}

// Whoever retries a flow may die at any call: nothing runs before the last one, and the same call completes it.
func TestAwayAFlowIsRetriedAlthoughItsProgramDies(t *testing.T) {
	failed := func(h *hands) {
		h.fails = "f/one/@job"
		h.store(h.aFlow())
		h.until(flow.DeadEnded)
		h.ran, h.fails = nil, ""
	}
	atEachCall(t, failed, func(h *hands, enq *work.Enqueuer, d *dying) {
		_, err := flow.Retry(h.Ctx(), enq, "f")
		if state := h.stateOf("f"); d.dead() && (state == flow.Reopening || state == flow.DeadEnded) {
			h.goOn()
			assert.Empty(h.T, h.ran, "nothing runs")
			_, err = flow.Retry(h.Ctx(), h.Enq, "f")
		}
		if !d.dead() && err != nil { // the last reply was lost
			require.ErrorContains(h.T, err, "is running: retry it when it has ended")
		}
		h.until(flow.Done)
		h.didRun("f/@done#2", "f/in/two/@job", "f/last", "f/one/@job")
		assert.Zero(h.T, h.sum("HLEN", "unique"))
	})
}

// Whoever removes a flow may die at any call: the janitor goes on, and nothing is left in any partition.
func TestAwayAFlowIsRemovedAlthoughItsProgramDies(t *testing.T) {
	over := func(h *hands) {
		h.store(h.aFlow())
		h.until(flow.Done)
	}
	atEachCall(t, over, func(h *hands, _ *work.Enqueuer, d *dying) {
		_, _ = flowdb.Of(partition.NewDirectory(d, h.Namespace).Store(0)).Forget(h.Ctx(), "f")
		flows := flowdb.Of(h.directory.Store(0))
		over, _, err := flows.ToRemove(h.Ctx(), time.Hour)
		require.NoError(h.T, err)
		for _, id := range over {
			_, err := flows.Remove(h.Ctx(), id, 0)
			require.NoError(h.T, err)
		}
		if h.stateOf("f") == flow.Done { // it died before Redis knew of it
			done, err := flows.Forget(h.Ctx(), "f")
			require.NoError(h.T, err)
			assert.True(h.T, done)
		}
		h.nothingLeft()
	})
}
