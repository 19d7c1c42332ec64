package doctor

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// tripCounter counts round trips.
type tripCounter struct {
	redisconn.Driver
	trips atomic.Int64
}

func (d *tripCounter) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.trips.Add(1)
	return d.Driver.Pipeline(ctx, calls...)
}

// What an examination reads grows with the jobs, by some hundred entries with each round trip; with a limit it does not
// grow, and what is left out is told. WORK_DOCTOR_LONG=1 examines 1,000,000 jobs and says how long it takes.
func TestTheDoctorReadsNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it counts what goes to Redis, which is the same")
	few, many := 1500, 5000 // in each of four places
	if os.Getenv("WORK_DOCTOR_LONG") == "1" {
		many = 250_000
	}
	const limit = 1000
	var limited []int64
	for _, each := range []int{few, many} {
		server := redistest.Dedicated(t)
		k := newKit(t, server.Server())
		crowd := redistest.NewCrowd(t, server.Addr(), k.Namespace, each)
		counter := &tripCounter{Driver: k.Raw().Driver()}
		doctor, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: counter}),
			work.Namespace(k.Namespace))
		require.NoError(t, err)
		all, err := Size(k.Ctx(), doctor, 0)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, all, 8*each, "a record and a place of each")
		some, err := Size(k.Ctx(), doctor, limit)
		require.NoError(t, err)
		assert.LessOrEqual(t, some, 20*limit)
		examine := func(limit int) (*Diagnosis, int64) {
			trips, begun, spent, done := counter.trips.Load(), time.Now(), crowd.Spent(), 0
			d, err := Examine(k.LongCtx(), doctor,
				Options{Limit: limit, Patience: 1, Progress: func(n, _ int) { done = n }})
			require.NoError(t, err)
			assert.True(t, d.Healthy(), "%+v", d.Findings)
			t.Logf("%d jobs, limit %d: %d entries of %d in %d round trips, %s, of which Redis %s", d.Jobs, limit, done,
				all,
				counter.trips.Load()-trips, time.Since(begun), crowd.Spent()-spent)
			return d, counter.trips.Load() - trips
		}
		d, trips := examine(limit)
		assert.Equal(t, all-some, d.Unread)
		limited = append(limited, trips)
		d, trips = examine(0)
		assert.Zero(t, d.Unread)
		assert.Less(t, trips, int64(all/120+200))
	}
	assert.LessOrEqual(t, limited[1], limited[0]+20, "it does not grow with the jobs")
	_, err := Examine(t.Context(), newWard(t, redistest.Embedded(t)).doctor, Options{Limit: -1})
	assert.ErrorContains(t, err, "Options.Limit")
}
