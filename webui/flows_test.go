package webui

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// ordered stores a flow in which "ship" waits for "charge" and "pick".
func (k *kit) ordered(id string) {
	k.t.Helper()
	f := flow.New(id).OnDone("close")
	f.Job("ship").After(f.Job("charge"), f.Job("pick"))
	_, err := flow.Enqueue(k.ctx(), k.enq, f)
	require.NoError(k.t, err)
}

// flowIs wants a flow to be in a state, of a generation, and paused or not.
func flowIs(state flow.State, generation int, paused bool) func(*testing.T, *kit) {
	return func(t *testing.T, k *kit) {
		t.Helper()
		info, err := k.inspector.Flow(k.ctx(), "f")
		require.NoError(t, err)
		assert.Equal(t, []any{state, generation, paused}, []any{info.State, info.Generation, info.Paused})
	}
}

// flowAfter does something to the flow.
func (k *kit) flowAfter(do func(ctx context.Context, id string) (inspect.FlowInfo, error)) {
	k.t.Helper()
	_, err := do(k.ctx(), "f")
	require.NoError(k.t, err)
}

func flowEffects() map[string]effect {
	ordered := func(k *kit) { k.ordered("f") }
	cancelled := func(k *kit) { ordered(k); k.flowAfter(k.inspector.CancelFlow) }
	paused := func(k *kit) { ordered(k); k.flowAfter(k.inspector.PauseFlow) }
	return map[string]effect{
		"/flow-cancel": {before: ordered, target: "id=f", after: flowIs(flow.Cancelled, 1, false)},
		"/flow-pause":  {before: ordered, target: "id=f", after: flowIs(flow.Running, 1, true)},
		"/flow-resume": {before: paused, target: "id=f", after: flowIs(flow.Running, 1, false)},
		"/flow-retry":  {before: cancelled, target: "id=f", after: flowIs(flow.Running, 2, false)},
		"/flow-delete": {before: cancelled, target: "id=f", after: func(t *testing.T, k *kit) {
			_, err := k.inspector.Flow(k.ctx(), "f")
			assert.ErrorIs(t, err, flow.ErrNoFlow)
		}},
	}
}

func TestFlowsAreListedDrawnAndSteered(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.ordered("order 7")
		list := k.get("flows")
		assert.Contains(t, list.Text, `href="flow?id=order&#43;7"`)
		assert.Contains(t, k.get("flows?state=dead").Text, "There are no such flows")
		page := k.get("flow?id=order+7")
		assert.Contains(t, page.Text, `<title>ship runs when &#34;charge&#34; is done, and is cancelled with it`)
		assert.Contains(t, page.Text, `href="job?id=order&#43;7%2Fcharge"`)
		assert.Contains(t, page.Text, "no registered worker serves its queue")
		assert.Contains(t, k.get("job?id=order+7%2Fcharge").Text, `href="flow?id=order&#43;7"`, "its job leads to it")
		member := k.get("job?id=order+7%2Fship")
		assert.Equal(t, http.StatusOK, member.StatusCode)
		assert.Contains(t, member.Text, "runs when &#34;charge&#34; is done")
		assert.Equal(t, http.StatusNotFound, k.get("job?id=order+7%2Fnone").StatusCode)

		assert.Equal(t, http.StatusSeeOther, k.post(form(t, page, "flow-pause")).StatusCode)
		page = k.get("flow?id=order+7")
		k.post(form(t, page, "flow-resume"))
		k.post(form(t, page, "flow-cancel"))
		page = k.get("flow?id=order+7")
		assert.Contains(t, page.Text, `class="state cancelled"`)
		k.post(form(t, page, "flow-retry"))
		assert.Contains(t, k.get("flow?id=order+7").Text, "one more with each retry")
		assert.Equal(t, http.StatusBadRequest, k.post("flow-delete?id=order+7").StatusCode, "it runs")
		k.post("flow-cancel?id=order+7")
		k.post(form(t, k.get("flow?id=order+7"), "flow-delete"))
		assert.Equal(t, http.StatusNotFound, k.get("flow?id=order+7").StatusCode)
		assert.Equal(t, http.StatusNotFound, k.post("flow-retry?id=order+7").StatusCode)
		assert.Equal(t, http.StatusBadRequest, k.get("flows?state=odd").StatusCode)
		for _, act := range []string{"flow-pause", "flow-cancel", "flow-retry", "flow-delete"} {
			k.ordered("mine")
			refused := k.do(request(http.MethodPost, "/"+act+"?id=mine", "viewer", nil))
			assert.Equal(t, http.StatusForbidden, refused.StatusCode, act)
		}
		assert.NotContains(t, k.do(request(http.MethodGet, "/flow?id=mine", "viewer", nil)).Text, "flow-pause")
	})
}

func TestAFlowInAFlowIsDrawnAndLeadsToItsOwnPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f, packing := flow.New("f"), flow.New("")
		packing.Job("box")
		f.Flow("packing", packing).After(f.Job("charge"))
		_, err := flow.Enqueue(k.ctx(), k.enq, f)
		require.NoError(t, err)
		page := k.get("flow?id=f")
		assert.Contains(t, page.Text, "packing (flow)")
		assert.Contains(t, page.Text, `href="flow?id=f%2Fpacking"`)
		assert.Contains(t, page.Text, "a flow, 0 of 1 done")
		inner := k.get("flow?id=f%2Fpacking")
		assert.Contains(t, inner.Text, `<dt>In flow</dt><dd><a href="flow?id=f">f</a>`)
		assert.Contains(t, inner.Text, "held")
		assert.Contains(t, inner.Text, "box")
		k.post("flow-cancel?id=f%2Fpacking")
		inner = k.get("flow?id=f%2Fpacking")
		assert.Contains(t, inner.Text, `class="state cancelled"`)
		assert.NotContains(t, inner.Text, "flow-delete", "it goes with the other")
		assert.Equal(t, http.StatusBadRequest, k.post("flow-delete?id=f%2Fpacking").StatusCode)
	})
}

func TestNamesOfFlowsAndMembersAreHarmless(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New(`"'><img src=x onerror=alert(1)>`)
		var all []*flow.Job
		for n := range 50 {
			all = append(all, f.Job(`<script>alert(2)<!`).Named(fmt.Sprint(`<svg onload=alert(3)> `, n)))
		}
		f.Job(`<b>`).After(all...)
		_, err := flow.Enqueue(k.ctx(), k.enq, f)
		require.NoError(t, err)
		list := k.get("flows")
		assertHarmless(t, list)
		assertHarmless(t, k.get("flow?id="+`%22%27%3E%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E`))
	})
}
