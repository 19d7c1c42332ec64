package work

import (
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
)

// Words that are in no table may be the server's, or those of one job. A call that gets them is sent again as it is.
const (
	// halveAfter is how many refusals in a row, while other calls pass, are the call's: then it is halved, and a job
	// that is alone in it parked.
	halveAfter = 3
	// probeAfter is how many it takes where nothing passes: one job may keep all others back that share its call. None
	// is parked for it, as long as nothing passes.
	probeAfter = 8
)

// refusal is a reason for which outcomes are parked. Many may share one (a key of the whole namespace that is
// broken), so it is reported once, and once more when the last of them is settled.
type refusal struct {
	health healthreport.Reporter
	runs   int
}

// heldAgainst decides about a call that was refused, and returns false where it is to be sent again as it is: its jobs
// have nothing to do with that, as far as anybody knows. Else the call is halved, until the job that causes it is alone,
// and parked. No job dies of it.
func (s *settler) heldAgainst(b *batch, err error) bool {
	alone := len(b.runs) == 1
	switch redisconn.MeaningOf(err) {
	case redisconn.NoAnswer, redisconn.OfCall: // an answer that cannot be read is as good as a refusal
	case redisconn.Unknown:
		refusals, passing := b.runs[0].settlement.refusedAgain(s.passed), false
		for _, r := range b.runs[1:] {
			refusals = max(refusals, r.settlement.refusedAgain(s.passed))
		}
		for _, r := range b.runs {
			passing = passing || r.settlement.firstRefused < s.passed
		}
		if refusals < halveAfter || !passing && (alone || refusals < probeAfter) {
			return false
		}
	default:
		return false
	}
	for _, r := range b.runs {
		if alone {
			s.park(r, err)
			r.settlement.done = true
		}
		r.settlement.maxPerCall = max(1, len(b.runs)/2)
	}
	return true
}

// refusedAgain counts a refusal with unknown words. passed is how many calls Redis has taken so far.
func (s *settlement) refusedAgain(passed int64) int {
	if s.refusals == 0 {
		s.firstRefused = passed
	}
	s.refusals++
	return s.refusals
}

// park puts a run aside whose outcome is refused for a reason that is not the server's.
func (s *settler) park(r *run, err error) {
	s.parked = append(s.parked, r)
	if !r.apart {
		s.counted++
		s.worker.slots.Park()
	}
	reason := err.Error()
	if r.settlement.parkedFor == reason {
		return
	}
	s.unpark(r)
	r.settlement.parkedFor = reason
	r.sayRefused(reason)
	why := s.refused[reason]
	if why == nil {
		why = &refusal{health: healthreport.Reporter{Component: "settler, " + r.ref().String(),
			Emit: s.worker.events.emit}}
		s.refused[reason] = why
	}
	why.runs++
	s.unsentEvents = append(s.unsentEvents, func() { why.health.Report(err) })
}

// sayRefused has the next heartbeat note in Redis why the job goes on to be listed as running, for who asks.
func (r *run) sayRefused(reason string) {
	r.longJob().Refused(excerpt.Start(reason, record.MaxErrorBytes))
	r.session.watch(r)
}

// unpark notes that a run is not refused any more, at least not for the reason of before.
func (s *settler) unpark(r *run) {
	if r.settlement.parkedFor == "" {
		return
	}
	why := s.refused[r.settlement.parkedFor]
	why.runs--
	if why.runs == 0 {
		s.unsentEvents = append(s.unsentEvents, func() { why.health.Report(nil) })
		delete(s.refused, r.settlement.parkedFor)
	}
	r.settlement.parkedFor = ""
}
