package loss_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// staging is a theater with a flow: "second" waits for "first", and "end" runs at the end.
type staging struct {
	*theater
	pool *work.WorkerPool
	g    *pooltest.Door // of the members
	ends *pooltest.Door // of what runs at the end
	flow *flow.Flow
}

// eachFlow runs a test with a pool of one processor, on each Redis.
func eachFlow(t *testing.T, test func(t *testing.T, st *staging)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th := newTheater(t, s)
		st := &staging{theater: th, g: pooltest.NewDoor(), ends: pooltest.NewDoor(), flow: flow.New("f")}
		st.flow.Job("a").Named("second").After(st.flow.Job("a").Named("first"))
		st.flow.OnDone("end")
		options := th.options()
		options.EnqueueAnyName = true
		st.pool = work.NewWorkerPool(nil, 1, options).Job("a", st.g.Pass).Job("end", st.ends.Pass)
		pooltest.Times(st.pool).Survey = time.Hour
		th.Start(st.pool)
		test(t, st)
	})
}

// store stores the flow through the proxy.
func (st *staging) store() flow.Receipt {
	st.T.Helper()
	receipt, err := flow.Enqueue(st.Ctx(), st.pool.Enqueuer(), st.flow)
	require.NoError(st.T, err)
	return receipt
}

// begins awaits the beginning of jobs, in that order, of which each but the last is done at once.
func (st *staging) begins(door *pooltest.Door, ids ...string) {
	st.T.Helper()
	for i, id := range ids {
		require.Equal(st.T, id, pooltest.Receive(st.T, door.Began))
		if i < len(ids)-1 {
			door.Leave <- ""
		}
	}
}

// over awaits the end of the flow, and checks that nothing is left and that the doctor finds nothing.
func (st *staging) over(state flow.State) {
	st.T.Helper()
	p, err := flow.Wait(st.Ctx(), st.Enq, "f")
	require.NoError(st.T, err)
	require.Equal(st.T, state, p.State)
	st.Drained(st.pool)
	st.healthy()
	require.Empty(st.T, st.g.Began, "no member runs once more")
	require.Empty(st.T, st.ends.Began, "neither does the end")
	require.Zero(st.T, st.Number("HLEN", "jobs")+st.Number("ZCARD", "flows:busy"))
}

func (st *staging) healthy() {
	st.T.Helper()
	report, err := doctor.Examine(st.Ctx(), st.Inspector(), doctor.Options{})
	require.NoError(st.T, err)
	for _, finding := range report.Findings {
		assert.NotContains(st.T, string(finding.Check), "flow", "%+v", finding)
	}
}

// The first member has ended and the second runs; Redis knows neither.
func TestAFailoverThatForgetsTheEndOfAMember(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.store()
		st.begins(st.g, "f/first")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.g, "f/second")
		st.settled(1)
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		st.g.Leave <- "" // the second, which counts although the first is to run once more
		st.begins(st.g, "f/first")
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.ends.Leave <- ""
		st.over(flow.Done)
		assert.Equal(t, 1, pooltest.Count[event.FlowEnded](st.Spy))
	})
}

// The first runs once more while the second, which it had set free, runs still: it is not begun beside itself.
func TestAFailoverInWhichAMemberWaitsThatRuns(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.store()
		st.begins(st.g, "f/first")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.g, "f/second")
		st.settled(1)
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		other := st.another()
		st.begins(st.g, "f/first")
		st.g.Leave <- ""
		st.Until("one of them is done", func() bool { return st.Number("SCARD", "flow.left:f") == 1 })
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.ends.Leave <- ""
		st.over(flow.Done)
		require.NoError(t, st.Stop(other))
	})
}

// another starts another pool with the same handlers.
func (st *staging) another() *work.WorkerPool {
	options := st.options()
	options.Observers = nil
	return st.Start(work.NewWorkerPool(nil, 1, options).Job("a", st.g.Pass).Job("end", st.ends.Pass))
}

// The flow has ended and its last job runs, which Redis does not know: it is not stored again while it runs.
func TestAFailoverThatForgetsTheEndOfAFlow(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.store()
		st.begins(st.g, "f/first", "f/second")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.settled(2)
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		other := st.another()
		st.begins(st.g, "f/second")
		st.g.Leave <- ""
		p, err := flow.Wait(st.Ctx(), st.Enq, "f")
		require.NoError(t, err)
		require.Equal(t, flow.Done, p.State)
		assert.Zero(t, st.Number("LLEN", "queue:end"), "it runs")
		st.ends.Leave <- ""
		st.over(flow.Done)
		require.NoError(t, st.Stop(other))
	})
}

