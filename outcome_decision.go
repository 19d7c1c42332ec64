package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// stopsRetrying tells whether a failure is the end of a job that has retries left, as far as is known before its
// backoff.
func (r *run) stopsRetrying(err error) bool {
	now := time.Now()
	if r.worker != nil {
		now = r.worker.clock.Now()
	}
	if r.noTimeReason(now, now) != "" {
		return true
	}
	permanent := false
	if errchain.Find[*disposition](err) == nil {
		permanent, _ = r.permanent(err)
	}
	return permanent
}

// endState is how a job has ended, by what became of its last attempt.
var endState = map[verb]string{verbDone: record.Succeeded, verbDiscard: record.Discarded, verbCancel: record.Cancelled,
	verbExpire: record.Expired}

// decideByError decides what becomes of a run whose handler returned err.
func (r *run) decideByError(err error, now time.Time) decision {
	if err == nil {
		return decision{verb: verbDone}
	}
	v := errchain.Find[*disposition](err)
	if v == nil {
		v = &disposition{verb: verbRetry, delay: -1, err: err}
		if r.cutShort(err) {
			return decision{verb: verbRelease, err: err, cutShort: true}
		}
	}
	switch v.verb {
	case verbSnooze:
		return decision{verb: verbSnooze, delay: v.delay, trail: r.postponed(v.delay, 0, now, v.err), err: err}
	case verbRelease:
		return r.decideRelease(err, now)
	case verbDiscard:
		return decision{verb: verbDiscard, err: err}
	case verbBury:
		return r.buryDecision("its handler asked for it", err, now)
	default:
		return r.decideFailure(v, err, now)
	}
}

// broken tells whether a handler has not returned: then what it waits for does not count.
func broken(err error) bool {
	return errchain.Find[*PanicError](err) != nil || errchain.Find[*GoexitError](err) != nil
}

// parkDecision is the decision about a job that waits by Sleep or Receive, whatever its handler has returned.
func (r *run) parkDecision(parked *longjob.Parking, err error, now time.Time) decision {
	if !errchain.Is(err, ErrWaiting) {
		r.worker.events.emit(event.WaitIgnored{JobRef: r.ref(), Step: parked.Name, Err: err})
	}
	delay := boundedDelay(parked.Until.Sub(now))
	return decision{verb: verbSnooze, delay: delay, trail: r.postponed(delay, 0, now, parked.Err), err: parked.Err,
		wait: parked.Wait}
}

// cutShort tells whether the handler gave up because its ctx ended with the worker and not for a reason of its own:
// that is not the job's failure.
func (r *run) cutShort(err error) bool {
	cause := context.Cause(r.ctx)
	return (errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrFenced)) &&
		(errchain.Is(err, context.Canceled) || errchain.Is(err, cause))
}

func (r *run) decideRelease(err error, now time.Time) decision {
	if r.worker.stopping() {
		return decision{verb: verbRelease, err: err}
	}
	releases := r.trail.Releases + 1
	delay := min(time.Second<<min(releases-1, 6), time.Minute)
	return decision{verb: verbSnooze, delay: delay, trail: r.postponed(delay, releases, now, err), err: err}
}

// decideFailure decides between another attempt and the morgue. It may call the program's Backoff. Nothing is in Redis
// yet: if the process dies here, the job is reaped with its claim, and this attempt has no outcome.
func (r *run) decideFailure(v *disposition, err error, now time.Time) decision {
	if bad := errchain.Find[*ArgumentError](err); bad != nil && bad.uncalled {
		return r.buryDecision(excerpt.ErrorText(bad), err, now)
	}
	if object := errchain.Find[*ObjectError](err); object != nil && object.final {
		return r.buryDecision(excerpt.ErrorText(object), err, now)
	}
	if r.job.RetriesLeft <= 0 {
		return r.deathDecision("out of retries", err, now)
	}
	delay := v.delay
	if delay < 0 {
		var permanent bool
		if permanent, err = r.permanent(err); permanent {
			return r.deathDecision("its error is permanent", err, now)
		}
		delay, err = r.backoff(err)
	}
	if reason := r.noTimeReason(now.Add(delay), now); reason != "" {
		return r.deathDecision(reason, err, now)
	}
	t := r.interrupted().Failed(r.failure(now, err))
	if t.RunAt = now.Add(delay).UnixMilli(); r.retryFor() > 0 {
		t.First = r.firstFailed(now).UnixMilli()
	}
	return decision{verb: verbRetry, delay: delay, trail: t.Encode(), err: err, failure: t.LastError(),
		kind: r.failureKind(err)}
}

// failure is an attempt that failed, for the trail of the job.
func (r *run) failure(now time.Time, err error) record.Failure {
	due, begun := r.times(now)
	f := record.Failure{At: now.UnixMilli(), Due: due, Begun: begun, Attempt: r.job.Attempt,
		Worker: r.session.rdb.ID, Error: excerpt.ErrorText(err), Kind: string(r.failureKind(err))}
	if p := errchain.Find[*PanicError](err); p != nil {
		f.Stack = p.Stack
	}
	return f
}

