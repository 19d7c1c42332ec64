package history

import (
	"math"
	"math/bits"
	"time"
)

// Buckets is how many buckets durations are counted in: see [Bucket].
const Buckets = 25

// Durations counts durations in fixed buckets. The zero value is empty. It is not safe for concurrent use while it
// changes.
type Durations struct {
	Counts [Buckets]int64
	Sum    time.Duration // exact; it stays at the longest duration that there is
}

// Bucket returns what the durations of a bucket are longer than, and not longer than: 1 ms in the first one, then twice
// as much in each. The last one has no upper bound, although one is returned.
func Bucket(i int) (lower, upper time.Duration) {
	upper = time.Millisecond << i
	if i == 0 {
		return 0, upper
	}
	return upper / 2, upper
}

// Add counts one duration. A negative one counts as 0.
func (d *Durations) Add(one time.Duration) {
	one = max(one, 0)
	// rounded up, so that a bound belongs to its bucket
	whole := uint64(one+time.Millisecond-1) / uint64(time.Millisecond)
	d.Counts[min(bits.Len64(max(whole, 1)-1), Buckets-1)]++
	d.Sum = addDurations(d.Sum, one)
}

// Merge adds all that another one has counted.
func (d *Durations) Merge(other Durations) {
	for i, n := range other.Counts {
		d.Counts[i] += n
	}
	d.Sum = addDurations(d.Sum, other.Sum)
}

// addDurations stays at the longest duration instead of growing beyond it.
func addDurations(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
