package metrics

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestFlowsOfAFleet(t *testing.T) {
	t.Parallel()
	now := time.Now()
	source := &fakeFleet{flows: inspect.FlowCounts{AsOf: now, Running: 3, Unsealed: 2, Ended: 7, MembersLeft: 40,
		OldestRunning: now.Add(-time.Hour), OldestUnsealed: now.Add(-time.Minute),
		OldestReleasing: now.Add(time.Second)}} // clocks of partitions differ
	page := newSite(t, newFleet(source, FleetOptions{Logger: quiet})).scrape()
	for state, want := range map[string]float64{"running": 3, "unsealed": 2, "ended": 7} {
		page.is(want, "work_fleet_flows", "state", state)
	}
	page.is(40, "work_fleet_flow_members_left")
	for state, want := range map[string]float64{"running": 3600, "unsealed": 60, "unmoved": 0} {
		page.is(want, "work_fleet_flow_oldest_seconds", "state", state)
	}
}

// What happens to flows is counted by the Recorder of whoever does it, and read from Redis by a Fleet.
func TestFlowsAreCountedAndRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		ctx, recorder := testCtx(t), New(Options{})
		options := poolOptions(t, s)
		options.Observers, options.EnqueueAnyName = []work.Observer{recorder}, true
		pool := work.NewWorkerPool(nil, 2, options).Job("bad", func() error { return work.Bury(errors.New("no")) })
		store := func(id, job string) {
			f := flow.New(id)
			f.Job("held").After(f.Job(job))
			_, err := flow.Enqueue(ctx, pool.Enqueuer(), f)
			require.NoError(t, err)
		}
		store("dead", "bad")
		require.NoError(t, pool.Start(ctx))
		require.NoError(t, pool.Drain(ctx))
		_, err := flow.Retry(ctx, pool.Enqueuer(), "dead")
		require.NoError(t, err)
		require.NoError(t, pool.Drain(ctx))
		store("runs", "elsewhere")
		page := newSite(t, recorder, Fleet(inspect.Of(pool), FleetOptions{Logger: quiet})).scrape()
		page.is(2, "work_flows_stored_total")
		page.is(1, "work_flows_reopened_total")
		page.is(2, "work_flows_ended_total", "how", "dead")
		page.is(1, "work_fleet_flows", "state", "running")
		page.is(1, "work_fleet_flows", "state", "ended")
		page.is(2, "work_fleet_flow_members_left")
		require.NoError(t, pool.Stop(ctx))
	})
}
