package integration

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultKilledUnderALimit kills processes that hold what a limit allows. The room comes back with their jobs, all of
// it and no more, though the limit is changed meanwhile.
func TestFaultKilledUnderALimit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	inspector, err := inspect.New(f.dsn, work.Namespace(f.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = inspector.Close() })
	limit := func(n int) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, inspector.SetLimit(ctx, "brief", work.Limit{Concurrent: n}))
	}
	limit(6)
	first, second, survivor := f.start(20), f.start(20), f.start(20)
	f.enqueue(900, "brief", 10)
	f.ledger.await(t, ended, first.pid, 30)
	first.kill()
	limit(5)
	f.ledger.await(t, ended, second.pid, 60)
	second.kill()
	limit(4)
	require.Eventually(t, func() bool { // nothing is told of a dead worker that held nothing
		left, err := f.sum("SCARD", "workers")
		dead, failed := f.sum("SCARD", "dead")
		return err == nil && failed == nil && left == max(1, f.partitions) && dead == 0
	}, patience, 50*time.Millisecond)
	limit(6)
	f.settled()
	f.explained()
	assert.LessOrEqual(t, f.together(), 6)
	assert.GreaterOrEqual(t, f.together(), 4, "the limit was used")

	limit(5)
	f.enqueue(12, "hold")
	f.ledger.await(t, begun, survivor.pid, len(f.ledger.of(ended, survivor.pid))+12)
	survivor.open()
	f.settled()
	f.healthy()
}

// together is how many handlers ran at once at the most, by what they reported themselves. One that was killed ended
// then.
func (f *fleet) together() int { return f.togetherOf(nil) }

// togetherOf is together for some jobs only; nil is all.
func (f *fleet) togetherOf(some map[string]bool) int {
	type step struct {
		at   time.Time
		more int
	}
	var steps []step
	open := map[int]int{}
	for _, e := range f.ledger.of(begun, 0) {
		if some != nil && !some[e.Of] {
			continue
		}
		steps = append(steps, step{e.At, 1})
		open[e.Member]++
	}
	for _, e := range f.ledger.of(ended, 0) {
		if some != nil && !some[e.Of] {
			continue
		}
		steps = append(steps, step{e.At, -1})
		open[e.Member]--
	}
	for member, died := range f.killed {
		for range open[member] {
			steps = append(steps, step{died, -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.more, b.more)) })
	now, most := 0, 0
	for _, s := range steps {
		now += s.more
		most = max(most, now)
	}
	return most
}
