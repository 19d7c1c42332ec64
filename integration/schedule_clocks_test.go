package integration

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// inspector looks into the namespace of the fleet.
func (f *fleet) inspector() *inspect.Inspector {
	f.t.Helper()
	i, err := inspect.New(f.direct, work.Namespace(f.namespace))
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = i.Close() })
	return i
}

// onlySchedule is the one schedule that there is.
func onlySchedule(t *testing.T, i *inspect.Inspector) inspect.ScheduleInfo {
	t.Helper()
	all, err := i.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// TestTicksOfWorkersWithWrongClocks has three processes whose clocks are hours apart serve a schedule of each second,
// and kills the one that was there first. Each tick has its one job, at the second by the clock of Redis.
func TestTicksOfWorkersWithWrongClocks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	i := f.inspector()
	var members []*process
	for _, clock := range []time.Duration{26 * time.Hour, -3 * time.Hour, 0} {
		members = append(members, f.startUnder(clock, 5))
	}
	// also on a machine that stops for longer than a tick may be late
	require.NoError(t, i.AddSchedule(t.Context(), "@every 1s", "brief",
		work.PeriodicOptions{Missed: work.MissedAll(100)}, 1))
	added := onlySchedule(t, i).Last
	f.ledger.await(t, ended, 0, 2)
	members[0].kill()
	f.ledger.await(t, ended, 0, 8)
	require.NoError(t, i.PauseSchedule(t.Context(), "brief"))
	last := onlySchedule(t, i).Last

	ticks := int(last.Unix() - added.Unix())
	f.ledger.awaitEach(t, ended, ticks) // what the killed one had not settled may have ended twice
	assert.Len(t, f.ledger.times(begun), ticks, "one job for each second between %v and %v", added, last)
	for id, n := range f.ledger.times(ended) {
		assert.LessOrEqual(t, n, 2, "%s: only one that the killed worker had not settled runs again", id)
	}
}

// TestDaylightSavingByTheClockOfRedis runs a pool while the clock of its Redis goes through the nights in which the
// clocks of Berlin are put forward and back.
func TestDaylightSavingByTheClockOfRedis(t *testing.T) {
	t.Parallel()
	spring, autumn := time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC), time.Date(2027, 10, 31, 1, 0, 0, 0, time.UTC)
	server, clock := shiftedRedis(t, time.Until(spring.Add(-3*time.Second)))
	runs := make(chan string, 10)
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: server.DSN(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}).
		Job("report", func(job *work.Job) error { runs <- job.Meta["schedule"] + " " + job.Meta["tick"]; return nil })
	for id, spec := range map[string]string{"fixed": "30 2 * * *", "elapsed": "30 * * * *"} {
		pool.PeriodicWithOptions(spec, "report",
			work.PeriodicOptions{ID: id, TZ: "Europe/Berlin", Missed: work.MissedSkip})
	}
	require.NoError(t, pool.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, pool.Stop(ctx))
	})
	next := func(n int) (seen []string) {
		t.Helper()
		for range n {
			select {
			case run := <-runs:
				seen = append(seen, run)
			case <-time.After(patience):
				require.FailNow(t, "no tick came", "after %v", seen)
			}
		}
		return seen
	}
	run := func(id string, at time.Time) string { return fmt.Sprintf("%s %s", id, at.Format(time.RFC3339)) }

	assert.Equal(t, []string{run("fixed", spring)}, next(1),
		"02:30 is left out: it runs as the clock goes on, at 03:00")
	clock.shift(time.Until(autumn.Add(-30*time.Minute - 3*time.Second)))
	assert.ElementsMatch(t, []string{run("fixed", autumn.Add(-30*time.Minute)),
		run("elapsed", autumn.Add(-30*time.Minute))}, next(2), "02:30 for the first time")
	clock.shift(time.Until(autumn.Add(30*time.Minute - 3*time.Second)))
	assert.Equal(t, []string{run("elapsed", autumn.Add(30*time.Minute))}, next(1), "02:30 for the second time")
	clock.shift(time.Until(autumn.Add(90*time.Minute - 3*time.Second)))
	assert.Equal(t, []string{run("elapsed", autumn.Add(90*time.Minute))}, next(1),
		"03:30: the fixed one was not late either")
}
