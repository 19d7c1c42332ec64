package work

import (
	"time"

	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/record"
)

// ends completes the decision to end the run's job: what is kept of it, and for how long. Those whose results nobody
// wants leave their outcome for the time that d says, and no details.
func (r *run) ends(d decision, kept record.Outcome, now time.Time) decision {
	kept.State, kept.EndedAt = endState[d.verb], now.UnixMilli()
	if retention := r.retention(); retention > 0 {
		kept.Name = r.job.Name
		d.keep = max(d.keep, retention)
		d.details = r.details(&d, now).Encode()
	}
	d.result = kept.Encode()
	return d
}

// details are what is kept of the run's job beside its outcome.
func (r *run) details(d *decision, now time.Time) ended.Details {
	job := ended.Job{Record: r.raw, Trail: r.trail, Crashes: &r.crashes,
		OmitArgs: r.record.OmitArgs || r.registration.options.OmitArgs}
	if r.begun.Load() != 0 {
		last := r.lastAttempt(now, endState[d.verb], d.err)
		if d.death != nil {
			last.Outcome = record.FailureOutcome(string(d.kind))
		}
		job.Last = &last
	}
	if long := r.longIfAny(); long != nil {
		job.Message, job.Progress = long.Said()
	}
	details := ended.Of(job)
	if d.reason != "" {
		details.Reason, details.Failure = d.reason, string(d.kind)
	}
	return details
}

// lastAttempt is the attempt that ends now.
func (r *run) lastAttempt(now time.Time, outcome string, err error) record.Attempt {
	due, begun := r.times(now)
	a := record.Attempt{Number: r.job.Attempt, Due: due, Begun: begun, Ended: now.UnixMilli(),
		Worker: r.session.rdb.ID, Outcome: outcome}
	if err != nil {
		f := r.failure(now, err).Bounded()
		a.Error, a.Stack = f.Error, f.Stack
	}
	return a
}

// times are when the run was due and has begun, in ms by the clock of Redis that shows now; 0 is not known.
func (r *run) times(now time.Time) (due, begun int64) {
	if !r.job.RunAt.IsZero() {
		due = r.job.RunAt.UnixMilli()
	}
	if at := r.begunAt(); !at.IsZero() {
		begun = now.Add(-max(0, time.Since(at))).UnixMilli()
	}
	return due, begun
}

// interrupted is the trail with the attempts whose workers have died: Redis forgets of the crashes when another attempt
// has ended in good order.
func (r *run) interrupted() record.Trail {
	if r.crashes.Count() == 0 {
		return *r.trail
	}
	return r.trail.Interrupt(ended.Crashed(r.trail, &r.crashes)...)
}
