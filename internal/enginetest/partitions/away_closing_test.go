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
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// settled does once what a worker with the lease does about a partition that is to go, and tells in which state that is
// then.
func (h *hands) settled(i int) partition.State {
	h.T.Helper()
	require.NoError(h.T, h.directory.Refresh(h.Ctx()))
	_, err := resize.Settle(h.Ctx(), h.directory, i)
	require.NoError(h.T, err)
	return h.directory.Map().State(i)
}

// advance has each partition agree with the others, and runs nothing.
func (h *hands) advance() {
	h.T.Helper()
	for range 3 {
		for i := range 3 {
			require.NoError(h.T, maintain.AdvanceFlows(h.Ctx(), h.directory.Store(i)))
		}
	}
}

// A partition is given up in which members of flows elsewhere run, wait in their queue, and are held until their turn:
// it is closed when the last of them has ended, and its flow knows that.
func TestAwayAPartitionIsGivenUpWhenItsMembersHaveEnded(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		f := flow.New("f").OnDone(h.names[0])
		here := f.Job(h.names[0]).Named("here")
		f.Job(h.names[2]).Named("runs")
		f.Job(h.names[2]).Named("queued")
		unique := work.Unique(work.UniqueOptions{Key: "x"})
		f.Job(h.names[2]).Named("held").With(unique).After(here)
		h.store(f)
		h.advance()
		runs := h.take(2, 1)
		require.Len(t, runs, 1)
		require.NoError(t, resize.Begin(h.Ctx(), h.directory, 2, nil))
		stays := func(why string) {
			t.Helper()
			require.Equal(t, partition.Draining, h.settled(2), why)
		}
		stays("one runs, one waits, one is held")
		h.end(2, runs[0])
		stays("an end is not told")
		h.advance()
		stays("one waits, one is held")
		h.run(2)
		h.advance()
		stays("one is held")
		require.Len(t, h.ran, 2)
		h.run(0)
		stays("it does not know that its turn has come")
		h.advance()
		stays("it waits in its queue")
		h.run(2)
		require.Len(t, h.ran, 4)
		stays("the end of the last one is not told")
		require.Equal(t, flow.Running, h.stateOf("f"))
		h.advance()
		assert.Equal(t, partition.Closed, h.settled(2))
		h.until(flow.Done)
		h.didRun("f/@done", "f/held/@job", "f/here", "f/queued/@job", "f/runs/@job")
		done, err := flowdb.Of(h.directory.Store(0)).Forget(h.Ctx(), "f")
		require.NoError(t, err)
		assert.True(t, done)
		h.nothingLeft()
	})
}

// The partition of a flow is given up while members of it are at home in others: it is closed when the flow has ended,
// and what runs at its end has run.
func TestAwayThePartitionOfAFlowIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		h.home = 2
		f := flow.New("f").OnDone(h.names[2])
		here := f.Job(h.names[2]).Named("here")
		one := f.Job(h.names[0]).Named("one").With(work.Unique(work.UniqueOptions{Key: "x"})).After(here)
		f.Job(h.names[1]).Named("last").After(one)
		h.store(f)
		require.NoError(t, resize.Begin(h.Ctx(), h.directory, 1, nil))
		both := func() []partition.State { return []partition.State{h.settled(1), h.settled(2)} }
		draining := []partition.State{partition.Draining, partition.Draining}
		require.Equal(t, draining, both(), "nothing has run")
		h.run(2)
		require.Equal(t, draining, both())
		h.advance()
		h.run(0)
		require.Equal(t, draining, both())
		h.advance()
		h.run(1)
		require.Equal(t, []string{"f/here", "f/one/@job", "f/last/@job"}, h.ran)
		require.Equal(t, draining, both(), "the end of the last one is not told")
		h.advance()
		require.Equal(t, flow.Done, h.stateOf("f"))
		require.Equal(t, []partition.State{partition.Closed, partition.Draining}, both(), "what runs at its end waits")
		h.run(2)
		require.Equal(t, []partition.State{partition.Closed, partition.Closed}, both())
		h.didRun("f/@done", "f/here", "f/last/@job", "f/one/@job")
		p, err := flow.Read(h.Ctx(), h.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done})
		over, _, err := flowdb.Of(h.directory.Store(2)).ToRemove(h.Ctx(), time.Hour)
		require.NoError(t, err)
		assert.Empty(t, over, "it is kept")
		done, err := flowdb.Of(h.directory.Store(2)).Forget(h.Ctx(), "f")
		require.NoError(t, err)
		assert.True(t, done)
		h.nothingLeft()
	})
}

