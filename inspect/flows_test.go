package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// flowKit has flows in all states: see newFlowKit.
type flowKit struct {
	*kit
	i    *inspect.Inspector
	pool *work.WorkerPool
}

// newFlowKit stores flows and runs them to where they stand: "done", "dead", "cancelled", "runs", "paused" and
// "unsealed".
func newFlowKit(t *testing.T, s redistest.Server) *flowKit {
	k := &flowKit{kit: newKit(t, s)}
	k.i = k.inspector()
	k.store(chain("done", "ok", "ok"))
	k.store(chain("dead", "bad", "ok").OnDone("ok").OnDeath("ok"))
	k.store(chain("cancelled", "held", "ok"))
	_, err := k.i.CancelFlow(k.Ctx(), "cancelled")
	require.NoError(t, err)
	k.pool = k.Start(work.NewWorkerPool(nil, 4, k.Options()).
		Job("ok", func(job *work.Job) (string, error) { return job.ID, nil }).
		Job("bad", func() error { return work.Bury(errors.New("no")) }))
	k.Drained(k.pool)
	k.store(chain("runs", "held", "ok").OnDone("ok"))
	k.store(chain("paused", "held", "ok"))
	_, err = k.i.PauseFlow(k.Ctx(), "paused")
	require.NoError(t, err)
	_, err = flow.Batch(k.Ctx(), k.Enq, "unsealed", func(yield func(work.Entry) bool) {
		for n := range 501 {
			if !yield(work.Entry{Name: "ok", Args: []any{n}}) {
				return
			}
		}
		yield(work.Entry{})
	})
	require.Error(t, err)
	return k
}

// chain is a flow of "first" and "second" of these jobs.
func chain(id, first, second string) *flow.Flow {
	f := flow.New(id)
	f.Job(second).Named("second").After(f.Job(first).Named("first"))
	return f
}

func (k *flowKit) store(f *flow.Flow) {
	k.T.Helper()
	_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
	require.NoError(k.T, err)
}

// listed are the ids of all flows of a filter, page by page.
func (k *flowKit) listed(filter inspect.FlowFilter, limit int) (ids []string) {
	k.T.Helper()
	for cursor := ""; ; {
		page, err := k.i.Flows(k.Ctx(), inspect.FlowsOptions{Filter: filter, Cursor: cursor, Limit: limit})
		require.NoError(k.T, err)
		for _, f := range page.Flows {
			ids = append(ids, f.ID)
		}
		if cursor = page.Next; cursor == "" {
			return ids
		}
	}
}

func TestFlowsAreListedByState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newFlowKit(t, s)
		all := k.listed(inspect.AllFlows, 2)
		assert.ElementsMatch(t, []string{"unsealed", "paused", "runs", "cancelled", "dead", "done"}, all)
		page, err := k.i.Flows(k.Ctx(), inspect.FlowsOptions{})
		require.NoError(t, err)
		assert.True(t, slices.IsSortedFunc(page.Flows, func(a, b inspect.FlowInfo) int {
			return b.Stored.Compare(a.Stored)
		}), "those first that came last")
		for filter, want := range map[inspect.FlowFilter][]string{
			inspect.FlowsRunning: {"paused", "runs"}, inspect.FlowsDone: {"done"}, inspect.FlowsDead: {"dead"},
			inspect.FlowsCancelled: {"cancelled"}, inspect.FlowsUnsealed: {"unsealed"}, inspect.FlowsReleasing: nil,
		} {
			assert.ElementsMatch(t, want, k.listed(filter, 1), filter)
		}
		_, err = k.i.Flows(k.Ctx(), inspect.FlowsOptions{Filter: "odd"})
		assert.EqualError(t, err, `the filter of flows is "odd": use running, done, dead, cancelled, unsealed or releasing`)
		_, err = k.i.Flows(k.Ctx(), inspect.FlowsOptions{Limit: 501})
		assert.Error(t, err)
		two, err := k.i.Flows(k.Ctx(), inspect.FlowsOptions{Limit: 2})
		require.NoError(t, err)
		_, err = k.i.Flows(k.Ctx(), inspect.FlowsOptions{Filter: inspect.FlowsDone, Cursor: two.Next})
		assert.ErrorContains(t, err, "use Next of the page before")
	})
}

func TestOneFlowIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newFlowKit(t, s)
		dead, err := k.i.Flow(k.Ctx(), "dead")
		require.NoError(t, err)
		assert.Equal(t, flow.DeadEnded, dead.State)
		assert.Equal(t, []int{2, 0, 1, 1, 0, 0, 100}, []int{dead.Total, dead.Done, dead.Dead, dead.Cancelled,
			dead.Otherwise, dead.Left, dead.Progress()})
		assert.Equal(t, &inspect.FlowEnd{Job: "ok", ID: "dead/@done"}, dead.OnDone, "it did not run")
		assert.Equal(t, "dead/@dead", dead.OnDeath.ID)
		assert.False(t, dead.Stored.IsZero() || dead.Sealed.Before(dead.Stored) || dead.Ended.Before(dead.Sealed))
		assert.Equal(t, 24*time.Hour, dead.KeptUntil.Sub(dead.Ended))

		runs, err := k.i.Flow(k.Ctx(), "runs")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Running, 2, 0, 1, false}, []any{runs.State, runs.Left, runs.Progress(),
			runs.Generation, runs.Paused})
		assert.True(t, runs.Ended.IsZero() && runs.KeptUntil.IsZero())
		unsealed, err := k.i.Flow(k.Ctx(), "unsealed")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Filling, true, 500, 0, 0}, []any{unsealed.State, unsealed.Batch, unsealed.Total,
			unsealed.Done, unsealed.Progress()})
		_, err = k.i.Flow(k.Ctx(), "none")
		assert.ErrorIs(t, err, flow.ErrNoFlow)

		job, err := k.i.Job(k.Ctx(), "runs/first")
		require.NoError(t, err)
		assert.Equal(t, []string{"runs", "first"}, []string{job.Flow, job.Member})
	})
}

func TestFlowsAreSteered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newFlowKit(t, s)
		ctx := k.Ctx()
		info, err := k.i.ResumeFlow(ctx, "paused")
		require.NoError(t, err)
		assert.False(t, info.Paused)
		info, err = k.i.RetryFlow(ctx, "dead")
		require.NoError(t, err)
		assert.Equal(t, 2, info.Generation)
		k.Drained(k.pool)
		info, err = k.i.Flow(ctx, "dead")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.DeadEnded, "dead/@dead#2"}, []any{info.State, info.OnDeath.ID})
		require.Error(t, k.i.DeleteFlow(ctx, "runs"))
		_, err = k.i.Flow(ctx, "runs")
		require.NoError(t, err, "it goes on")
		require.NoError(t, k.i.DeleteFlow(ctx, "done"))
		info, err = k.i.CancelFlow(ctx, "unsealed")
		require.NoError(t, err)
		assert.Equal(t, flow.Cancelled, info.State)
		require.NoError(t, k.i.DeleteFlow(ctx, "dead"))
		for _, id := range []string{"done", "dead", "unsealed"} {
			_, err = k.i.Flow(ctx, id)
			require.ErrorIs(t, err, flow.ErrNoFlow, id)
			require.ErrorIs(t, k.i.DeleteFlow(ctx, id), flow.ErrNoFlow)
			assert.Empty(t, slices.DeleteFunc(k.Remains("flow"), func(key string) bool {
				return !strings.HasSuffix(key, ":"+id)
			}))
		}
		_, err = k.i.PauseFlow(ctx, "none")
		assert.ErrorIs(t, err, flow.ErrNoFlow)
	})
}

// What is done about a flow is done in the partition that has it, whichever that is.
func TestFlowsOfAllPartitionsAreSteered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) {
			for _, id := range []string{"f", "runs"} {
				_, err := flow.Enqueue(k.Ctx(), k.Enq, chain(fmt.Sprint(id, n), "held", "ok").OnDeath("ok"))
				require.NoError(t, err)
			}
		})
		ctx := d.Ctx()
		for n := range parts {
			id := fmt.Sprint("f", n)
			does := func(do func(context.Context, string) (inspect.FlowInfo, error)) inspect.FlowInfo {
				info, err := do(ctx, id)
				require.NoError(t, err, id)
				assert.Equal(t, n, info.Partition)
				return info
			}
			assert.True(t, does(d.i.PauseFlow).Paused)
			assert.False(t, does(d.i.ResumeFlow).Paused)
			info := does(d.i.CancelFlow)
			assert.Equal(t, []any{flow.Cancelled, 2, 0}, []any{info.State, info.Cancelled, info.Left})
			queued := func() []string { return d.parts[n].Strings("LRANGE", "queue:held", 0, -1) }
			assert.Equal(t, []string{fmt.Sprint("runs", n, "/first")}, queued())
			info = does(d.i.RetryFlow)
			assert.Equal(t, []any{flow.Running, 2, 2}, []any{info.State, info.Generation, info.Left})
			assert.Equal(t, []string{id + "/first", fmt.Sprint("runs", n, "/first")}, queued())
			require.ErrorContains(t, d.i.DeleteFlow(ctx, id), "cancel it first")
			does(d.i.CancelFlow)
			require.NoError(t, d.i.DeleteFlow(ctx, id))
			_, err := d.i.Flow(ctx, id)
			require.ErrorIs(t, err, flow.ErrNoFlow)
			info, err = d.i.Flow(ctx, fmt.Sprint("runs", n))
			require.NoError(t, err)
			assert.Equal(t, []any{flow.Running, 2, n}, []any{info.State, info.Left, info.Partition}, "left alone")
			assert.Len(t, d.parts[n].Remains("flow:"), 1)
		}
	})
}

