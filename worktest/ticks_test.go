package worktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// onTheHour is a pool that reports each hour, on a Redis whose clock stands a minute after one.
func onTheHour(t *testing.T) (*Redis, *work.WorkerPool) {
	r := New(t)
	r.Hold(t)
	r.Advance(t, time.Until(r.Now().Truncate(time.Hour).Add(61*time.Minute)))
	pool := work.NewWorkerPool(nil, 1, r.Options()).Job("report", func(string, int) error { return nil })
	pool.PeriodicWithOptions("0 * * * *", "report", work.PeriodicOptions{ID: "hourly"}, "sales", 7)
	return r, r.Start(t, pool)
}

func TestWhatSchedulesEnqueuedIsSeen(t *testing.T) {
	t.Parallel()
	for name, pass := range map[string]func(*testing.T, *Redis, *work.WorkerPool){
		"DrainFor": func(t *testing.T, r *Redis, pool *work.WorkerPool) { DrainFor(t, r, pool, 3*time.Hour) },
		"Advance and Drain": func(t *testing.T, r *Redis, pool *work.WorkerPool) {
			for range 3 {
				r.Advance(t, time.Hour)
				Drain(t, pool)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, pool := onTheHour(t)
			began := r.Now()
			AssertNoneEnqueued(t, r)
			pass(t, r, pool)
			first := AssertEnqueued(t, r, "report", "sales", 7)
			assert.Equal(t, "hourly", first.Schedule)
			assert.True(t, first.Due.Equal(began.Truncate(time.Hour).Add(time.Hour)), "%s", first.Due)
			all := AssertWanted(t, r, Want{Name: "report", Args: []any{"sales", Any}, Times: 3})
			require.Len(t, all, 3)
			assert.True(t, all[2].Due.Equal(first.Due.Add(2*time.Hour)))
			AssertNotEnqueued(t, r, "report", "costs", 7)
			AssertWanted(t, r, Want{Name: "report", At: first.Due.Add(time.Hour), Times: 1})
		})
	}
}

func TestTicksAreSeenAtOnceAndForgotten(t *testing.T) {
	t.Parallel()
	r, pool := onTheHour(t)
	DrainFor(t, r, pool, time.Hour)
	AssertWanted(t, r, Want{Name: "report", Times: 1})
	r.recorder.Forget()
	AssertNoneEnqueued(t, r)
	DrainFor(t, r, pool, time.Hour)
	AssertWanted(t, r, Want{Name: "report", Times: 1})
}
