package integration

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

// The flows of this test are those of TestFaultFlows, but the middle of each chain is a flow in that flow, and the
// middle of that another one. In one of four a member dies in front of it, in one of four a member of it.
const (
	mortalInside  = 17 // in the chain of mortalMember
	innerBegins   = 15 // members of all chains
	deepBegins    = 25
	innerEnds     = 35
	mortalChain   = mortalMember % chainsOfFlow
	membersNested = membersOfFlow - (innerEnds - innerBegins) + chainsOfFlow
)

// TestFaultInnerFlows kills worker processes one after the other among flows with flows in them, and Redis once in the
// middle: each of the flows ends, each member runs if and when the rules say so, and what runs at each end once.
func TestFaultInnerFlows(t *testing.T) {
	t.Parallel()
	flows, kills := pick(24, 1000), pick(4, 20)
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	for i := range flows {
		f.storeNested(i)
	}
	workers := []*process{f.start(50), f.start(50), f.start(50)}
	for i := range kills {
		f.ledger.await(t, ended, 0, flows*membersOfFlow*(i+1)/(kills+4))
		workers[i%len(workers)].kill()
		if i == kills/2 {
			server.Kill()
			require.NoError(t, server.Restart())
		}
		workers[i%len(workers)] = f.start(50)
	}
	for i := range flows {
		f.nestedEnded(i)
	}
	f.nestedRan(flows)
	repeated := f.explained()
	assert.Empty(t, f.ledger.of(dataLost, 0))
	f.only(len(workers))
	for _, worker := range workers {
		assert.Zero(t, worker.terminate())
	}
	f.healthy()
	measured(t, fmt.Sprintf("%d SIGKILLs of workers over %d flows of %d members in %d flows each, and one of Redis",
		kills, flows, membersOfFlow, 1+2*chainsOfFlow), "all ended, what runs at the ends once each; %d begins "+
		"repeated, each held by a victim at its kill", repeated)
}

// diesNested is the member of the flow that dies; -1 is none.
func diesNested(i int) int {
	switch i % 4 {
	case 1:
		return mortalMember
	case 3:
		return mortalInside
	}
	return -1
}

// nestedPlace is where a member of the flow is in it.
func nestedPlace(m int) string {
	switch {
	case m < innerBegins || m >= innerEnds:
		return fmt.Sprint("m", m)
	case m < deepBegins:
		return fmt.Sprintf("in%d/m%d", m%chainsOfFlow, m)
	}
	return fmt.Sprintf("in%d/deep/m%d", m%chainsOfFlow, m)
}

// nestedJobs are the ids of all that run of the flow, with that of what each waits for: "" where that is none, or does
// not end well.
func nestedJobs(i int) map[string]string {
	id, dies := flowOfFaults(i)+"/", diesNested(i)
	jobs := map[string]string{}
	for m := range membersOfFlow {
		behind := dies >= 0 && m > dies && m%chainsOfFlow == mortalChain
		switch last := m+chainsOfFlow >= membersOfFlow; {
		case behind && !last:
		case behind || m < chainsOfFlow:
			jobs[id+nestedPlace(m)] = ""
		default:
			jobs[id+nestedPlace(m)] = id + nestedPlace(m-chainsOfFlow)
		}
	}
	for c := range chainsOfFlow {
		in := fmt.Sprintf("%sin%d/", id, c)
		switch {
		case dies < 0 || c != mortalChain:
			jobs[in+"@done"] = id + nestedPlace(innerEnds-chainsOfFlow+c)
			jobs[in+"deep/@done"] = jobs[in+"@done"]
		case dies >= innerBegins:
			jobs[in+"@dead"] = ""
		}
	}
	jobs[id+map[bool]string{true: "@done", false: "@dead"}[dies < 0]] = ""
	return jobs
}

