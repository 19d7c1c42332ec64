// Package refusals keeps what a worker knows of calls that Redis refuses: whether a refusal is held against the jobs of
// the call, and for which reasons outcomes are parked. The settler calls it. It never decides what a job becomes: none
// dies of a refusal.
package refusals

import (
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/redisconn"
)

// Unknown words may be the server's, or come from one job.
const (
	// halveAfter is after how many refusals, while other calls of the worker pass, a call is halved. A job that is
	// alone in it is parked.
	halveAfter = 3
	// probeAfter is the bound where nothing passes: the call is halved, since one job may keep back all that share it,
	// and nothing is parked.
	probeAfter = 8
)

// Tally counts how often the outcome of one job was refused with words that nobody knows.
type Tally struct {
	refusals int
	first    int64 // how many calls had passed when that was so first
}

// Held decides about a call that was refused, by the tallies of its jobs. It returns false where the call is to be sent
// again as it is: its jobs have nothing to do with that, as far as anybody knows. Else the call is halved, and a job
// that is alone in it parked. passed is how many calls of the worker Redis has taken so far.
func Held(err error, passed int64, tallies []*Tally) bool {
	switch redisconn.MeaningOf(err) {
	case redisconn.NoAnswer, redisconn.OfCall: // an answer that cannot be read is as good as a refusal
		return true
	case redisconn.Unknown:
	default:
		return false
	}
	refusals, passing := 0, false
	for _, t := range tallies {
		if t.refusals == 0 {
			t.first = passed
		}
		t.refusals++
		refusals, passing = max(refusals, t.refusals), passing || t.first < passed
	}
	if passing {
		return refusals >= halveAfter
	}
	return len(tallies) > 1 && refusals >= probeAfter
}

// Alone tells whether a call that concerns no outcomes may have been refused for a reason that is not the server's,
// such as a broken key: a part of it may go well.
func Alone(err error) bool {
	m := redisconn.MeaningOf(err)
	return m == redisconn.OfCall || m == redisconn.Unknown
}

// patientTries is how often a processor asks where Redis answers what nobody knows.
const patientTries = 10

// Hopeless reports whether a processor should return its job instead of asking again: others wait behind it.
func Hopeless(err error, tries int) bool {
	m := redisconn.MeaningOf(err)
	return m == redisconn.OfCall || m == redisconn.NoAnswer && !redisconn.Classify(err).Again ||
		m == redisconn.Unknown && tries >= patientTries
}

// Reasons are those for which outcomes are parked. Many may share one (a key of the whole namespace that is broken), so
// it is reported once, and once more when the last of them is settled. The zero value has none.
type Reasons struct {
	of map[string]*reason
}

type reason struct {
	health healthreport.Reporter
	runs   int
}

// Add counts one more outcome that is parked for an error, and returns what reports it. component names the job.
func (r *Reasons) Add(err error, component string, emit func(event.Event)) (report func()) {
	if r.of == nil {
		r.of = map[string]*reason{}
	}
	why := r.of[err.Error()]
	if why == nil {
		why = &reason{health: healthreport.Reporter{Component: component, Emit: emit}}
		r.of[err.Error()] = why
	}
	why.runs++
	return func() { why.health.Report(err) }
}

// Drop counts one less, and returns what reports that nothing is parked for it any more; nil where something is.
func (r *Reasons) Drop(text string) (report func()) {
	why := r.of[text]
	if why.runs--; why.runs > 0 {
		return nil
	}
	delete(r.of, text)
	return func() { why.health.Report(nil) }
}
