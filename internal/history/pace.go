package history

import (
	"hash/fnv"
	"time"
)

// NamesPerSecond is how many names a worker reports in a second at the most, as long as it runs: each costs Redis 30
// to 50 us.
const NamesPerSecond = 10

// heartbeatPace says when the sums of a name are reported: each second where there are few names, and the less often
// the more there are. Each name has its moment in that time, which is the same for all workers: so a minute has about
// as many names as one worker reports, and not as many as all of them.
type heartbeatPace struct {
	until int64 // all moments up to this second of Redis' clock were looked at
}

// Period is how many seconds lie between two reports of a name, for so many names: a power of two, so that the moments
// of workers that have not the same number of names meet all the same.
func Period(names int) int64 {
	period := int64(1)
	for int64(names) > period*NamesPerSecond {
		period *= 2
	}
	return period
}

// due returns what tells whether the moment of a name has come since this was asked last.
func (p *heartbeatPace) due(now time.Time, names int) func(moment uint32) bool {
	period, second := Period(names), now.Unix()
	if p.until == 0 || p.until > second { // the first time, or a clock was set back
		p.until = second - 1
	}
	from, passed := p.until+1, second-p.until
	p.until = second
	return func(moment uint32) bool {
		return period == 1 || passed >= period || ((int64(moment)-from)%period+period)%period < passed
	}
}

// momentOf is the moment of a name.
func momentOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32()
}
