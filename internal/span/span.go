// Package span reckons with durations that anybody may have given: a program, a record in Redis. None is beyond what
// time.Duration can be reckoned with, and Redis gets whole milliseconds.
package span

import "time"

// Longest is the longest duration, and how far ahead a job may be scheduled: what is further is a mistake in a unit.
const Longest = 100 * 365 * 24 * time.Hour

// Capped is the duration that is used for one that a program gave: a longer one means for ever, and reckoning with it
// would leave time.Duration.
func Capped(d time.Duration) time.Duration { return min(max(d, -Longest), Longest) }

// Millis is a duration as Redis gets it; a part of a millisecond counts as one.
func Millis(d time.Duration) int64 {
	return int64((Capped(d) + time.Millisecond - 1) / time.Millisecond)
}

// FromMillis is a duration of a record, which anybody may have written: one that is too long for Go is a long one.
func FromMillis(ms int64) time.Duration {
	const most = int64(Longest / time.Millisecond)
	return time.Duration(min(max(ms, -most), most)) * time.Millisecond
}
