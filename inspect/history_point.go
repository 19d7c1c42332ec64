package inspect

import (
	"math"
	"time"

	"github.com/265d0351/work/internal/history"
)

// HistoryPoint is what became of the jobs of one name in one minute or one day, by the time at which Redis was told.
// Each attempt counts once, as done or failed; of those that failed some were the last one of a job. What was put off,
// given back, discarded by its handler, cancelled or has expired does not count.
type HistoryPoint struct {
	At     time.Time `json:"at"`     // begin of the minute, or of the day in UTC
	Done   int64     `json:"done"`   // ended without an error
	Failed int64     `json:"failed"` // ended with an error or a panic, whatever followed: Dead is a part of it
	Dead   int64     `json:"dead"`   // went to the morgue, or would have but for SkipMorgue
	// failed because the time of the attempt was up: a part of Failed
	TimedOut int64     `json:"timed_out"`
	Run      Histogram `json:"run"`    // how long handlers took, in both
	Waited   Histogram `json:"waited"` // how long these jobs were due when their handlers began
	// for how long those together that failed, and are tried again, were put off until their next attempt is due
	Gap time.Duration `json:"gap"`
}

// Histogram counts durations in fixed buckets. The zero value is empty. It is not safe for concurrent use while it
// changes.
type Histogram struct {
	Counts [histogramBuckets]int64 `json:"counts"` // one for each of HistogramBounds, and one for all that is longer
	// of all durations, exact; it stays at the longest that there is, 292 years
	Sum time.Duration `json:"sum"`
}

const histogramBuckets = history.Buckets

// HistogramBounds returns the upper bounds of the buckets of a [Histogram]: 1 ms, 2 ms, 4 ms and so on up to 8,388,608
// ms, which is 2 h 20 min. A duration is counted in the first bucket whose bound is not shorter; the last bucket has no
// bound.
func HistogramBounds() []time.Duration {
	bounds := make([]time.Duration, histogramBuckets-1)
	for i := range bounds {
		bounds[i] = time.Millisecond << i
	}
	return bounds
}

// Add counts one duration. A negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	(*history.Durations)(h).Add(d)
}

// Merge adds all that another one has counted.
func (h *Histogram) Merge(other Histogram) { (*history.Durations)(h).Merge(history.Durations(other)) }

// Count returns how many durations were counted.
func (h Histogram) Count() int64 {
	var n int64
	for _, count := range h.Counts {
		n += count
	}
	return n
}

// Mean returns the mean of the durations, 0 of none.
func (h Histogram) Mean() time.Duration {
	if n := h.Count(); n > 0 {
		return h.Sum / time.Duration(n)
	}
	return 0
}

// Quantile estimates the duration that the given part of all is not longer than: 0.5 is the median, 0.99 what one in a
// hundred exceeds. The bucket that it is in is exact; within it durations are supposed to be spread evenly. So the
// error is at most the width of the bucket: 1 ms in the first, and in all others the true value is between half and
// twice the estimate. In the last bucket the answer is the longest bound, and the true value is longer. It returns 0 of
// none; q is taken as 0 to 1.
func (h Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := max(0, min(q, 1)) * float64(total)
	if math.IsNaN(rank) {
		rank = 0
	}
	var below int64
	for i, n := range h.Counts[:histogramBuckets-1] {
		if n > 0 && float64(below+n) >= rank {
			lower, upper := history.Bucket(i)
			return lower + time.Duration((rank-float64(below))/float64(n)*float64(upper-lower))
		}
		below += n
	}
	longest, _ := history.Bucket(histogramBuckets - 1)
	return longest
}

// merge adds what another point has counted.
func (p *HistoryPoint) merge(other *HistoryPoint) {
	p.Done, p.Failed, p.Dead = p.Done+other.Done, p.Failed+other.Failed, p.Dead+other.Dead
	p.TimedOut += other.TimedOut
	p.Run.Merge(other.Run)
	p.Waited.Merge(other.Waited)
	p.Gap = together(p.Gap, other.Gap)
}

// together adds durations, and stays at the longest that there is.
func together(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// add adds what is stored.
func (p *HistoryPoint) add(stored string) {
	c := history.Parse(stored)
	p.Done, p.Failed, p.Dead = p.Done+c.Done, p.Failed+c.Failed+c.Dead, p.Dead+c.Dead // stored is each for itself
	p.TimedOut += c.TimedOut
	p.Run.Merge(Histogram(c.Run))
	p.Waited.Merge(Histogram(c.Waited))
	p.Gap = together(p.Gap, c.Gap)
}
