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
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// unique has the flow be one whose second member has a lock, which waits for the first.
func (st *staging) unique(how work.UniqueOptions) {
	st.flow = flow.New("f").OnDone("end")
	second := st.flow.Entry(work.Entry{Name: "a", Options: []work.EnqueueOption{work.Unique(how)}}).Named("second")
	second.After(st.flow.Job("a").Named("first"))
}

// alike stores a job of its own that is the same as the second member, and returns the one that lives.
func (st *staging) alike(how work.UniqueOptions) work.Receipt {
	st.T.Helper()
	receipt, err := st.Enq.With(work.Unique(how)).Enqueue(st.Ctx(), "a")
	require.NoError(st.T, err)
	return receipt
}

func (st *staging) locks() []string {
	all := st.Strings("HVALS", "unique")
	slices.Sort(all)
	return all
}

// secondEnds ends the second member, which runs, and then the first, which runs once more, and awaits the end.
func (st *staging) secondEnds() {
	st.T.Helper()
	st.g.Leave <- ""
	st.begins(st.g, "f/first")
	st.Until("the second has ended, and does not wait for the first any more", func() bool {
		return len(st.locks()) == 0
	})
	st.g.Leave <- ""
	st.begins(st.ends, "f/@done")
	st.ends.Leave <- ""
	st.over(flow.Done)
	assert.Empty(st.T, st.locks())
}

// Redis knows that the second member waits, with its lock; it runs. Its worker makes the lock one of a job again, until
// it ends, however it is held.
func TestAMemberThatRunsHasItsLockAfterAFailover(t *testing.T) {
	for name, how := range map[string]work.UniqueOptions{"until it ends": {Key: "1"},
		"until it is gone": {Key: "1", KeepInMorgue: true}} {
		t.Run(name, func(t *testing.T) {
			eachFlow(t, func(t *testing.T, st *staging) {
				st.unique(how)
				st.store()
				st.begins(st.g, "f/first")
				st.fallBehind()
				require.Equal(t, []string{"f/second 0 t"}, st.locks())
				st.g.Leave <- ""
				st.begins(st.g, "f/second")
				st.settled(1)
				kind := map[bool]string{false: "f", true: "m"}[how.KeepInMorgue]
				require.Equal(t, []string{"f/second 0 " + kind}, st.locks())
				st.failOver(nil)
				st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
				assert.Equal(t, []string{"f/second 0 " + kind}, st.locks())
				assert.Equal(t, "f/second", st.alike(how).ID)
				st.secondEnds()
			})
		})
	}
}

// A member that has its lock until it begins has none when it runs, whatever Redis knows.
func TestAMemberThatHasBegunHasNoLockAfterAFailover(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		how := work.UniqueOptions{Key: "1", Until: work.UntilStarted}
		st.unique(how)
		st.store()
		st.begins(st.g, "f/first")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.g, "f/second")
		st.settled(1)
		require.Empty(t, st.locks())
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		assert.Empty(t, st.locks())
		st.secondEnds()
	})
}

// The flow is forgotten with the lock, which somebody else has by then: that one keeps it, and is in the way of the
// flow until it has ended.
func TestALockThatAFailoverForgotBelongsToWhoeverTookIt(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		how := work.UniqueOptions{Key: "1"}
		st.unique(how)
		taken, err := st.Enq.With(work.Unique(how), work.ID("taken")).EnqueueIn(st.Ctx(), "a", time.Hour)
		require.NoError(t, err)
		require.False(t, taken.Duplicate)
		st.fallBehind()
		require.NoError(t, st.Inspector().Delete(st.Ctx(), "taken"))
		st.store()
		st.begins(st.g, "f/first", "f/second")
		st.settled(1)
		require.Equal(t, []string{"f/second 0 f"}, st.locks())
		st.failOver(nil)
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		assert.Equal(t, []string{"taken 0 f"}, st.locks())
		st.g.Leave <- ""
		st.Drained(st.pool)
		assert.Equal(t, []string{"taken 0 f"}, st.locks(), "who ends frees its own alone")
		_, err = flow.Enqueue(st.Ctx(), st.pool.Enqueuer(), st.flow)
		held := new(flow.LockError)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.LockError{Flow: "f", Member: "second", Holder: "taken"}, *held)
		require.NoError(t, st.Inspector().Delete(st.Ctx(), "taken"))
		st.store()
		st.begins(st.g, "f/first", "f/second")
		st.settled(1)
		st.g.Leave <- ""
		st.begins(st.ends, "f/@done")
		st.ends.Leave <- ""
		st.over(flow.Done)
		assert.Empty(t, st.locks())
	})
}

// The lock alone is not known, as if somebody had removed it: the member that runs takes it again.
func TestALockOfAMemberThatRunsIsTakenAgain(t *testing.T) {
	eachFlow(t, func(t *testing.T, st *staging) {
		how := work.UniqueOptions{Key: "1"}
		st.unique(how)
		st.store()
		st.begins(st.g, "f/first")
		st.fallBehind()
		st.g.Leave <- ""
		st.begins(st.g, "f/second")
		st.settled(1)
		st.failOver(func() { st.lose("unique") })
		st.told(event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1, Outcomes: 1})
		assert.Equal(t, []string{"f/second 0 f"}, st.locks())
		st.secondEnds()
	})
}

// All is gone, and the member that runs is stored again with its lock, by those who want that.
func TestAMemberHasItsLockWhereAllIsGone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th := newTheater(t, s)
		st := &staging{theater: th, g: pooltest.NewDoor(), ends: pooltest.NewDoor()}
		how := work.UniqueOptions{Key: "1"}
		st.unique(how)
		options := th.options()
		options.EnqueueAnyName, options.RestoreRunning = true, true
		st.pool = th.Start(work.NewWorkerPool(nil, 1, options).Job("a", st.g.Pass).Job("end", st.ends.Pass))
		st.store()
		st.begins(st.g, "f/first", "f/second")
		st.settled(1)
		st.Unlink(slices.DeleteFunc(st.Keys(), func(name string) bool { return strings.HasPrefix(name, "layout") })...)
		lost := pooltest.Await(t, st.Spy, func(e event.DataLost) bool { return e.Worker != "" })
		assert.Equal(t, event.DataLost{Worker: pooltest.WorkerID(st.pool), Held: 1, Restored: 1}, lost)
		assert.Equal(t, []string{"f/second 0 f"}, st.locks())
		assert.Equal(t, "f/second", st.alike(how).ID)
		st.g.Leave <- ""
		st.Drained(st.pool)
		assert.Empty(t, st.locks())
	})
}
