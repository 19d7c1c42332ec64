package flow_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

func TestMistakesInFlowsInFlowsAreNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		one := func() *flow.Flow {
			inner := flow.New("")
			inner.Job("a")
			return inner
		}
		for want, build := range map[string]func(f *flow.Flow){
			`flow "in" in another one is nil: give one that New has returned`: func(f *flow.Flow) {
				f.Flow("in", nil)
			},
			`flow "in" is in itself: make another flow for it`: func(f *flow.Flow) { f.Flow("in", f) },
			`flow "deep" is in itself: make another flow for it`: func(f *flow.Flow) {
				inner := one()
				f.Flow("in", inner)
				inner.Flow("deep", f)
			},
			`flow "b" is in two places: make a flow for each`: func(f *flow.Flow) {
				inner := one()
				f.Flow("a", inner)
				f.Flow("b", inner)
			},
			`flow "f/in" is given the id "g": make it with an empty one: its name in the other is its id`: func(
				f *flow.Flow) {
				inner := flow.New("g")
				inner.Job("a")
				f.Flow("in", inner)
			},
			`flow "f/in" is given a Retention: give it to the one that it is in: it is kept as long as that`: func(
				f *flow.Flow) {
				f.Flow("in", one().Retention(time.Hour))
			},
			`flow "f/in" is given options by With: give them to its jobs`: func(f *flow.Flow) {
				f.Flow("in", one()).With(work.Tags("x"))
			},
			`flow "f/in" is without a job: add one with Job`: func(f *flow.Flow) { f.Flow("in", flow.New("")) },
			`member "in" of flow "f" is there twice: give one of the two another name with Named`: func(f *flow.Flow) {
				f.Job("in")
				f.Flow("in", one())
			},
			`job "b" of flow "f/in" is after job "a" of flow "f": let it wait for jobs of its own flow only`: func(
				f *flow.Flow) {
				inner, a := one(), f.Job("a")
				inner.Job("b").After(a)
				f.Flow("in", inner)
			},
			`flow "f/in/in/in/in/in" is the 6th that is in another: use at most 5`: func(f *flow.Flow) {
				fill(f, 5, "a")
			},
		} {
			f := flow.New("f")
			build(f)
			_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
			var bad *work.InvalidError
			require.ErrorAs(t, err, &bad, want)
			assert.Equal(t, want, err.Error())
		}
		inner := one()
		flow.New("f").Flow("in", inner)
		_, err := flow.Enqueue(k.Ctx(), k.Enq, inner)
		assert.EqualError(t, err, `flow "f/in" is in another one: enqueue that one`)
		f := flow.New("f")
		for at, n := f, 0; n < 3; n++ {
			inner := one()
			at.Flow(strings.Repeat("x", 80), inner)
			at = inner
		}
		_, err = flow.Enqueue(k.Ctx(), k.Enq, f)
		assert.ErrorContains(t, err, "of 244 bytes: use at most 180: it is made of the names of all that it is in")
		assert.Empty(t, k.Remains("flow"))
	})
}

// Middleware gets the jobs of each flow by a call of its own, within that of the flow that it is in.
func TestFlowsInFlowsGoThroughTheMiddleware(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.WithEnqueueMiddleware(
			func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				of := flow.StoringFromContext(ctx)
				r.note(of.Flow + ": " + strings.Join(of.Members, " "))
				for i := range entries {
					entries[i].Options = append(entries[i].Options, work.Tags("seen"))
				}
				receipts, err := next(ctx, entries)
				if err == nil {
					r.note(receipts[0].ID)
				}
				return err
			}))
		require.NoError(t, err)
		t.Cleanup(func() { _ = enq.Close() })
		f, _ := nested("ok")
		_, err = flow.Enqueue(k.Ctx(), enq, f)
		require.NoError(t, err)
		assert.Equal(t, []string{"f: pay ship tell @done @dead", "f/packing: box label @done @dead", "f/packing/box",
			"f/pay"}, r.all())
		for _, of := range []struct{ flow, member string }{{"f", "ship"}, {"f/packing", "label"}} {
			assert.Contains(t, k.Text("HGET", "flow.records:"+of.flow, of.member), `"seen"`)
		}
	})
}
