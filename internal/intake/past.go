package intake

import (
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

const (
	// trustedFor is how long after a call its number is compared: the janitor forgets lanes that were silent for a day.
	trustedFor = 12 * time.Hour
	// What is remembered of the jobs that were stored: replicas are seldom further behind.
	recentJobs = 10_000 // per lane
	recentFor  = 30 * time.Second
	// mostRewinds is how many failovers are kept in mind for those who still wait for replicas.
	mostRewinds = 16
)

// callID names a call among all of an intake.
type callID struct {
	lane   *lane
	number int64
}

// past is what was answered to the calls of a lane.
type past struct {
	known    int64     // the last call that was answered, and is not forgotten; 0 where there is none
	answered time.Time // when that was
	rewinds  []rdb.Rewind
	recent   recent
}

// call is the present call as the store takes it; mu is held, as the look of another lane may note a loss meanwhile.
func (l *lane) call() rdb.LaneCall {
	call := rdb.LaneCall{Lane: l.id, Number: l.number}
	if l.trusted() {
		call.Known = l.known
	}
	return call
}

// trusted tells whether Redis must know the lane. It goes by the clock on the wall, which also counts while the machine
// sleeps. mu is held.
func (l *lane) trusted() bool {
	since := time.Now().Round(0).Sub(l.answered)
	return l.known > 0 && since >= 0 && since < trustedFor
}

// lost tells whether Redis has forgotten that call, as far as it has said so.
func (p *past) lost(number int64) bool {
	return slices.ContainsFunc(p.rewinds, func(r rdb.Rewind) bool { return r.Lost(number) })
}

// forget notes what Redis has forgotten.
func (p *past) forget(rewound rdb.Rewind) {
	if len(p.rewinds) == mostRewinds {
		p.rewinds = slices.Delete(p.rewinds, 0, 1)
	}
	p.rewinds = append(p.rewinds, rewound)
}

// recent are the jobs that were stored last, and told of. The zero value has none.
type recent struct {
	jobs    []storedJob // a ring once it is full
	oldest  int         // where it begins
	dropped int64       // the last call of which some are not remembered any more
}

type storedJob struct {
	number int64 // of its call
	at     int64 // ms
	id     string
}

// add remembers the jobs of a call, but for those that were not stored by it.
func (r *recent) add(number int64, jobs []rdb.NewJob, problems map[int]rdb.Problem) {
	now := time.Now().UnixMilli()
	for i := range jobs {
		if len(problems) > 0 && problems[i] != "" {
			continue
		}
		r.put(storedJob{number: number, at: now, id: jobs[i].ID})
	}
}

// put takes the place of the oldest job, where that is not remembered any longer; else it takes one more.
func (r *recent) put(job storedJob) {
	if n := len(r.jobs); n > 0 {
		last := &r.jobs[r.oldest]
		if n >= recentJobs || job.at-last.at > recentFor.Milliseconds() {
			r.dropped = max(r.dropped, last.number)
			*last = job
			r.oldest = (r.oldest + 1) % n
			return
		}
		if r.oldest > 0 { // it grows again: in order
			r.jobs = slices.Concat(r.jobs[r.oldest:], r.jobs[:r.oldest])
			r.oldest = 0
		}
	}
	r.jobs = append(r.jobs, job)
}

// forgetOld forgets the jobs that are not remembered any longer, and gives back their room.
func (r *recent) forgetOld() {
	since := time.Now().Add(-recentFor).UnixMilli()
	var kept []storedJob
	for i := range r.jobs {
		if job := r.jobs[(r.oldest+i)%len(r.jobs)]; job.at > since {
			kept = append(kept, job)
		} else {
			r.dropped = max(r.dropped, job.number)
		}
	}
	r.jobs, r.oldest = kept, 0
}

// take removes the jobs of calls that Redis has forgotten, and returns their ids. It says whether these are all.
func (r *recent) take(rewound rdb.Rewind) (ids []string, all bool) {
	r.jobs = slices.Concat(r.jobs[r.oldest:], r.jobs[:r.oldest])
	r.oldest = 0
	r.jobs = slices.DeleteFunc(r.jobs, func(job storedJob) bool {
		if !rewound.Lost(job.number) {
			return false
		}
		ids = append(ids, job.id)
		return true
	})
	return ids, r.dropped <= rewound.Had
}
