package browsertest

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// ordered is a flow of five members, whose queues nobody serves.
func ordered(id string) *flow.Flow {
	f := flow.New(id).OnDone("close", 7).OnDeath("refund", 7)
	charge, pick := f.Job("charge card", 7).Named("charge"), f.Job("pick", 7)
	ship := f.Job("ship", 7).After(charge, pick)
	f.Job("notify", 7).After(ship).Even(flow.Dead)
	f.Job("rate", 7).After(ship).Hold(flow.Dead)
	return f
}

func (s *site) store(f *flow.Flow) {
	s.t.Helper()
	_, err := flow.Enqueue(s.ctx(), s.enq, f)
	require.NoError(s.t, err)
}

// flows are "order-7", which waits, "order-6", which is dead, "catalogue" of 5,000 members, and a batch.
func (s *site) flows() {
	s.t.Helper()
	s.store(ordered("order-6"))
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: s.dsn, Namespace: s.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("charge card", func(int) error { return nil }).Job("notify", func(int) error { return nil }).
		Job("pick", func(int) error { return work.Bury(errors.New("none left")) }).
		Job("refund", func(int) error { return nil })
	require.NoError(s.t, pool.Start(s.ctx()))
	_, err := flow.Wait(s.ctx(), s.enq, "order-6")
	require.NoError(s.t, err)
	require.NoError(s.t, pool.Drain(s.ctx()))
	require.NoError(s.t, pool.Stop(s.ctx()))
	s.store(ordered("order-7"))
	f := flow.New("catalogue").OnDone("publish")
	begin := f.Job("download")
	var sums []*flow.Job
	for part := range 10 {
		parse := f.Job("parse").Named(fmt.Sprint("parse-", part)).After(begin)
		sum := f.Job("sum").Named(fmt.Sprint("sum-", part))
		for n := range 498 {
			sum.After(f.Job("resize").Named(fmt.Sprint("resize-", part, "-", n)).After(parse))
		}
		sums = append(sums, sum)
	}
	f.Job("index").After(sums...)
	f.Job("thumbnails").After(sums...)
	s.store(f)
	_, err = flow.Batch(s.ctx(), s.enq, "newsletters", func(yield func(work.Entry) bool) {
		for n := range 700 {
			if !yield(work.Entry{Name: "letter", Args: []any{n}}) {
				return
			}
		}
	}, flow.OnDone("report"))
	require.NoError(s.t, err)
}

func flowDeeds() map[string]deed {
	stored := func(s *site) { s.store(ordered("f")) }
	on := func(action, button string) func(*tab, *site) {
		return func(p *tab, _ *site) {
			p.visit("/flow?id=f")
			p.submit(action+"?id=f", button)
		}
	}
	cancelled := func(s *site) {
		stored(s)
		_, err := s.inspector.CancelFlow(s.ctx(), "f")
		require.NoError(s.t, err)
	}
	is := func(check func(*testing.T, inspect.FlowInfo)) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			info, err := s.inspector.Flow(s.ctx(), "f")
			require.NoError(t, err)
			check(t, info)
		}
	}
	return map[string]deed{
		"pause a flow": {stored, on("flow-pause", "Pause"),
			is(func(t *testing.T, f inspect.FlowInfo) { assert.True(t, f.Paused) })},
		"resume a flow": {func(s *site) {
			stored(s)
			_, err := s.inspector.PauseFlow(s.ctx(), "f")
			require.NoError(s.t, err)
		}, on("flow-resume", "Resume"), is(func(t *testing.T, f inspect.FlowInfo) { assert.False(t, f.Paused) })},
		"cancel a flow": {stored, on("flow-cancel", "Cancel"),
			is(func(t *testing.T, f inspect.FlowInfo) { assert.Equal(t, flow.Cancelled, f.State) })},
		"retry a flow": {cancelled, on("flow-retry", "Retry"), is(func(t *testing.T, f inspect.FlowInfo) {
			assert.Equal(t, []any{flow.Running, 2}, []any{f.State, f.Generation})
		})},
		"delete a flow": {cancelled, on("flow-delete", "Delete"), func(t *testing.T, s *site) {
			_, err := s.inspector.Flow(s.ctx(), "f")
			assert.ErrorIs(t, err, flow.ErrNoFlow)
		}},
	}
}
