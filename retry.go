package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/errchain"
)

// minDelay is the floor of every wait that a program asks for: a job that comes back at once would spin.
const minDelay = 100 * time.Millisecond

// bearable is the wait that is used for one that was asked for.
func bearable(d time.Duration) time.Duration { return max(capped(d), minDelay) }

// maxBackoffs is after how many failures DefaultBackoff grows no more. Its n^4 would leave time.Duration after 310.
const maxBackoffs = 200

// DefaultBackoff is how long a job waits after its n-th failure: (n-1)^4 seconds, 15 seconds, and up to 10 n seconds at
// random, so that jobs that failed together do not come back together. The formula is Sidekiq's; 25 retries take about
// three weeks. It grows no more after 200 failures: by then it is 50 years.
func DefaultBackoff(job *Job, _ error) time.Duration {
	n := min(max(job.Attempt-1, 0), maxBackoffs)
	jitter := time.Duration(rand.Int64N(int64(10 * time.Second)))
	return time.Duration(n*n*n*n+15)*time.Second + jitter*time.Duration(n+1)
}

// verb is what becomes of a job after an attempt.
type verb int

const (
	verbDone verb = iota
	verbRetry
	verbSnooze  // later, no attempt used
	verbRelease // to the front of the queue, no attempt used
	verbBury
	verbDiscard
	verbCancel
	verbExpire
)

// disposition is the error with which a handler says what should become of its job.
type disposition struct {
	verb  verb
	delay time.Duration
	err   error
}

// Error is the program's own text, where there is one: so it is of one group with the same error without a disposition.
func (v *disposition) Error() string {
	if v.err != nil {
		return cut(errorText(v.err))
	}
	return map[verb]string{
		verbRetry: "retry in " + v.delay.String(), verbSnooze: "snooze for " + v.delay.String(),
		verbRelease: "release", verbBury: "bury", verbDiscard: "discard",
	}[v.verb]
}

func (v *disposition) Unwrap() error { return v.err }

// RetryIn fails the attempt with err and asks for the next one after d (100 ms to 100 years) instead of the backoff.
// Out of retries it goes to the morgue as after any error.
func RetryIn(d time.Duration, err error) error {
	return &disposition{verb: verbRetry, delay: bearable(d), err: err}
}

// Snooze puts the job off for d (100 ms to 100 years) without using an attempt.
func Snooze(d time.Duration) error { return &disposition{verb: verbSnooze, delay: bearable(d)} }

// Release hands the job back without using an attempt. While the pool is stopping it goes to the front of its queue,
// for another worker to take; otherwise it waits 1 s, 2 s, 4 s up to 60 s. err may be nil.
func Release(err error) error { return &disposition{verb: verbRelease, err: err} }

// Bury sends the job to the morgue at once, whatever retries are left.
func Bury(err error) error { return &disposition{verb: verbBury, err: err} }

// Discard drops the job: it is counted and seen in events, and not retried. err may be nil.
func Discard(err error) error { return &disposition{verb: verbDiscard, err: err} }

// judge decides what becomes of a run whose handler returned err.
func (r *run) judge(err error, now time.Time) decision {
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
		return decision{verb: verbSnooze, delay: v.delay, trail: r.postponed(v.delay, 0, now), err: err}
	case verbRelease:
		return r.judgeRelease(err, now)
	case verbDiscard:
		return decision{verb: verbDiscard, err: err}
	case verbBury:
		return r.burial("its handler asked for it", err, now)
	default:
		return r.judgeFailure(v, err, now)
	}
}

// cutShort tells whether the handler gave up because its ctx ended with the worker and not for a reason of its own:
// that is not the job's failure.
func (r *run) cutShort(err error) bool {
	cause := context.Cause(r.ctx)
	return (errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrFenced)) &&
		(is(err, context.Canceled) || is(err, cause))
}

func (r *run) judgeRelease(err error, now time.Time) decision {
	if r.worker.stopping() {
		return decision{verb: verbRelease, err: err}
	}
	releases := r.trail.Releases + 1
	delay := min(time.Second<<min(releases-1, 6), time.Minute)
	return decision{verb: verbSnooze, delay: delay, trail: r.postponed(delay, releases, now), err: err}
}

func (r *run) judgeFailure(v *disposition, err error, now time.Time) decision {
	if bad := errchain.Find[*ArgumentError](err); bad != nil && bad.uncalled {
		return r.burial(errorText(bad), err, now)
	}
	if object := errchain.Find[*ObjectError](err); object != nil && object.final {
		return r.burial(errorText(object), err, now)
	}
	if r.job.RetriesLeft <= 0 {
		return r.death("out of retries", err, now)
	}
	delay := v.delay
	if delay < 0 {
		var permanent bool
		if permanent, err = r.permanent(err); permanent {
			return r.death("its error is permanent", err, now)
		}
		delay, err = r.backoff(err)
	}
	if reason := r.noTimeFor(now.Add(delay), now); reason != "" {
		return r.death(reason, err, now)
	}
	t := r.trail.failed(now, r.job.Attempt, r.claimant.rdb.ID, err)
	if t.RunAt = now.Add(delay).UnixMilli(); r.retryFor() > 0 {
		t.First = r.firstFailed(now).UnixMilli()
	}
	return decision{verb: verbRetry, delay: delay, trail: t.encode(), err: err, failure: t.lastError()}
}

// backoff asks the job's backoff function; one that does not return is reported in the error and replaced by the
// default.
func (r *run) backoff(cause error) (delay time.Duration, err error) {
	fate := apart(func() { delay = bearable(r.registration.options.Backoff(r.job, cause)) })
	if fate != "" {
		return DefaultBackoff(r.job, cause), fmt.Errorf("%w (and the backoff function %s)", cause, fate)
	}
	return delay, cause
}

// apart calls a function of the program in a goroutine of its own, which it may end, as t.FailNow does: the error that
// it is asked about must not be lost with ours. It returns what has become of it, where it has not returned.
func apart(function func()) (fate string) {
	ended := make(chan string, 1)
	go func() {
		fate := "ended its goroutine"
		defer func() {
			if value := recover(); value != nil {
				fate = "panicked: " + describe(value)
			}
			ended <- fate
		}()
		function()
		fate = ""
	}()
	return <-ended
}

// burial is the decision to send the run's job to the morgue.
func (r *run) burial(reason string, err error, now time.Time) decision {
	t := *r.trail
	t.Reason, t.RunAt = bound(reason, maxErrorBytes), 0
	failure := t.Reason
	if err != nil {
		t = t.failed(now, r.job.Attempt, r.claimant.rdb.ID, err)
		failure = t.lastError()
	}
	return decision{
		verb: verbBury, trail: t.encode(), err: err, reason: t.Reason, death: causeOfDeath(t.Reason, err),
		failure: failure,
	}
}

func (r *run) postponed(delay time.Duration, releases int, now time.Time) []byte {
	t := *r.trail
	t.Releases, t.RunAt = releases, now.Add(delay).UnixMilli()
	t.Begun = r.record.Expires > 0 && r.begun.Load() != 0 // nobody else asks
	return t.encode()
}

// errorText is err.Error(), whatever that method does.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return describe(err)
}
