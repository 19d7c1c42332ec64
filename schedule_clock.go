package work

import "time"

// How ticks follow clocks that are put forward and back. A spec with fixed hours ("30 2 * * *") means each of them once a
// day: a time that the clock leaves out is taken at the instant when it goes on, and one that it shows twice is taken the
// first time. A spec with * or / in its hour ("0 * * * *") means the time that passes: what the clock leaves out does not
// take place, and what it shows twice takes place twice.

// next returns the first tick after an instant; zero when there is none in the next years. @every counts from Unix 0.
func (t *timetable) next(after time.Time) time.Time {
	switch {
	case t.every > 0:
		return after.Truncate(time.Millisecond).Add(t.every - sinceEpoch(after)%t.every).UTC()
	case t.fixed:
		return t.nextFixed(after)
	}
	return t.nextElapsed(after)
}

// sinceEpoch is in whole milliseconds, as far as the clock of Redis can tell.
func sinceEpoch(at time.Time) time.Duration { return time.Duration(at.UnixMilli()) * time.Millisecond }

// onWall is what a clock on the wall shows at an instant, as if it were the time in UTC.
func onWall(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// nextFixed goes through the times on the wall. The instants that they stand for never go back, so the first that is
// after the given one is the next.
func (t *timetable) nextFixed(after time.Time) time.Time {
	for wall := t.fields.Next(onWall(after, t.zone)); !wall.IsZero(); wall = t.fields.Next(wall) {
		if at := firstShown(wall, t.zone); at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// firstShown is the first instant at which a clock in that zone shows this time or, when it leaves it out, the instant at
// which it goes on behind it.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := at.ZoneBounds()
	shown := onWall(at, zone)
	switch {
	case shown.After(wall): // left out: Go has moved it behind the gap
		return start.UTC()
	case shown.Before(wall): // or before it
		return end.UTC()
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
func (t *timetable) nextElapsed(after time.Time) time.Time {
	for {
		local := after.In(t.zone)
		_, offset := local.Zone()
		wall := t.fields.Next(onWall(after, t.zone))
		if wall.IsZero() {
			return wall
		}
		at := wall.Add(-time.Duration(offset) * time.Second)
		_, end := local.ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at
		}
		if t.shows(end) {
			return end.UTC()
		}
		after = end
	}
}

// shows tells whether an instant is a tick.
func (t *timetable) shows(instant time.Time) bool {
	wall := onWall(instant, t.zone)
	return t.fields.Next(wall.Add(-time.Nanosecond)).Equal(wall)
}