// All of the flow is forgotten but for the member that runs: its end counts nowhere, and the flow can be stored again.
func TestAFailoverThatForgetsAFlow(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.fallBehind()
		st.store()
		st.begins(st.g, "f/first")
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1})
		_, err := flow.Read(st.Ctx(), st.Enq, "f")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		report, err := doctor.Examine(st.Ctx(), st.Inspector(), doctor.Options{})
		require.NoError(t, err)
		require.Len(t, report.Findings, 1)
		assert.Equal(t, doctor.CheckFlowLeftover, report.Findings[0].Check)
		_, err = flow.Enqueue(st.Ctx(), st.pool.Enqueuer(), st.flow)
		require.ErrorContains(t, err, "of which the id lives already")
		st.g.Leave <- ""
		st.Drained(st.pool)
		assert.False(t, st.store().Duplicate)
		st.begins(st.g, "f/first", "f/second")
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.ends.Leave <- ""
		st.over(flow.Done)
	})
}

// Parts of a batch are forgotten while it is stored: it is not sealed, and the same call completes it.
func TestAFailoverWhileABatchIsStored(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		const most = 1600
		entries := func(lose bool) func(yield func(work.Entry) bool) {
			return func(yield func(work.Entry) bool) {
				for n := range most {
					switch {
					case lose && n == 600:
						st.fallBehind()
					case lose && n == 1400:
						st.failOver(nil)
					}
					if !yield(work.Entry{Name: "b", Args: []any{n}}) {
						return
					}
				}
			}
		}
		enq := st.pool.Enqueuer()
		_, err := flow.Batch(st.Ctx(), enq, "b", entries(true))
		require.ErrorContains(t, err, "members are stored, another number than was given")
		receipt, err := flow.Batch(st.Ctx(), enq, "b", entries(false))
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "b", Jobs: most}, receipt)
		st.Until("all wait for a worker", func() bool { return st.Number("LLEN", "queue:b") == most })
		st.healthy()
	})
}

// nested has the flow be one with a flow between two members, of one member itself.
func (st *staging) nested() {
	st.flow = flow.New("f").OnDone("end")
	inner := flow.New("")
	inner.Job("a").Named("deep")
	in := st.flow.Flow("in", inner).After(st.flow.Job("a").Named("first"))
	st.flow.Job("a").Named("last").After(in)
}

// The first member has ended, and the flow that waited for it has begun; Redis knows neither. A member of that which
// runs still counts when it ends, and is not begun beside itself when the turn of its flow comes once more.
func TestAFailoverThatForgetsTheBeginningOfAFlowInAFlow(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(map[bool]string{false: "it ends before", true: "it ends behind"}[late], func(t *testing.T) {
			eachFlow(t, func(t *testing.T, st *staging) {
				st.nested()
				st.store()
				st.begins(st.g, "f/first")
				st.fallBehind()
				st.g.Leave <- ""
				st.begins(st.g, "f/in/deep")
				st.settled(1)
				st.failOver(nil)
				st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
				if !late {
					st.g.Leave <- ""
					st.begins(st.g, "f/first")
					st.g.Leave <- ""
				} else {
					other := st.another()
					defer func() { require.NoError(t, st.Stop(other)) }()
					st.begins(st.g, "f/first")
					st.g.Leave <- "" // one of the two
					st.Until("one of them is done", func() bool {
						return st.Number("SCARD", "flow.left:f")+st.Number("SCARD", "flow.left:f/in") == 3
					})
					st.g.Leave <- ""
				}
				st.begins(st.g, "f/last")
				st.g.Leave <- ""
				st.begins(st.ends, "f/@done")
				st.ends.Leave <- ""
				st.over(flow.Done)
				p, err := flow.Read(st.Ctx(), st.Enq, "f/in")
				require.NoError(t, err)
				assert.Equal(t, []any{flow.Done, 1}, []any{p.State, p.Done})
				if !late { // nobody hears the other pool
					assert.Equal(t, 2, pooltest.Count[event.FlowEnded](st.Spy))
				}
			})
		})
	}
}

// A flow in another has ended, and what waited for it runs; Redis knows neither.
func TestAFailoverThatForgetsTheEndOfAFlowInAFlow(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.nested()
		st.store()
		st.begins(st.g, "f/first", "f/in/deep")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.g, "f/last")
		st.settled(2)
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		st.g.Leave <- "" // it counts, although it is to wait once more
		st.begins(st.g, "f/in/deep")
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.ends.Leave <- ""
		st.over(flow.Done)
	})
}

// All of a flow in another is gone, as if somebody had removed its keys: the outer one goes on without it.
func TestAFlowInAFlowIsGone(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		st.nested()
		st.store()
		st.begins(st.g, "f/first")
		st.fallBehind()
		st.lose(slices.DeleteFunc(st.Keys(), func(name string) bool { return !strings.Contains(name, "f/in") })...)
		st.failOver(nil)
		st.g.Leave <- ""
		p, err := flow.Wait(st.Ctx(), st.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.DeadEnded, 1, 1, 1}, []any{p.State, p.Done, p.Otherwise, p.Cancelled},
			"what is not there any more counts as deleted")
		st.Drained(st.pool)
		st.healthy()
	})
}
