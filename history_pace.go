package work

import (
	"hash/fnv"
	"time"
)

// namesPerSecond is how many names a worker tells of in a second at the most, as long as it runs: each costs Redis 30
// to 50 us.
const namesPerSecond = 10

// historyPace says when the sums of a name are told: each second where there are few names, and the less often the more
// there are. Each name has its moment in that time, which is the same for all workers: so that a minute has about as
// many names as one worker tells of, and not as many as all of them.
type historyPace struct {
	until int64 // all moments up to this second of Redis' clock were looked at
}

// pacePeriod is how many seconds lie between two tells of a name, for so many names: a power of two, so that the
// moments of workers that have not the same number of names meet all the same.
func pacePeriod(names int) int64 {
	period := int64(1)
	for int64(names) > period*namesPerSecond {
		period *= 2
	}
	return period
}

// due returns what tells whether the moment of a name has come since this was asked last.
func (p *historyPace) due(now time.Time, names int) func(moment uint32) bool {
	period, second := pacePeriod(names), now.Unix()
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
