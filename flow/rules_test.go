package flow_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redistest"
)

// Each of these tests is about one rule of the scripts of flows that no other test sees broken.

// cutOff stores a flow but for its seal, as a program does that dies before that.
func (k *kit) cutOff(f *flow.Flow) {
	k.T.Helper()
	driver := &losing{Driver: k.Raw().Driver(), script: "flow/seal", times: 1}
	_, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(driver, k.Namespace), f)
	require.Error(k.T, err)
	require.Equal(k.T, flow.Filling, k.stateOf("f"))
}

// cancelBegun marks a flow as cancelled, as a program does that dies before it has told any member.
func (k *kit) cancelBegun() {
	k.T.Helper()
	_, err := flowdb.Of(pooltest.StoreOf(k.Enq)).Cancel(k.Ctx(), "f", nil, false)
	require.NoError(k.T, err)
}

// goOn is a round of whoever goes on with flows.
func (k *kit) goOn() {
	k.T.Helper()
	require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), pooltest.StoreOf(k.Enq)))
}

// A dead member keeps the place of an ordered key. When its flow is retried it waits for others again, maybe for long:
// the place is for who runs meanwhile.
func TestARetriedMemberGivesThePlaceOfItsKeyBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		stops := func() *work.WorkerPool {
			return work.NewWorkerPool(nil, 2, k.Options()).
				JobWithOptions("ordered", work.JobOptions{Ordered: true, StopAtDeath: true}, func(job *work.Job) error {
					r.note(job.ID)
					if strings.HasPrefix(job.ID, "f/") {
						return work.Bury(errors.New("no"))
					}
					return nil
				})
		}
		pool := k.Start(stops().Job("bad", func() error { return work.Bury(errors.New("no")) }))
		f := flow.New("f")
		f.Job("ordered").With(work.Key("k")).After(f.Job("bad")).Even(flow.Dead)
		k.stored(f)
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		require.NoError(t, pool.Stop(k.Ctx()))
		require.Equal(t, 1, k.Number("ZCARD", "holding"), "it has stopped its key")

		_, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Zero(t, k.Number("ZCARD", "holding"))
		_, err = k.Enq.With(work.ID("other"), work.Key("k")).Enqueue(k.Ctx(), "ordered")
		require.NoError(t, err)
		k.Drained(k.Start(stops()))
		assert.Equal(t, []string{"f/ordered", "other"}, r.all(), "nobody runs what the member waits for")
	})
}

// One that may run, and is cancelled instead, has had its lock since its flow was stored.
func TestAMemberThatIsCancelledInsteadOfRunningGivesItsLockBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("ok").Named("b").With(alike("1")).After(f.Job("ok").Named("a"))
		k.stored(f)
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		newByHand(k).runAll()
		require.Equal(t, []string{"f/b 0 t"}, k.locks())
		k.cancelBegun()
		k.goOn()
		assert.Equal(t, flow.Cancelled, k.stateOf("f"))
		assert.Empty(t, k.locks())
	})
}

// What a death means for others is looked at late in a flow that is paused, and means nothing once the member is done.
func TestADeathThatWasMadeGoodBeforeAnybodyLookedCancelsNobody(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("ok").Named("b").After(f.Job("ok").Named("a"))
		k.stored(f)
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		steps := newByHand(k)
		steps.bury(steps.take()[0])
		require.NoError(t, k.Inspector().RetryNow(k.Ctx(), "f/a"))
		steps.runAll()
		_, err = flow.Resume(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		steps.runAll()
		assert.Equal(t, []string{"f/a", "f/b"}, steps.ran)
		assert.Equal(t, flow.Done, k.stateOf("f"))
	})
}

