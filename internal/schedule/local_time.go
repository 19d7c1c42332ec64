package schedule

import (
	"sort"
	"time"
)

// How ticks follow clocks that are put forward and back. A spec with fixed hours ("30 2 * * *") means each of them once
// a day: a time that the clock leaves out is taken at the instant when it goes on, and one that it shows twice is taken
// the first time. A spec with * or / in its hour ("0 * * * *") means the time that passes: what the clock leaves out
// does not take place, and what it shows twice takes place twice.

// Next returns the first tick after an instant, in UTC; zero when there is none in the next years. @every counts from
// Unix 0.
func (t *Table) Next(after time.Time) time.Time {
	var at time.Time
	switch {
	case t.every > 0:
		at = t.nextEvery(after)
	case t.fixed:
		at = t.nextFixed(after)
	default:
		at = t.nextElapsed(after)
	}
	if !at.After(after) {
		return time.Time{} // whoever goes on from tick to tick comes to an end, whatever a time zone does
	}
	return at
}

// nextEvery reckons in whole milliseconds, as far as the clock of Redis can tell.
func (t *Table) nextEvery(after time.Time) time.Time {
	every := t.every.Milliseconds()
	since := after.UnixMilli() % every
	if since < 0 {
		since += every
	}
	return after.Truncate(time.Millisecond).Add(time.Duration(every-since) * time.Millisecond).UTC()
}

// onWall is what a clock on the wall shows at an instant, as if it were the time in UTC.
func onWall(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// The bounds of a search. No zone has put its clocks back by more than a day, or changes them more often than every few
// weeks; a spec that names a day at all has one in the next years.
const (
	maxWalls = 2 * 24 * 3600 // times on the wall that were shown, or left out, before
	maxSpans = 1000          // in which the clock goes evenly
)

// nextFixed goes through the times on the wall. The instants that they stand for never go back, so the first that is
// after the given one is the next.
func (t *Table) nextFixed(after time.Time) time.Time {
	wall := onWall(after, t.zone)
	for range maxWalls {
		if wall = t.fields.Next(wall); wall.IsZero() {
			break
		}
		if at := firstShown(wall, t.zone); at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// firstShown is the first instant at which a clock in that zone shows this time or, when it leaves it out, the instant
// at which it goes on behind it.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, _ := at.ZoneBounds()
	shown := onWall(at, zone)
	switch {
	case shown.After(wall): // left out: Go has moved it behind the gap
		return start.UTC()
	case shown.Before(wall): // or before it
		return evenUntil(at, zone).UTC()
	case start.IsZero():
		return at.UTC()
	}
	_, before := start.Add(-time.Nanosecond).In(zone).Zone()
	if earlier := wall.Add(-time.Duration(before) * time.Second); earlier.Before(start) {
		return earlier.UTC() // it was shown before the clock was put back as well
	}
	return at.UTC()
}

// nextElapsed goes through the spans in which the clock goes evenly.
func (t *Table) nextElapsed(after time.Time) time.Time {
	from := after
	for range maxSpans {
		_, offset := from.In(t.zone).Zone()
		wall := t.fields.Next(onWall(from, t.zone))
		if wall.IsZero() {
			break
		}
		at := wall.Add(-time.Duration(offset) * time.Second)
		end := evenUntil(from, t.zone)
		if end.IsZero() || at.Before(end) {
			return at
		}
		if t.shows(end) {
			return end.UTC()
		}
		from = end
	}
	return time.Time{}
}

// evenUntil is an instant after the given one before which the clock of the zone is not changed; zero when it never is
// again.
func evenUntil(from time.Time, zone *time.Location) time.Time {
	_, end := from.In(zone).ZoneBounds()
	if end.IsZero() || end.After(from) {
		return end
	}
	// Where a zone goes on by a rule, Go takes 365 days for every year: on the last day of a leap year the end is past.
	end = from.Add(24 * time.Hour)
	_, before := from.In(zone).Zone()
	changed := func(seconds int) bool {
		_, offset := from.Add(time.Duration(seconds) * time.Second).In(zone).Zone()
		return offset != before
	}
	if first := sort.Search(24*3600, changed); first < 24*3600 {
		end = from.Add(time.Duration(first) * time.Second).Truncate(time.Second)
	}
	return end
}

// shows tells whether an instant is a tick.
func (t *Table) shows(instant time.Time) bool {
	wall := onWall(instant, t.zone)
	return t.fields.Next(wall.Add(-time.Nanosecond)).Equal(wall)
}
