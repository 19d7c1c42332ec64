package work

import "time"

// maxRuns bounds what NextRuns reckons.
const maxRuns = 1000

// NextRuns returns the next n ticks of the schedule, at most 1,000, beginning with Next; fewer where no more come, and
// none while it is paused or has a problem. Like Next they are without jitter.
func (s ScheduleInfo) NextRuns(n int) []time.Time {
	if s.Next.IsZero() || n <= 0 {
		return nil
	}
	table, err := parseTimetable(s.Spec, s.Options.TZ)
	if err != nil {
		return nil // Problem says so too
	}
	var runs []time.Time
	for next := s.Next; !next.IsZero() && len(runs) < min(n, maxRuns); next = table.next(next) {
		runs = append(runs, next)
	}
	return runs
}