// backoff asks the job's backoff function; one that does not return is reported in the error and replaced by the
// default.
func (r *run) backoff(cause error) (delay time.Duration, err error) {
	failure := lifecycle.Apart(func() { delay = boundedDelay(r.registration.options.Backoff(r.job, cause)) })
	if failure != "" {
		return DefaultBackoff(r.job, cause), fmt.Errorf("%w (and the backoff function %s)", cause, failure)
	}
	return delay, cause
}

// permanent asks the job's Permanent function about an error. One that does not return is reported in the error and
// counts as no.
func (r *run) permanent(cause error) (permanent bool, err error) {
	ask := r.registration.options.Permanent
	if ask == nil {
		return false, cause
	}
	if failure := lifecycle.Apart(func() { permanent = ask(cause) }); failure != "" {
		return false, fmt.Errorf("%w (and the function Permanent %s)", cause, failure)
	}
	return permanent, cause
}

// buryDecision is the decision to send the run's job to the morgue.
func (r *run) buryDecision(reason string, err error, now time.Time) decision {
	t := r.interrupted()
	kind := r.failureKind(err)
	t.Reason, t.Failure, t.RunAt = excerpt.Start(reason, record.MaxErrorBytes), string(kind), 0
	failure := t.Reason
	if err != nil {
		t = t.Failed(r.failure(now, err))
		failure = t.LastError()
	}
	return decision{
		verb: verbBury, trail: t.Encode(), err: err, reason: t.Reason, death: causeOfDeath(t.Reason, err),
		failure: failure, kind: kind,
	}
}

// deathDecision is the decision about a job that is out of retries, time or hope: it goes to the morgue, unless its
// options skip that. err is nil when no attempt has failed just now.
func (r *run) deathDecision(reason string, err error, now time.Time) decision {
	d := r.buryDecision(reason, err, now)
	if !r.registration.options.SkipMorgue {
		return d
	}
	return r.ends(decision{
		verb: verbDiscard, err: d.death, death: d.death, reason: d.reason, failure: d.failure, keep: discardRetention,
		kind: d.kind,
	}, record.Outcome{Failure: string(d.kind)}, now)
}

// causeOfDeath is what OnDeath is told.
func causeOfDeath(reason string, err error) error {
	if err != nil {
		return err
	}
	return errors.New(reason)
}

// postponed is the trail of a job that its handler has put off, with err if it said why.
func (r *run) postponed(delay time.Duration, releases int, now time.Time, err error) []byte {
	outcome := record.Snoozed
	if releases > 0 {
		outcome = record.Released
	}
	t := r.interrupted().Interrupt(r.lastAttempt(now, outcome, err))
	t.Releases, t.RunAt = releases, now.Add(delay).UnixMilli()
	t.Begun = r.record.Expires > 0 && r.begun.Load() != 0 // nobody else asks
	return t.Encode()
}

// retryFor is how long after its first failure the job is tried again; 0 is no limit.
func (r *run) retryFor() time.Duration {
	if r.record.RetryFor > 0 {
		return span.FromMillis(r.record.RetryFor)
	}
	return span.Capped(r.registration.options.RetryFor)
}

// firstFailed is when the job failed first: now, if that is what it does.
func (r *run) firstFailed(now time.Time) time.Time {
	switch {
	case r.trail.First > 0:
		return time.UnixMilli(r.trail.First)
	case len(r.trail.Errors) > 0 && r.trail.Errors[0].At > 0: // before anybody asked for RetryFor
		return time.UnixMilli(r.trail.Errors[0].At)
	}
	return now
}

// noTimeReason says why no attempt may be due then; empty when one may.
func (r *run) noTimeReason(next, now time.Time) string {
	if r.record.Deadline > 0 && next.UnixMilli() >= r.record.Deadline {
		return "its next attempt would come after its deadline"
	}
	if most := r.retryFor(); most > 0 && next.After(r.firstFailed(now).Add(most)) {
		return fmt.Sprintf("it is retried for %s after its first failure, and its next attempt would come later", most)
	}
	return ""
}

// ending is what Job.Ending tells.
func (r *run) ending(err error) (Ending, bool) {
	v := errchain.Find[*disposition](err)
	switch {
	case r.cancelRequested.Load():
		return EndingCancel, false
	case r.parked() != nil && !broken(err):
		return EndingSnooze, false
	case err != nil && v == nil && r.cutShort(err):
		return EndingRelease, false
	case v != nil && v.verb == verbRelease && r.worker.stopping():
		return EndingRelease, false
	}
	return endingOf(err, func() Ending {
		switch {
		case r.job.RetriesLeft > 0 && !r.stopsRetrying(err):
			return EndingRetry
		case r.registration.options.SkipMorgue:
			return EndingDiscard
		}
		return EndingBury
	})
}

func (r *run) mustEnd() bool { return r.worker.stopping() || r.cancelRequested.Load() }

func (r *run) fencingToken() int64 { return r.token }

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
