package top

import (
	"time"

	"github.com/265d0351/work/inspect"
)

// How far back the figures go.
const (
	shownMinutes = 60              // minutes that are shown
	rateWindow   = 5 * time.Second // of the rates: workers tell once a second, so less would flicker
)

// pulse makes rates of the history by the minute: it remembers what each reading has seen, and how much that has
// grown since. Redis adds to the present minute only, so a reading need not go back further than the one before it. The
// zero value is ready for use; it is not safe for concurrent use.
type pulse struct {
	last    time.Time                      // of the last reading; zero before the first
	hour    map[int64]endCounts            // of all names, by minute
	names   map[int64]map[string]endCounts // of the last two minutes
	total   endCounts                      // all that was ever seen
	samples []totalAt                      // readings within the window, and the last one before it
}

// totalAt is how far the total was at a reading.
type totalAt struct {
	at    time.Time
	total endCounts
}

// since is from when on a reading at asOf has to look. A clock that went back is that of another Redis: all begins
// anew.
func (p *pulse) since(asOf time.Time) time.Time {
	if asOf.Before(p.last) || p.hour == nil {
		*p = pulse{hour: map[int64]endCounts{}, names: map[int64]map[string]endCounts{}}
	}
	oldest := asOf.Add(-(shownMinutes - 1) * time.Minute)
	if p.last.After(oldest) {
		return p.last
	}
	return oldest
}

// take adds what was read. A minute must come as a whole.
func (p *pulse) take(history map[string][]inspect.HistoryPoint) {
	seen := map[int64]map[string]endCounts{}
	for name, points := range history {
		for _, point := range points {
			minute := minuteOf(point.At)
			if seen[minute] == nil {
				seen[minute] = map[string]endCounts{}
			}
			seen[minute][name] = endCounts{Done: point.Done, Failed: point.Failed, Dead: point.Dead}
		}
	}
	for minute, names := range seen {
		var sum endCounts
		for _, count := range names {
			sum = sum.plus(count)
		}
		p.total = p.total.plus(sum.grownFrom(p.hour[minute]))
		p.hour[minute], p.names[minute] = sum, names
	}
}

// mark ends a reading, and forgets what is too old.
func (p *pulse) mark(asOf time.Time) {
	p.last = asOf
	p.samples = append(p.samples, totalAt{at: asOf, total: p.total})
	for len(p.samples) > 2 && !p.samples[1].at.After(asOf.Add(-rateWindow)) {
		p.samples = p.samples[1:]
	}
	now := minuteOf(asOf)
	for minute := range p.hour {
		if minute <= now-shownMinutes {
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
func (p *pulse) rates() rates {
	first, last := p.samples[0], p.samples[len(p.samples)-1]
	if took := last.at.Sub(first.at); took > 0 {
		return last.total.minus(first.total).times(1 / took.Seconds())
	}
	now := minuteOf(p.last)
	return sliding(p.hour[now], p.hour[now-1], p.last, 1.0/60)
}

// minuteOf is what ended of one name in the last sixty seconds.
func (p *pulse) minuteOf(name string) rates {
	now := minuteOf(p.last)
	return sliding(p.names[now][name], p.names[now-1][name], p.last, 1)
}

// minutes are the last hour, the minute under way last.
func (p *pulse) minutes() []minuteFigures {
	minutes := make([]minuteFigures, shownMinutes)
	for i := range minutes {
		minute := minuteOf(p.last) - shownMinutes + 1 + int64(i)
		minutes[i] = minuteFigures{At: time.Unix(minute*60, 0).UTC(), endCounts: p.hour[minute]}
	}
	return minutes
}

// sliding is the last sixty seconds, of which a part lies in the minute before: what ended there is supposed to be
// spread evenly.
func sliding(present, before endCounts, at time.Time, factor float64) rates {
	old := 1 - at.Sub(at.Truncate(time.Minute)).Minutes()
	now, then := present.times(factor), before.times(factor*old)
	return rates{Done: now.Done + then.Done, Failed: now.Failed + then.Failed, Dead: now.Dead + then.Dead}
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }
