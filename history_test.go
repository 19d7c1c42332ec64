package work

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABoundBelongsToItsBucket(t *testing.T) {
	t.Parallel()
	bounds := HistogramBounds()
	require.Len(t, bounds, histogramBuckets-1)
	assert.Equal(t, time.Millisecond, bounds[0])
	assert.Equal(t, 2*time.Hour+19*time.Minute+48608*time.Millisecond, bounds[len(bounds)-1])
	bucket := func(d time.Duration) int {
		var h Histogram
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
	assert.Equal(t, histogramBuckets-1, bucket(math.MaxInt64))
}

// TestAQuantileIsWithinItsBucket compares with the durations themselves.
func TestAQuantileIsWithinItsBucket(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	durations := make([]time.Duration, 10_000)
	var h Histogram
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
			var one Histogram
			one.Add(exact)
			lower, upper := bucketOf(slices.Index(one.Counts[:], 1))
			assert.GreaterOrEqual(t, estimate, lower)
			assert.LessOrEqual(t, estimate, upper)
		})
	}
}

func TestQuantilesOfFew(t *testing.T) {
	t.Parallel()
	var none, one, long Histogram
	one.Add(3 * time.Millisecond)
	long.Add(24 * time.Hour)
	rows := []struct {
		name string
		h    Histogram
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
	var h, more Histogram
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

// TestWhatIsStoredIsReadAgain: what a ledger writes, an inspector reads.
func TestWhatIsStoredIsReadAgain(t *testing.T) {
	t.Parallel()
	p := HistoryPoint{Done: 3, Failed: 1, Dead: 2}
	for i := range 6 {
		p.Run.Add(time.Duration(i)*time.Second + 400)
		p.Waited.Add(time.Millisecond << (4 * i))
	}
	want, left := p, p.Run.Sum%time.Microsecond
	want.Run.Sum -= left
	stored := p.takeStored()
	assert.Equal(t, HistoryPoint{Run: Histogram{Sum: left}}, p,
		"what is less than a microsecond stays for the next time")
	var got HistoryPoint
	got.add(stored)
	assert.Equal(t, want, got)
	assert.Equal(t, "d:3 f:1 m:2 r:15000002 r0:1 r10:1 r11:1 r12:2 r13:1 w:1118481000 w0:1 w4:1 w8:1 w12:1 w16:1 w20:1",
		stored)
	got.add(stored)
	assert.Equal(t, want.Done*2, got.Done)
}

// TestWhatIsNotKnownIsLeftOut: another version, or a hand, may have written it.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	t.Parallel()
	var p HistoryPoint
	p.add("d:1 d2:7 z:9 r25:1 r-1:1 rx:1 f:-3 f:x m w0:99999999999999999999 : r:9223372036854775807")
	assert.Equal(t, HistoryPoint{Done: 1, Run: Histogram{Sum: math.MaxInt64 / 1000 * 1000}}, p)
}

func FuzzHistoryPoint(f *testing.F) {
	f.Add("d:12 f:1 r:48211 r0:12 r3:1 w:900 w0:13")
	f.Add("r99999999999:1 : :: d:9223372036854775807 d:9223372036854775807")
	f.Fuzz(func(t *testing.T, stored string) {
		var p HistoryPoint
		p.add(stored)
		_ = p.Run.Quantile(0.9)
		assert.GreaterOrEqual(t, p.Run.Sum, time.Duration(0))
	})
}
