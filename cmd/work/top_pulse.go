package main

import (
	"time"

	"github.com/265d0351/work"
)

// How far back the figures go.
const (
	topHour   = 60              // minutes that are shown
	topWindow = 5 * time.Second // of the rates: workers tell once a second, so less would flicker
)

// topPulse makes rates of the history by the minute: it remembers what each reading has seen, and how much that has
// grown since. Redis adds to the present minute only, so a reading need not go back further than the one before it. The
// zero value is ready for use; it is not safe for concurrent use.
type topPulse struct {
	last  time.Time                     // of the last reading; zero before the first
	hour  map[int64]topCount            // of all names, by minute
	names map[int64]map[string]topCount // of the last two minutes
	total topCount                      // all that was ever seen
	marks []topMark                     // readings within the window, and the last one before it
}

// topMark is how far the total was at a reading.
type topMark struct {
	at    time.Time
	total topCount
}

// since is from when on a reading at asOf has to look. A clock that went back is that of another Redis: all begins
// anew.
func (p *topPulse) since(asOf time.Time) time.Time {
	if asOf.Before(p.last) || p.hour == nil {
		*p = topPulse{hour: map[int64]topCount{}, names: map[int64]map[string]topCount{}}
	}
	oldest := asOf.Add(-(topHour - 1) * time.Minute)
	if p.last.After(oldest) {
		return p.last
	}
	return oldest
}

// take adds what was read. A minute must come as a whole.
func (p *topPulse) take(history map[string][]work.HistoryPoint) {
	seen := map[int64]map[string]topCount{}
	for name, points := range history {
		for _, point := range points {
			minute := topMinuteOf(point.At)
			if seen[minute] == nil {
				seen[minute] = map[string]topCount{}
			}
			seen[minute][name] = topCount{Done: point.Done, Failed: point.Failed + point.Dead, Dead: point.Dead}
		}
	}
	for minute, names := range seen {
		var sum topCount
		for _, count := range names {
			sum = sum.plus(count)
		}
		p.total = p.total.plus(sum.grownFrom(p.hour[minute]))
		p.hour[minute], p.names[minute] = sum, names
	}
}

// mark ends a reading, and forgets what is too old.
func (p *topPulse) mark(asOf time.Time) {
	p.last = asOf
	p.marks = append(p.marks, topMark{at: asOf, total: p.total})
	for len(p.marks) > 2 && !p.marks[1].at.After(asOf.Add(-topWindow)) {
		p.marks = p.marks[1:]
	}
	now := topMinuteOf(asOf)
	for minute := range p.hour {
		if minute <= now-topHour {
			delete(p.hour, minute)
		}
	}
	for minute := range p.names {
		if minute < now-1 {
			delete(p.names, minute)
		}
	}
}

// rates are those over the window, or over the last minute where nothing is known of the last seconds.
func (p *topPulse) rates() topRates {
	first, last := p.marks[0], p.marks[len(p.marks)-1]
	if took := last.at.Sub(first.at); took > 0 {
		return last.total.minus(first.total).times(1 / took.Seconds())
	}
	now := topMinuteOf(p.last)
	return topSliding(p.hour[now], p.hour[now-1], p.last, 1.0/60)
}

// minuteOf is what ended of one name in the last sixty seconds.
func (p *topPulse) minuteOf(name string) topRates {
	now := topMinuteOf(p.last)
	return topSliding(p.names[now][name], p.names[now-1][name], p.last, 1)
}

// minutes are the last hour, the minute under way last.
func (p *topPulse) minutes() []topMinute {
	minutes := make([]topMinute, topHour)
	for i := range minutes {
		minute := topMinuteOf(p.last) - topHour + 1 + int64(i)
		minutes[i] = topMinute{At: time.Unix(minute*60, 0).UTC(), topCount: p.hour[minute]}
	}
	return minutes
}

// topSliding is the last sixty seconds, of which a part lies in the minute before: what ended there is supposed to be
// spread evenly.
func topSliding(present, before topCount, at time.Time, factor float64) topRates {
	old := 1 - at.Sub(at.Truncate(time.Minute)).Minutes()
	now, then := present.times(factor), before.times(factor*old)
	return topRates{Done: now.Done + then.Done, Failed: now.Failed + then.Failed, Dead: now.Dead + then.Dead}
}

func topMinuteOf(t time.Time) int64 { return t.Unix() / 60 }
