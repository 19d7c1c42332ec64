package flow_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAMemberWithATimeRunsWhenItHasComeAndTheOthersAreDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		began := time.Now()
		f := flow.New("f").OnDone("ok")
		a := f.Job("ok").Named("a")
		f.Entry(work.Entry{Name: "ok", In: 24 * time.Hour}).Named("later").After(a)
		f.Entry(work.Entry{Name: "ok", At: began.Add(48 * time.Hour)}).Named("at once there")
		f.Entry(work.Entry{Name: "ok", At: began.Add(-time.Hour)}).Named("past").After(a)
		k.stored(f)
		assert.Equal(t, []string{"f/at once there"}, k.Strings("ZRANGE", "scheduled", 0, -1), "it waits for nobody")
		pool := k.pool(r)
		k.Until("the one behind another is scheduled", func() bool { return k.Number("ZCARD", "scheduled") == 2 })
		k.DueIn(began, "scheduled", "f/later", 24*time.Hour)
		k.DueIn(began, "scheduled", "f/at once there", 48*time.Hour)
		k.Until("those without have run", func() bool { return len(r.all()) == 2 })
		require.NoError(t, pool.Stop(k.Ctx()))
		ran := r.all()
		slices.Sort(ran)
		assert.Equal(t, []string{"f/a", "f/past"}, ran, "one whose time is over runs as any other")
		assert.Equal(t, flow.Running, k.stateOf("f"))

		k.DueNow("scheduled")
		pool = k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Len(t, r.all(), 5)
		assert.Equal(t, "f/@done", r.all()[4])
	})
}

func TestATimeThatIsOverBeforeTheOthersAreDoneHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Entry(work.Entry{Name: "ok", In: time.Millisecond}).Named("b").After(f.Job("ok").Named("a"))
		k.stored(f)
		assert.Zero(t, k.Number("ZCARD", "scheduled"), "it is nowhere before it is ready")
		assert.Equal(t, []string{"f/a"}, k.Strings("LRANGE", "queue:ok", 0, -1))
		r := &runs{}
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/a", "f/b"}, r.all())
	})
}

// What is done to the flow finds a member that waits for its time, as any other.
func TestAMemberThatWaitsForItsTimeIsCancelledAndRunsAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := pooltest.StoreOf(k.Enq)
		f := flow.New("f")
		f.Entry(work.Entry{Name: "ok", In: 24 * time.Hour, Options: []work.EnqueueOption{alike("1"), work.Key("k")}}).
			Named("b")
		k.stored(f)
		due := k.Due("scheduled", "f/b")
		assert.Equal(t, []string{"f/b 0 f"}, k.locks())
		assert.Equal(t, "1 k", k.Text("HGET", "keyed", "f/b"))
		p, err := flow.Cancel(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Cancelled, p.State)
		assert.Zero(t, k.Number("ZCARD", "scheduled"))
		assert.Empty(t, k.locks())
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.WithinDuration(t, due, k.Due("scheduled", "f/b"), time.Minute, "its time is that of the first store")
		assert.Equal(t, []string{"f/b 0 f"}, k.locks())
		_, err = flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		require.NoError(t, maintain.AdvanceFlows(k.Ctx(), store))
		k.DueNow("scheduled")
		r := &runs{}
		pool := k.pool(r)
		k.Drained(pool)
		assert.Equal(t, []string{"f/b"}, r.all(), "a flow that is paused holds up none that is scheduled already")
		_, err = flow.Resume(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, flow.Done, k.ended("f").State)
		assert.Zero(t, k.Number("HLEN", "keyed"))
	})
}
