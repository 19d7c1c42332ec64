package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Where somebody else has the lock of a member at home elsewhere, nothing of the flow is stored in any partition.
func TestAwayALockIsHeldElsewhere(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		alike := work.Unique(work.UniqueOptions{Key: "x"})
		receipt, err := h.Enq.With(alike).Enqueue(h.Ctx(), h.names[1])
		require.NoError(t, err)
		_, err = flow.Enqueue(h.Ctx(), h.Enq, h.aFlow())
		var held *flow.LockError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.LockError{Flow: "f", Member: "one", Holder: receipt.ID}, *held)
		assert.Zero(t, h.sum("EXISTS", "flow:f")+h.sum("EXISTS", "flow:f/free")+h.sum("ZCARD", "flows:away"))
		h.run(1)
		h.store(h.aFlow())
		later, err := h.Enq.With(alike).Enqueue(h.Ctx(), h.names[1])
		require.NoError(t, err)
		assert.Equal(t, []any{"f/one/@job", true}, []any{later.ID, later.Duplicate}, "it has its lock while it waits")
		h.until(flow.Done)
		assert.Zero(t, h.sum("HLEN", "unique"))
	})
}

// A flow whose retry meets a lock in another partition stays as it is, in all of them.
func TestAwayARetryMeetsALockElsewhere(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		h.fails = "f/one/@job"
		h.store(h.aFlow())
		h.until(flow.DeadEnded)
		h.fails = ""
		receipt, err := h.Enq.With(work.Unique(work.UniqueOptions{Key: "x"})).Enqueue(h.Ctx(), h.names[1])
		require.NoError(t, err)
		_, err = flow.Retry(h.Ctx(), h.Enq, "f")
		var held *flow.LockError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.LockError{Flow: "f", Member: "one", Holder: receipt.ID}, *held)
		assert.Equal(t, flow.DeadEnded, h.stateOf("f"))
		h.run(1)
		_, err = flow.Retry(h.Ctx(), h.Enq, "f")
		require.NoError(t, err)
		h.until(flow.Done)
	})
}

// A flow that is paused has no member begin elsewhere before it goes on.
func TestAwayAFlowIsPaused(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		h.store(h.aFlow())
		_, err := flow.Pause(h.Ctx(), h.Enq, "f")
		require.NoError(t, err)
		for range 3 {
			h.goOn()
		}
		assert.NotContains(t, h.ran, "f/free/@job")
		_, err = flow.Resume(h.Ctx(), h.Enq, "f")
		require.NoError(t, err)
		h.until(flow.Done)
		h.didRun(allOf...)
	})
}

// What was to be told is lost, on either side: once an hour members at home here agree with their flows.
func TestAwayWhatWasNotToldIsFoundOut(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		h.store(h.aFlow())
		do := func(i int, command string, args ...any) {
			t.Helper()
			args[0] = h.directory.Store(i).Key(args[0].(string))
			_, err := redisconn.Do(h.Ctx(), h.Raw().Driver(), redisconn.Call{Command: command, Args: args})
			require.NoError(t, err)
		}
		do(0, "DEL", "flows:busy") // nobody has "free" begin
		for range 20 {
			h.goOn()
			for i := range 3 {
				do(i, "DEL", "flows:busy")
			}
			for i := range 3 {
				for _, id := range []string{"f/free", "f/one", "f/in/two"} {
					do(i, "ZADD", "flows:away", "XX", 1, id)
				}
				require.NoError(t, maintain.AgreeUnseen(h.Ctx(), h.directory.Store(i)))
			}
			for _, id := range []string{"f", "f/in"} { // as it is about members elsewhere that nothing is told here
				do(0, "ZADD", "flows:busy", 1, id)
			}
		}
		h.until(flow.Done)
		h.didRun(allOf...)
	})
}

// A member that is at home elsewhere, and adds one that is at home elsewhere in each of its attempts, adds it once; and
// what that returns is read where the flow is.
func TestAwayAMemberIsAddedOnce(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		key := d.keyAt("ok", 2, 0)
		d.Start(work.NewWorkerPool(nil, 4, d.Options()).
			Job("ok", func(job *work.Job) (string, error) { return job.ID, c.note(job) }).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				err := flow.Add(ctx, job, "added", work.Entry{Name: "ok", Options: []work.EnqueueOption{work.Key(key)}})
				if err == nil && job.Attempt < 3 {
					err = work.RetryIn(0, errors.New("once more"))
				}
				return err
			}).
			Job("end", func(ctx context.Context, job *work.Job) error {
				result, err := flow.Result[string](ctx, job, "added")
				if err == nil && result != "f/added/@job" {
					err = errors.New(result)
				}
				if err != nil {
					return work.Bury(err)
				}
				return c.note(job)
			}))
		f := flow.New("f").OnDone("end")
		f.Job("ok").Named("here").With(work.Key(d.keyAt("ok", 0, 0)))
		f.Job("adds").With(work.Key(d.keyAt("adds", 1, 0)))
		_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
		require.NoError(t, err)
		p, err := flow.Wait(d.Ctx(), d.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done})
		d.Until("its end has run", func() bool { return c.of("f/@done") == 1 })
		assert.Equal(t, 1, c.of("f/added/@job"))
	})
}

