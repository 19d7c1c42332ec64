package inspect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/history"
)

func TestABoundBelongsToItsBucket(t *testing.T) {
	t.Parallel()
	bounds := inspect.HistogramBounds()
	require.Len(t, bounds, inspect.HistogramBuckets-1)
	assert.Equal(t, time.Millisecond, bounds[0])
	assert.Equal(t, 2*time.Hour+19*time.Minute+48608*time.Millisecond, bounds[len(bounds)-1])
	bucket := func(d time.Duration) int {
		var h inspect.Histogram
		h.Add(d)
		assert.Equal(t, int64(1), h.Count())
		return slices.Index(h.Counts[:], 1)
	}
	for i, bound := range bounds {
		assert.Equal(t, i, bucket(bound), bound)
		assert.Equal(t, i+1, bucket(bound+1), "a nanosecond more than %s", bound)
	}
	assert.Equal(t, 0, bucket(0))
	assert.Equal(t, 0, bucket(-time.Hour))
	assert.Equal(t, inspect.HistogramBuckets-1, bucket(math.MaxInt64))
}

// TestAQuantileIsWithinItsBucket compares with the durations themselves.
func TestAQuantileIsWithinItsBucket(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	durations := make([]time.Duration, 10_000)
	var h inspect.Histogram
	for i := range durations {
		durations[i] = time.Duration(math.Exp(random.NormFloat64()*2) * float64(50*time.Millisecond))
		h.Add(durations[i])
	}
	slices.Sort(durations)
	for _, q := range []float64{0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1} {
		t.Run(fmt.Sprint(q), func(t *testing.T) {
			t.Parallel()
			exact, estimate := durations[int(math.Ceil(q*10_000))-1], h.Quantile(q)
			if exact <= time.Millisecond {
				assert.InDelta(t, exact, estimate, float64(time.Millisecond))
				return
			}
			assert.LessOrEqual(t, exact, 2*estimate)
			assert.LessOrEqual(t, estimate, 2*exact)
			var one inspect.Histogram
			one.Add(exact)
			lower, upper := history.Bucket(slices.Index(one.Counts[:], 1))
			assert.GreaterOrEqual(t, estimate, lower)
			assert.LessOrEqual(t, estimate, upper)
		})
	}
}

func TestQuantilesOfFew(t *testing.T) {
	t.Parallel()
	var none, one, long inspect.Histogram
	one.Add(3 * time.Millisecond)
	long.Add(24 * time.Hour)
	rows := []struct {
		name string
		h    inspect.Histogram
		q    float64
		want time.Duration
	}{
		{"none", none, 0.5, 0},
		{"the lower end of one", one, 0, 2 * time.Millisecond},
		{"the middle of one", one, 0.5, 3 * time.Millisecond},
		{"the upper end of one", one, 1, 4 * time.Millisecond},
		{"below 0", one, -3, 2 * time.Millisecond},
		{"above 1", one, 7, 4 * time.Millisecond},
		{"no number", one, math.NaN(), 2 * time.Millisecond},
		{"longer than all bounds", long, 0.5, 8_388_608 * time.Millisecond},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, row.h.Quantile(row.q))
		})
	}
}

func TestTheMeanIsExact(t *testing.T) {
	t.Parallel()
	var h, more inspect.Histogram
	assert.Zero(t, h.Mean())
	h.Add(time.Millisecond)
	h.Add(2 * time.Second)
	more.Add(3 * time.Nanosecond)
	h.Merge(more)
	assert.Equal(t, int64(3), h.Count())
	assert.Equal(t, 2001*time.Millisecond+3, h.Sum)
	assert.Equal(t, h.Sum/3, h.Mean())
	h.Add(math.MaxInt64)
	assert.Equal(t, time.Duration(math.MaxInt64), h.Sum, "it does not overflow")
}

func TestWhatIsStoredIsAddedToAPoint(t *testing.T) {
	t.Parallel()
	var p inspect.HistoryPoint
	p.Add("d:3 f:1 m:2 r:15000 r4:1 w:7 w0:1")
	p.Add("d:3 f:1 m:2 r:15000 r4:1 w:7 w0:1 g:3000000")
	want := inspect.HistoryPoint{Done: 6, Failed: 6, Dead: 4, Gap: 3 * time.Second}
	want.Run.Counts[4], want.Run.Sum = 2, 30*time.Millisecond
	want.Waited.Counts[0], want.Waited.Sum = 2, 14*time.Microsecond
	assert.Equal(t, want, p)
}

func FuzzHistoryPoint(f *testing.F) {
	f.Add("d:12 f:1 r:48211 r0:12 r3:1 w:900 w0:13")
	f.Add("r99999999999:1 : :: d:9223372036854775807 d:9223372036854775807")
	f.Fuzz(func(t *testing.T, stored string) {
		var p inspect.HistoryPoint
		p.Add(stored)
		_ = p.Run.Quantile(0.9)
		assert.GreaterOrEqual(t, p.Run.Sum, time.Duration(0))
	})
}