// storeNested stores a flow with others in it.
func (f *fleet) storeNested(i int) {
	f.t.Helper()
	graph := flow.New(flowOfFaults(i)).OnDone("brief", 1).OnDeath("brief", 1)
	last := make([]*flow.Job, chainsOfFlow)
	grow := func(of *flow.Flow, before *flow.Job, m int) *flow.Job {
		name := "brief"
		switch {
		case m == diesNested(i):
			name = "mortal"
		case m%9 == 0:
			name = "flaky"
		}
		job := of.Job(name, 3).Named(fmt.Sprint("m", m))
		if before != nil {
			job.After(before)
		}
		return job
	}
	for m := range innerBegins {
		last[m%chainsOfFlow] = grow(graph, last[m%chainsOfFlow], m)
	}
	for c := range chainsOfFlow {
		in, deep := flow.New("").OnDone("brief", 1).OnDeath("brief", 1), flow.New("").OnDone("brief", 1)
		var inner, deepest *flow.Job
		for m := innerBegins + c; m < deepBegins; m += chainsOfFlow {
			inner = grow(in, inner, m)
		}
		in.Flow("deep", deep).After(inner)
		for m := deepBegins + c; m < innerEnds; m += chainsOfFlow {
			deepest = grow(deep, deepest, m)
		}
		last[c] = graph.Flow(fmt.Sprint("in", c), in).After(last[c])
	}
	for m := innerEnds; m < membersOfFlow; m++ {
		last[m%chainsOfFlow] = grow(graph, last[m%chainsOfFlow], m)
		if m+chainsOfFlow >= membersOfFlow {
			last[m%chainsOfFlow].Even(flow.Dead)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := flow.Enqueue(ctx, f.enq, graph)
	require.NoError(f.t, err)
}

// nestedEnded waits for the end of a flow, and checks how it and those in it have ended.
func (f *fleet) nestedEnded(i int) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := flow.Wait(ctx, f.enq, flowOfFaults(i))
	require.NoError(f.t, err, "%+v", p)
	in, deep, want := flow.Done, flow.Done, flow.Progress{State: flow.Done, Total: membersNested}
	switch diesNested(i) { // two of its chain behind the flow in it are cancelled
	case mortalMember:
		want.State, want.Dead, want.Cancelled = flow.DeadEnded, 1, 4
		in, deep = flow.Cancelled, flow.Cancelled
	case mortalInside:
		want.State, want.Dead, want.Cancelled = flow.DeadEnded, 1, 2
		in, deep = flow.DeadEnded, flow.Cancelled
	}
	want.Done = want.Total - want.Dead - want.Cancelled
	assert.Equal(f.t, want, flow.Progress{State: p.State, Total: p.Total, Done: p.Done, Dead: p.Dead,
		Cancelled: p.Cancelled}, flowOfFaults(i))
	for c := range chainsOfFlow {
		for inner, how := range map[string]flow.State{"": in, "/deep": deep} {
			if c != mortalChain {
				how = flow.Done
			}
			id := fmt.Sprintf("%s/in%d%s", flowOfFaults(i), c, inner)
			p, err := flow.Wait(ctx, f.enq, id)
			require.NoError(f.t, err)
			assert.Equal(f.t, how, p.State, id)
		}
	}
}

// nestedRan checks which members have begun, and when, and what ran at the ends.
func (f *fleet) nestedRan(flows int) {
	f.t.Helper()
	jobs := map[string]string{}
	died := 0
	for i := range flows {
		maps.Copy(jobs, nestedJobs(i))
		if diesNested(i) >= 0 {
			died++
		}
	}
	began, over := f.firsts(begun, len(jobs)), f.firsts(ended, len(jobs)-died)
	for id, before := range jobs {
		at, has := began[id]
		if !assert.True(f.t, has, "%s has begun", id) || before == "" {
			continue
		}
		assert.False(f.t, at.Before(over[before]), "%s began before %s had ended", id, before)
	}
	assert.Len(f.t, began, len(jobs))
}