// A partition is away while members end elsewhere: the others go on, and it is told when it is back.
func TestAwayAPartitionIsAwayWhileMembersEnd(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, c := newDivided(t, s, 3), &counts{ran: map[string]int{}}
		gate := make(chan struct{})
		o := d.Options()
		cut := d.faulty(&o)
		d.Start(work.NewWorkerPool(nil, 8, o).
			Job("ok", func(job *work.Job) error { return c.note(job) }).
			Job("waits", func(job *work.Job) error { <-gate; return c.note(job) }).
			Job("end", c.note))
		const flows = 5
		for i := range flows {
			f := flow.New(fmt.Sprint("f", i)).OnDone("end")
			f.Job("ok").Named("here").With(work.Key(d.keyAt("ok", 0, 0)))
			waits := f.Job("waits").Named("waits").With(work.Key(d.keyAt("waits", 1, 0)))
			f.Job("ok").Named("last").With(work.Key(d.keyAt("ok", 2, 0))).After(waits)
			_, err := flow.Enqueue(d.Ctx(), d.Enq, f)
			require.NoError(t, err)
		}
		d.Until("those elsewhere run", func() bool {
			busy, err := d.Inspector().Job(d.Ctx(), "f4/waits/@job")
			return err == nil && busy.State == work.StateRunning
		})
		cut.set(cut.down, 0, true)
		close(gate)
		for i := range flows {
			d.Until("it has run", func() bool { return c.of(fmt.Sprintf("f%d/waits/@job", i)) == 1 })
		}
		cut.set(cut.down, 0, false)
		for i := range flows {
			p, err := flow.Wait(d.Ctx(), d.Enq, fmt.Sprint("f", i))
			require.NoError(t, err)
			assert.Equal(t, flow.Done, p.State)
			d.Until("its end has run", func() bool { return c.of(fmt.Sprintf("f%d/@done", i)) == 1 })
			assert.Equal(t, 1, c.of(fmt.Sprintf("f%d/last/@job", i)))
		}
	})
}

// Who looks at a flow sees where each member is, and the doctor finds one that is gone there.
func TestAwayWhoLooksSeesWhereMembersAre(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		h.store(h.aFlow())
		h.goOn()
		i := h.Inspector()
		page, err := i.FlowMembers(h.Ctx(), inspect.FlowMembersOptions{Flow: "f"})
		require.NoError(t, err)
		at := map[string]int{}
		for _, m := range page.Members {
			at[m.ID] = m.Partition
		}
		assert.Equal(t, map[string]int{"f/free/@job": 2, "f/here": 0, "f/in": 0, "f/last": 0, "f/one/@job": 1}, at)
		graph, err := i.FlowGraph(h.Ctx(), "f")
		require.NoError(t, err)
		for _, node := range graph.Nodes {
			switch node.Name {
			case "one", "free":
				require.NotNil(t, node.Partition)
				assert.Equal(t, map[string]int{"one": 1, "free": 2}[node.Name], *node.Partition)
			default:
				assert.Nil(t, node.Partition)
			}
		}
		_, err = i.Flow(h.Ctx(), "f/one")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		_, err = flow.Read(h.Ctx(), h.Enq, "f/one")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		findings := func(repair bool) (found []string) {
			report, err := doctor.Examine(h.Ctx(), i, doctor.Options{Repair: repair})
			require.NoError(t, err)
			for _, f := range report.Findings {
				if f.Check == doctor.CheckFlow || f.Check == doctor.CheckFlowLeftover {
					found = append(found, f.ID+": "+f.Detail)
				}
			}
			return found
		}
		assert.Empty(t, findings(false))
		_, err = redisconn.Do(h.Ctx(), h.Raw().Driver(), redisconn.Call{Command: "DEL",
			Args: []any{h.directory.Store(1).Key("flow:f/one")}})
		require.NoError(t, err)
		assert.Contains(t, findings(true),
			"f/one: it has not ended, and nothing is there of it in partition 1, where it is at home")
		h.until(flow.DeadEnded)
	})
}

// Two programs store one flow by maps of which one is older: where a member is, is decided by who names it first.
func TestAwayTheFirstMapDecides(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		d := &dying{Driver: h.Raw().Driver(), left: 4, how: "before"}
		_, err := flow.Enqueue(h.Ctx(), pooltest.EnqueuerOn(d, h.Namespace), h.aFlow())
		require.Error(t, err)
		require.Equal(t, flow.Filling, h.stateOf("f"))
		h.change(func(m *partition.Map) { m.Buckets[partition.BucketOfName(h.names[2])] = 1 })
		h.store(h.aFlow())
		h.until(flow.Done)
		h.didRun(allOf...)
	})
}