// A member that was dead is done by the call that brings the last end as well: so the flow is done, though it had a
// dead one when the call came.
func TestAFlowIsDoneWhoseDeadMemberIsDoneByTheLastCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f").OnDone("good").OnDeath("bad")
		f.Job("ok").Named("a")
		f.Job("ok").Named("b")
		k.stored(f)
		steps := newByHand(k)
		both := steps.take()
		require.Len(t, both, 2)
		dead, other := both[0], both[1]
		steps.bury(dead)
		require.NoError(t, k.Inspector().RetryNow(k.Ctx(), dead.ID))
		var ended []rdb.Ended
		for _, job := range append(steps.take(), other) {
			ended = append(ended, rdb.Ended{Claim: job.Claim, ID: job.ID, State: "done",
				Flow: ending.BelongingsIn(job.Record, nil).Flow})
		}
		require.Len(t, ended, 2)
		steps.settle(steps.worker.Complete(ended))
		assert.Equal(t, flow.Done, k.stateOf("f"))
		assert.Equal(t, []string{"f/@done"}, k.InLine("good"))
		assert.Empty(t, k.InLine("bad"))
	})
}

// A lock for a time counts from the store of its flow, and a delay does, however often that is stored before its seal.
func TestTimesOfAFlowCountFromWhenItWasStoredFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		graph := func() *flow.Flow {
			f := flow.New("f")
			f.Job("ok").Named("locks").With(work.Unique(work.UniqueOptions{Key: "1", For: time.Hour}))
			f.Entry(work.Entry{Name: "ok", In: 24 * time.Hour}).Named("waits")
			return f
		}
		k.cutOff(graph())
		// as if it had been stored a minute ago
		shift := func(key, field string, at *regexp.Regexp) string {
			was := k.Text("HGET", key, field)
			require.Regexp(t, at, was)
			earlier := at.ReplaceAllStringFunc(was, func(text string) string {
				n, err := strconv.ParseInt(text, 10, 64)
				require.NoError(t, err)
				return strconv.FormatInt(n-time.Minute.Milliseconds(), 10)
			})
			k.Do("HSET", key, field, earlier)
			return earlier
		}
		digest := k.Strings("HKEYS", "unique")[0]
		ms := regexp.MustCompile(`\b[0-9]{13}\b`)
		lock, waits := shift("unique", digest, ms), shift("flow.records:f", "waits", ms)
		k.cutOff(graph())
		assert.Equal(t, lock, k.Text("HGET", "unique", digest))
		due := func(text string) string { return strings.SplitN(text, "\n", 3)[1] }
		assert.Equal(t, due(waits), due(k.Text("HGET", "flow.records:f", "waits")))
		k.stored(graph())
		assert.Equal(t, []string{lock}, k.locks())
	})
}

func TestAnAddedMemberBehindOneThatEndedBadlyIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("ok", r.done).
			Job("bad", func() error { return work.Bury(errors.New("no")) }).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				err := flow.Add(ctx, job, "x", work.Entry{Name: "ok"}, "good", "bad")
				if err == nil {
					err = flow.Add(ctx, job, "y", work.Entry{Name: "ok"}, "x")
				}
				return err
			}))
		f := flow.New("f")
		good, bad := f.Job("ok").Named("good"), f.Job("bad")
		f.Job("adds").After(good, bad).Even(flow.Dead)
		k.stored(f)
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []string{"f/good"}, r.all())
		assert.Equal(t, []int{5, 2, 1, 2}, []int{p.Total, p.Done, p.Dead, p.Cancelled})
	})
}

func TestNothingIsAddedToAFlowThatIsBeingCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, added := make(chan string, 1), make(chan error, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("ok", pooltest.Nothing).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				added <- flow.Add(context.WithoutCancel(ctx), job, "x", work.Entry{Name: "ok"})
				return context.Cause(ctx)
			}))
		f := flow.New("f")
		f.Job("adds")
		k.stored(f)
		pooltest.Receive(t, begun)
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		require.ErrorIs(t, pooltest.Receive(t, added), flow.ErrOver)
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []any{flow.Cancelled, 1}, []any{p.State, p.Total})
	})
}

// Whoever cancels a flow may die when some of its members are told: the others are told by whoever goes on.
func TestAFlowIsCancelledToItsEndAlthoughItsProgramDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("ok").Named("b").After(f.Job("ok").Named("a"))
		f.Job("ok").Named("c").After(f.Job("ok").Named("d"))
		k.stored(f)
		k.cancelBegun()
		assert.Equal(t, []string{"f"}, k.Strings("ZRANGE", "flows:busy", 0, -1))
		state, err := flowdb.Of(pooltest.StoreOf(k.Enq)).Cancel(k.Ctx(), "f", []string{"b"}, false)
		require.NoError(t, err)
		require.Equal(t, flowdb.IsRunning, state)
		k.goOn()
		assert.Equal(t, flow.Cancelled, k.stateOf("f"))
		assert.Empty(t, k.InLine("ok"))
		assert.Empty(t, k.Strings("ZRANGE", "flows:busy", 0, -1))
	})
}