// A partition is given up in whose morgue is a member for which another one of its flow holds on: it stays until the
// flow has ended, so that what becomes of the member by hand counts.
func TestAwayAPartitionIsGivenUpWithADeadMember(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		m := newMortal(newDivided(t, s, 3), 1)
		m.waitsForDead(1)
		directory := partition.NewDirectory(m.Raw().Driver(), m.Namespace)
		require.NoError(t, resize.Begin(m.Ctx(), directory, 1, nil))
		assert.Equal(t, []int{1, 2}, directory.Map().In(partition.Draining))
		assert.Equal(t, []int{1}, m.where("morgue"), "it stays")
		require.NoError(t, m.Inspector().RetryNow(m.Ctx(), "f/dies/@job"))
		p, err := flow.Wait(m.Ctx(), m.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Done, 4}, []any{p.State, p.Done})
		require.NoError(t, resize.To(m.Ctx(), directory, 1, nil))
		assert.Equal(t, []int{1, 1, 1}, []int{m.of("f/dies/@job"), m.of("f/holds/@job"), m.of("f/even")})
	})
}

// Where nobody retries it the partition is closed when the flow has ended, and its dead member leaves with that.
func TestAwayADeadMemberLeavesWhenItsFlowHasEnded(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		m := newMortal(newDivided(t, s, 3), 1)
		m.waitsForDead(1)
		directory := partition.NewDirectory(m.Raw().Driver(), m.Namespace)
		require.NoError(t, resize.Begin(m.Ctx(), directory, 1, nil))
		_, err := flow.Cancel(m.Ctx(), m.Enq, "f")
		require.NoError(t, err)
		require.NoError(t, resize.To(m.Ctx(), directory, 1, nil))
		assert.Equal(t, []int{0}, m.where("morgue"))
		require.NoError(t, m.Inspector().RetryNow(m.Ctx(), "f/dies/@job"))
		m.Until("it has run", func() bool { return m.of("f/dies/@job") == 1 })
		assert.Zero(t, m.of("f/holds/@job"))
	})
}

// Nor is it closed before the flow knows what has become of its dead member.
func TestAwayAPartitionIsGivenUpWhenWhatWasDeadIsTold(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		f := flow.New("f").OnDone(h.names[0])
		f.Job(h.names[0]).Named("here")
		f.Job(h.names[0]).Named("holds").After(f.Job(h.names[2]).Named("dies")).Hold(flow.Dead)
		h.store(f)
		h.dies = "f/dies/@job"
		for range 3 {
			h.goOn()
		}
		h.advance()
		require.Equal(t, []int{2}, h.where("morgue"))
		require.NoError(t, resize.Begin(h.Ctx(), h.directory, 2, nil))
		require.Equal(t, partition.Draining, h.settled(2))
		h.dies = ""
		require.NoError(t, h.Inspector().RetryNow(h.Ctx(), "f/dies/@job"))
		require.Equal(t, partition.Draining, h.settled(2))
		h.run(2)
		require.Equal(t, partition.Draining, h.settled(2), "it is done, and that is not told")
		h.advance()
		require.Equal(t, partition.Closed, h.settled(2))
		h.until(flow.Done)
		h.didRun("f/@done", "f/dies/@job", "f/dies/@job", "f/here", "f/holds")
	})
}
