package work

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestRoundTripsDoNotGrowWithSchedules counts only what is done itself: the one that enqueues what is periodic reads
// all schedules again when it hears that some have changed.
func TestRoundTripsDoNotGrowWithSchedules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		few, many := tripsOfSchedules(t, s, 10), tripsOfSchedules(t, s, 1_000)
		for deed, trips := range many {
			assert.LessOrEqual(t, trips, few[deed]+22, "%s: round trips for 1,000 schedules; %d for 10", deed,
				few[deed])
		}
	})
}

func tripsOfSchedules(t *testing.T, s redistest.Server, n int) map[string]int64 {
	m := newManyNames(t, s, n, JobOptions{})
	for _, name := range m.names {
		m.pool.Periodic("0 0 29 2 *", name)
	}
	ctx, made := context.WithValue(m.ctx(), markOfTrips{}, true), map[string]int64{}
	do := func(deed string, do func(context.Context) error) {
		before := m.trips.mine.Load()
		require.NoError(t, do(ctx), deed)
		made[deed] = m.trips.mine.Load() - before
	}
	stored := func(many int, what string) { assert.EqualValues(t, many, m.number("HLEN", "schedules"), what) }

	do("start", m.pool.Start)
	stored(n, "start")
	do("declare again", m.pool.declare)
	m.do("UNLINK", "schedules")
	do("restore", m.pool.restoreSchedules)
	stored(n, "restore")
	for i := range m.pool.periodics {
		m.pool.periodics[i].definition.Spec = "0 1 29 2 *"
	}
	do("declare otherwise", m.pool.declare)
	before := m.pool.periodics[n-1].definition
	before.Service = m.pool.service()
	assert.Equal(t, string(before.text()), m.text("HGET", "schedules", m.pool.periodics[n-1].id))
	m.do("HDEL", "worker:"+m.pool.id()+":info", "schedules")
	m.pool.periodics = nil
	do("withdraw", func(ctx context.Context) error {
		pending, err := m.pool.withdraw(ctx)
		assert.False(t, pending)
		return err
	})
	stored(0, "withdraw")
	require.NoError(t, m.pool.Stop(m.ctx()))
	return made
}