func TestAFlowThatIsBeingRetriedIsNotRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("ok")
		k.stored(f)
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		flows := flowdb.Of(pooltest.StoreOf(k.Enq))
		_, err = flows.Reopen(k.Ctx(), "f", flowdb.ReopenBegin, nil)
		require.NoError(t, err)
		removed, err := flows.Forget(k.Ctx(), "f")
		require.NoError(t, err)
		assert.False(t, removed)
		require.Equal(t, flow.Reopening, k.stateOf("f"))
		p, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Running, p.State)
		assert.Equal(t, []string{"f/ok"}, k.InLine("ok"))
	})
}

// A flow whose turn has come when that which it is in is cancelled does not begin.
func TestAFlowInAFlowIsCancelledInsteadOfItsTurn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f, inner := flow.New("f"), flow.New("")
		inner.Job("ok")
		f.Flow("in", inner).After(f.Job("ok").Named("a"))
		k.stored(f)
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		steps := newByHand(k)
		steps.runAll()
		k.cancelBegun()
		k.goOn()
		assert.Equal(t, []flow.State{flow.Cancelled, flow.Cancelled}, []flow.State{k.stateOf("f"), k.stateOf("f/in")})
		assert.Empty(t, k.InLine("ok"))
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		k.goOn()
		for range 2 {
			steps.runAll()
			k.goOn()
		}
		assert.Equal(t, flow.Done, k.stateOf("f"))
		assert.Equal(t, []string{"f/a", "f/in/ok"}, steps.ran)
	})
}

// Somebody has stored a job of the id that a member is to have: the member is cancelled, as its end would never be
// told.
func TestAMemberWhoseIDSomebodyElseUsesIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		a := f.Job("ok").Named("a")
		f.Job("ok").Named("b").After(a)
		f.Job("ok").Named("c").With(alike("1")).After(a)
		k.stored(f)
		k.EnqueueAs("f/b", "other", "mine")
		k.EnqueueAs("f/c", "other", "mine")
		steps := newByHand(k)
		steps.runAll()
		k.goOn()
		p, err := flow.Read(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.DeadEnded, 1, 2}, []any{p.State, p.Done, p.Cancelled})
		assert.Empty(t, k.locks())
		assert.Equal(t, []string{"f/b", "f/c"}, k.InLine("other"), "it is as it was")
		steps.runAll()
		assert.Equal(t, []string{"f/a"}, steps.ran)
	})
}

// Pages and alerts know a queue of which only members wait, before any worker serves it.
func TestAQueueOfMembersAloneIsKnown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Job("plain")
		f.Job("turns").With(work.Key("k"))
		f.Entry(work.Entry{Name: "later", In: time.Hour})
		k.stored(f)
		known := k.Strings("ZRANGE", "queues", 0, -1)
		slices.Sort(known)
		assert.Equal(t, []string{"later", "plain", "turns"}, known)
	})
}

// A member of which Redis has nothing left stays as it has ended when its flow is retried, and those behind it do not
// wait for it for ever.
func TestAFlowIsRetriedWithoutAMemberOfWhichNothingIsLeft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		a := f.Job("ok").Named("a")
		f.Job("ok").Named("b").After(a).Even(flow.Dead)
		f.Job("ok").Named("c").After(a)
		k.stored(f)
		_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		require.Equal(t, 1, k.Number("HDEL", "flow.records:f", "a"))
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		steps := newByHand(k)
		steps.runAll()
		k.goOn()
		p, err := flow.Read(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.DeadEnded, 1, 2, 0}, []any{p.State, p.Done, p.Cancelled, p.Left})
		assert.Equal(t, []string{"f/b"}, steps.ran)
	})
}
