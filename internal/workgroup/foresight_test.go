package workgroup_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/workgroup"
)

// foresight has seen fetches that took so long, of goroutines that were busy all the time with jobs that took as long.
func foresight(goroutines int, trip, took time.Duration) (f *workgroup.Foresight, now time.Time, busy int) {
	f, now, busy = &workgroup.Foresight{Goroutines: goroutines, Most: 160}, time.Unix(1, 0), goroutines
	for range 200 {
		f.Ran(10, 10*took)
		ended := int(int64(goroutines) * int64(trip) / int64(took))
		now = now.Add(trip)
		f.Fetched(trip, ended, now, busy)
	}
	return f, now, busy
}

func TestForesight(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		goroutines  int
		trip, took  time.Duration
		least, most int
	}{
		"as many as end within two trips":  {20, ms / 2, ms, 20, 20},
		"many goroutines with longer jobs": {200, ms / 2, 20 * ms, 10, 10},
		"a single one":                     {1, ms, ms, 2, 2},
		"not more than may":                {20, ms, ms / 1000, 160, 160},
		"none of long ones":                {200, ms / 2, time.Second, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, now, busy := foresight(c.goroutines, c.trip, c.took)
			got := f.Ahead(now, busy)
			assert.GreaterOrEqual(t, got, c.least)
			assert.LessOrEqual(t, got, c.most)
		})
	}
	t.Run("nothing is known", func(t *testing.T) {
		t.Parallel()
		f := workgroup.Foresight{Goroutines: 20, Most: 160}
		assert.Zero(t, f.Ahead(time.Unix(1, 0), 0))
		f.Ran(0, 0)
		f.Fetched(ms, 20, time.Unix(1, 0), 20)
		assert.Zero(t, f.Ahead(time.Unix(2, 0), 0), "no job has ended")
	})
	t.Run("fetches that take longer now and then", func(t *testing.T) {
		t.Parallel()
		f, now, busy := foresight(20, ms/2, ms)
		for i := range 100 {
			now = now.Add(ms)
			f.Fetched([]time.Duration{ms / 4, 3 * ms / 4}[i%2], 20, now, busy)
		}
		assert.Greater(t, f.Ahead(now, busy), 30, "what is ahead lasts for these, too")
	})
	t.Run("most goroutines have long jobs by now", func(t *testing.T) {
		t.Parallel()
		f, now, busy := foresight(20, ms/2, ms)
		for range 50 {
			now = now.Add(20 * ms)
			f.Fetched(ms/2, 1, now, busy)
		}
		assert.Zero(t, f.Ahead(now, busy))
	})
	t.Run("a few jobs say little", func(t *testing.T) {
		t.Parallel()
		f, now := workgroup.Foresight{Goroutines: 20, Most: 160}, time.Unix(1, 0)
		for n := range 70 {
			f.Ran(1, ms)
			now = now.Add(ms / 2)
			f.Fetched(ms/2, 10, now, 20)
			assert.Equal(t, n >= 63, f.Ahead(now, 20) > 0, "after %d jobs", n+1)
		}
	})
	t.Run("it forgets", func(t *testing.T) {
		t.Parallel()
		f, now, busy := foresight(20, ms/2, ms)
		f.Forget()
		assert.Zero(t, f.Ahead(now.Add(ms), busy-10), "they have not ended")
	})
}

func TestSlotsAheadAreFetchedByHalves(t *testing.T) {
	t.Parallel()
	s := workgroup.NewSlots(4, 5)
	s.FetchAhead(6, 10)
	assert.Equal(t, []int{10, 10}, []int{s.Room(), s.Free()})
	s.Hold(9)
	s.Occupy(9)
	assert.False(t, s.Ready(), "it is not worth while")
	s.Vacate()
	s.Vacate()
	assert.True(t, s.Ready(), "half of what is ahead is gone")
	assert.Equal(t, 3, s.Free())
	assert.True(t, s.Places().Full(), "nobody is idle")
	s.FetchAhead(0, 10)
	assert.Equal(t, -3, s.Free())
	for range 4 {
		s.Vacate()
	}
	assert.False(t, s.Places().Full())
	assert.True(t, s.Ready())
	s.FetchAhead(8, 10)
	s.Vacate()
	assert.True(t, s.Ready(), "somebody is idle, so any number is worth while")
}
