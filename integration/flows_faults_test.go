package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

// The flows of these tests: five chains of ten members. In one of four flows a member dies near the beginning of its
// chain: those behind it are cancelled, but for the last one, which runs even then.
const (
	membersOfFlow = 50
	chainsOfFlow  = 5
	mortalMember  = 7
)

// TestFaultFlows kills worker processes one after the other among flows, and Redis once in the middle: each flow ends,
// each member runs if and when the rules say so, and what runs at its end is stored once.
func TestFaultFlows(t *testing.T) {
	t.Parallel()
	flows, kills := pick(40, 1000), pick(4, 20)
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	for i := range flows {
		f.storeFlow(i)
	}
	workers := []*process{f.start(50), f.start(50), f.start(50)}
	for i := range kills {
		f.ledger.await(t, ended, 0, flows*membersOfFlow*(i+1)/(kills+3))
		workers[i%len(workers)].kill()
		if i == kills/2 {
			server.Kill()
			require.NoError(t, server.Restart())
		}
		workers[i%len(workers)] = f.start(50)
	}
	for i := range flows {
		f.flowEnded(i)
	}
	repeated := f.explained()
	assert.Empty(t, f.ledger.of(dataLost, 0))
	f.flowsRan(flows)
	f.only(len(workers))
	for _, worker := range workers {
		assert.Zero(t, worker.terminate())
	}
	f.healthy()
	measured(t, fmt.Sprintf("%d SIGKILLs of workers over %d flows of %d members, and one of Redis", kills, flows,
		membersOfFlow), "all ended, what runs at the end once each; %d begins repeated, each held by a victim at its "+
		"kill", repeated)
}

func flowOfFaults(i int) string { return fmt.Sprint("flow-", i) }

// mortal tells whether a member of the flow dies.
func mortal(i int) bool { return i%4 == 3 }

// runs tells whether a member of the flow runs.
func runs(i, member int) bool {
	behind := member > mortalMember && (member-mortalMember)%chainsOfFlow == 0
	return !mortal(i) || !behind || member+chainsOfFlow >= membersOfFlow
}

// storeFlow stores a flow.
func (f *fleet) storeFlow(i int) {
	f.t.Helper()
	graph := flow.New(flowOfFaults(i)).OnDone("brief", 1).OnDeath("brief", 1)
	jobs := make([]*flow.Job, membersOfFlow)
	for m := range jobs {
		name := "brief"
		switch {
		case mortal(i) && m == mortalMember:
			name = "mortal"
		case m%9 == 0:
			name = "flaky"
		}
		jobs[m] = graph.Job(name, 3).Named(fmt.Sprint("m", m))
		if m >= chainsOfFlow {
			jobs[m].After(jobs[m-chainsOfFlow])
		}
		if m+chainsOfFlow >= membersOfFlow {
			jobs[m].Even(flow.Dead)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := flow.Enqueue(ctx, f.enq, graph)
	require.NoError(f.t, err)
}

// flowEnded waits for the end of a flow, and checks how it has ended.
func (f *fleet) flowEnded(i int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := flow.Wait(ctx, f.enq, flowOfFaults(i))
	require.NoError(f.t, err, "%+v", p)
	want := flow.Progress{State: flow.Done, Total: membersOfFlow, Done: membersOfFlow}
	if mortal(i) {
		want.State, want.Dead = flow.DeadEnded, 1
		for m := range membersOfFlow {
			if !runs(i, m) {
				want.Cancelled++
			}
		}
		want.Done -= 1 + want.Cancelled
	}
	assert.Equal(f.t, want, flow.Progress{State: p.State, Total: p.Total, Done: p.Done, Dead: p.Dead,
		Cancelled: p.Cancelled}, flowOfFaults(i))
}

// flowsRan checks which members have begun, and when, and what ran at the ends.
func (f *fleet) flowsRan(flows int) {
	f.t.Helper()
	all := flows // what runs at the ends
	for i := range flows {
		for m := range membersOfFlow {
			if runs(i, m) {
				all++
			}
		}
	}
	began, over := f.firsts(begun, all), f.firsts(ended, all-flows/4)
	assert.Len(f.t, began, all)
	for i := range flows {
		id := flowOfFaults(i)
		for m := range membersOfFlow {
			name := fmt.Sprint(id, "/m", m)
			at, has := began[name]
			assert.Equal(f.t, runs(i, m), has, "%s has begun", name)
			if before, is := over[fmt.Sprint(id, "/m", m-chainsOfFlow)]; has && is {
				assert.False(f.t, at.Before(before), "%s began before the one that it waits for had ended", name)
			}
		}
		last := map[bool]string{false: "/@done", true: "/@dead"}[mortal(i)]
		assert.Contains(f.t, began, id+last)
	}
}

// firsts are when something has happened to each id first, once it has to so many.
func (f *fleet) firsts(what string, many int) map[string]time.Time {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return len(ids(f.ledger.of(what, 0))) >= many }, patience,
		50*time.Millisecond)
	at := map[string]time.Time{}
	for _, e := range f.ledger.of(what, 0) {
		if known, there := at[e.Of]; !there || e.At.Before(known) {
			at[e.Of] = e.At
		}
	}
	return at
}
