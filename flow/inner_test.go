package flow_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

// nested is a flow of which the second member is a flow: pay, then packing of box and, behind it, label, then ship.
func nested(box string) (f, packing *flow.Flow) {
	f, packing = flow.New("f"), flow.New("")
	pay := f.Job("ok").Named("pay")
	first := packing.Job(box).Named("box")
	packing.Job("ok").Named("label").After(first)
	packing.OnDone("ok").OnDeath("ok")
	pack := f.Flow("packing", packing).After(pay)
	f.Job("ok").Named("ship").After(pack)
	f.Job("ok").Named("tell").After(pack).Even(flow.Dead)
	f.OnDone("ok").OnDeath("ok")
	return f, packing
}

func TestAFlowInAFlowRunsInItsTurn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f, packing := nested("ok")
		assert.Equal(t, "f/packing", packing.ID())
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 4}, k.stored(f))
		p, err := flow.Read(k.Ctx(), k.Enq, "f/packing")
		require.NoError(t, err)
		assert.Equal(t, []any{flow.Held, 2, 2}, []any{p.State, p.Total, p.Left})
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f/packing").State)
		p = k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []any{flow.Done, 4, 4}, []any{p.State, p.Total, p.Done})
		ran := r.all()
		assert.Equal(t, []string{"f/pay", "f/packing/box", "f/packing/label"}, ran[:3])
		slices.Sort(ran)
		assert.Equal(t, []string{"f/@done", "f/packing/@done", "f/packing/box", "f/packing/label", "f/pay", "f/ship",
			"f/tell"}, ran)
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 4, Duplicate: true}, k.stored(f))
		assert.Zero(t, k.Number("ZCARD", "flows:busy"))
	})
}

func TestWhatBecomesOfThoseThatWaitForAFlowThatDoesNotEndWell(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.pool(r)
		f, _ := nested("bad")
		k.stored(f)
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []any{flow.DeadEnded, 2, 1, 1}, []any{p.State, p.Done, p.Dead, p.Cancelled})
		assert.Equal(t, flow.DeadEnded, k.ended("f/packing").State)
		ran := r.all()
		slices.Sort(ran)
		assert.Equal(t, []string{"f/@dead", "f/packing/@dead", "f/packing/box", "f/pay", "f/tell"}, ran)
	})
}