// members are the names of all members of a page, and of those that follow.
func (k *flowKit) members(opts inspect.FlowMembersOptions) (all []inspect.FlowMember) {
	k.T.Helper()
	for {
		page, err := k.i.FlowMembers(k.Ctx(), opts)
		require.NoError(k.T, err)
		all = append(all, page.Members...)
		if opts.Cursor = page.Next; opts.Cursor == "" {
			return all
		}
	}
}

func TestMembersOfAGraphAreTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newFlowKit(t, s)
		all := k.members(inspect.FlowMembersOptions{Flow: "runs", Limit: 1})
		require.Len(t, all, 2)
		first, second := all[0], all[1]
		assert.Equal(t, []any{"first", "runs/first", "held", inspect.MemberState("queued")},
			[]any{first.Name, first.ID, first.Job, first.State})
		assert.Equal(t, inspect.WaitUnserved, first.Why[0].Kind)
		assert.Equal(t, inspect.FlowMember{Name: "second", ID: "runs/second", Job: "ok", State: inspect.MemberWaits,
			WaitsFor: []inspect.FlowEdge{{From: "first", To: "second", Rule: "cancel"}}}, second)
		assert.Equal(t, `runs when "first" is done, and is cancelled with it`, second.WaitsFor[0].Why())
		states := map[string]inspect.MemberState{}
		for _, m := range k.members(inspect.FlowMembersOptions{Flow: "dead"}) {
			states[m.Name] = m.State
		}
		assert.Equal(t, map[string]inspect.MemberState{"first": "dead", "second": "cancelled"}, states)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "dead", State: "dead"}), 1)
		assert.Empty(t, k.members(inspect.FlowMembersOptions{Flow: "dead", State: "expired"}))
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "runs", State: inspect.MemberLeft, Limit: 1}), 2)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "done", State: inspect.MemberDone}), 2)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "runs", Job: "ok"}), 1)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "unsealed", Limit: 500}), 500)
		edges, err := k.i.FlowFollowers(k.Ctx(), "runs", "first", nil)
		require.NoError(t, err)
		assert.Equal(t, []inspect.FlowEdge{{From: "first", To: "second", Rule: "cancel"}}, edges)
		edges, err = k.i.FlowFollowers(k.Ctx(), "runs", "first", &edges[0])
		require.NoError(t, err)
		assert.Empty(t, edges)
		one, err := k.i.FlowMember(k.Ctx(), "runs", "second")
		require.NoError(t, err)
		assert.Equal(t, second, one)
		_, err = k.i.FlowMember(k.Ctx(), "runs", "third")
		assert.ErrorIs(t, err, work.ErrNotFound)
		one, err = k.i.FlowMember(k.Ctx(), "unsealed", "500")
		require.NoError(t, err)
		assert.Equal(t, inspect.MemberWaits, one.State)
		_, err = k.i.FlowMember(k.Ctx(), "unsealed", "501")
		assert.ErrorIs(t, err, work.ErrNotFound)
		_, err = k.i.FlowMembers(k.Ctx(), inspect.FlowMembersOptions{Flow: "runs", State: "odd"})
		assert.ErrorContains(t, err, "use left, done, dead")
	})
}

// entries are so many of the job "n".
func entries(n int) iter.Seq[work.Entry] {
	return func(yield func(work.Entry) bool) {
		for i := range n {
			if !yield(work.Entry{Name: "n", Args: []any{i}}) {
				return
			}
		}
	}
}

func TestMembersOfABatchAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := &flowKit{kit: newKit(t, s)}
		k.i = k.inspector()
		_, err := flow.Batch(k.Ctx(), k.Enq, "b", entries(1203))
		require.NoError(t, err)
		pool := k.Start(work.NewWorkerPool(nil, 20, k.Options()).Job("n", func(n int) error {
			if n%400 == 7 {
				return work.Bury(errors.New("no"))
			}
			return nil
		}))
		k.Drained(pool)
		all := k.members(inspect.FlowMembersOptions{Flow: "b", Limit: 500})
		require.Len(t, all, 1203)
		for n, m := range all {
			require.Equal(t, fmt.Sprint(n+1), m.Name)
		}
		dead := k.members(inspect.FlowMembersOptions{Flow: "b", State: "dead", Limit: 2})
		require.Len(t, dead, 3)
		assert.Equal(t, []string{"408", "n"}, []string{dead[0].Name, dead[0].Job})
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "b", State: inspect.MemberDone, Limit: 100}), 1200)
		graph, err := k.i.FlowGraph(k.Ctx(), "b")
		require.NoError(t, err)
		assert.Equal(t, []inspect.FlowNode{{Name: "batch", Members: 1203,
			States: map[inspect.MemberState]int{inspect.MemberDone: 1200, "dead": 3}}}, graph.Nodes)
	})
}

func TestAGraphIsDrawnMemberByMember(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newFlowKit(t, s)
		graph, err := k.i.FlowGraph(k.Ctx(), "runs")
		require.NoError(t, err)
		assert.Equal(t, inspect.FlowGraph{
			Nodes: []inspect.FlowNode{
				{Name: "first", Job: "held", Members: 1, States: map[inspect.MemberState]int{"queued": 1}},
				{Name: "second", Job: "ok", Layer: 1, Members: 1, States: map[inspect.MemberState]int{"waiting": 1}}},
			Edges: []inspect.FlowLine{{From: 0, To: 1, Rule: "cancel", Count: 1, Unmet: 1}},
		}, graph)
		graph, err = k.i.FlowGraph(k.Ctx(), "dead")
		require.NoError(t, err)
		assert.Equal(t, []inspect.MemberState{"dead", "cancelled"},
			[]inspect.MemberState{graph.Nodes[0].State(), graph.Nodes[1].State()})
	})
}

func TestALargeGraphIsFolded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := &flowKit{kit: newKit(t, s)}
		k.i = k.inspector()
		f := flow.New("wide")
		begin := f.Job("begin")
		var all []*flow.Job
		for n := range 1500 {
			all = append(all, f.Job("page").Named(fmt.Sprint("page-", n)).After(begin))
		}
		f.Job("sum").After(all...).Even(flow.Dead)
		k.store(f)
		_, err := flow.Read(k.Ctx(), k.Enq, "wide")
		require.NoError(t, err)
		graph, err := k.i.FlowGraph(k.Ctx(), "wide")
		require.NoError(t, err)
		assert.Equal(t, inspect.FlowGraph{Folded: true,
			Nodes: []inspect.FlowNode{
				{Name: "begin", Job: "begin", Members: 1, States: map[inspect.MemberState]int{"left": 1}},
				{Name: "page", Job: "page", Layer: 1, Members: 1500,
					States: map[inspect.MemberState]int{"waiting": 1500}},
				{Name: "sum", Job: "sum", Layer: 2, Members: 1, States: map[inspect.MemberState]int{"waiting": 1}}},
			Edges: []inspect.FlowLine{{From: 0, To: 1, Rule: "cancel", Count: 1500, Unmet: 1500},
				{From: 1, To: 2, Rule: "even", Count: 1500, Unmet: 1500}},
		}, graph)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "wide", Limit: 500}), 1502)
		assert.Len(t, k.members(inspect.FlowMembersOptions{Flow: "wide", Job: "sum"}), 1)
		sum := k.members(inspect.FlowMembersOptions{Flow: "wide", Job: "sum"})[0]
		assert.Equal(t, []int{20, 1480}, []int{len(sum.WaitsFor), sum.More})

		f = flow.New("long")
		var last *flow.Job
		for n := range 300 {
			job := f.Job([]string{"even", "odd"}[n%2]).Named(fmt.Sprint("n", n))
			if last != nil {
				job.After(last)
			}
			last = job
		}
		k.store(f)
		graph, err = k.i.FlowGraph(k.Ctx(), "long")
		require.NoError(t, err)
		assert.Len(t, graph.Nodes, 2, "by job alone: by layers there would be 300")
		assert.Equal(t, []inspect.FlowLine{{From: 0, To: 1, Rule: "cancel", Count: 150, Unmet: 150},
			{From: 1, To: 0, Rule: "cancel", Count: 149, Unmet: 149}}, graph.Edges)
		f = flow.New("many")
		for n := range 60 {
			f.Job(fmt.Sprint("job-", n))
		}
		k.store(f)
		graph, err = k.i.FlowGraph(k.Ctx(), "many")
		require.NoError(t, err)
		require.Len(t, graph.Nodes, 40)
		assert.Equal(t, []any{"(other jobs)", 21}, []any{graph.Nodes[0].Name, graph.Nodes[0].Members})
	})
}
