package work

import (
	"fmt"
	"time"
)

// turnAwayLate ends a run that must not begin any more, and tells whether it did.
func (w *worker) turnAwayLate(r *run) bool {
	if r.record.Expires == 0 && r.record.Deadline == 0 {
		return false
	}
	var fate decision
	if !r.isLate(w.clock.now(), &fate) {
		return false
	}
	w.conclude(r, fate)
	return true
}

// isLate tells whether the run must not begin any more, and decides about it then.
func (r *run) isLate(now time.Time, fate *decision) bool {
	switch ms := now.UnixMilli(); {
	case r.record.Deadline > 0 && ms >= r.record.Deadline:
		*fate = r.death("its deadline has passed", nil, now)
	case r.record.Expires > 0 && ms >= r.record.Expires && !r.hadBegun():
		*fate = decision{
			verb: verbExpire, keep: max(r.retention(), discardRetention),
			result: outcome{State: stateExpired, EndedAt: ms}.encode(),
		}
	default:
		return false
	}
	return true
}

// hadBegun tells whether an earlier attempt began, as far as anybody noted it.
func (r *run) hadBegun() bool { return r.trail.Fails > 0 || r.trail.Begun || r.crashed }

// expiry is when the run's job expires, or expired; zero when it does not.
func (r *run) expiry() time.Time {
	if r.record.Expires == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.record.Expires)
}

// allowance is how long the attempt may take from now on, and the cause with which its ctx then ends; 0 is no limit.
func (r *run) allowance(clock *redisClock) (time.Duration, error) {
	limit := r.timeout()
	if r.record.Deadline == 0 {
		return limit, ErrTimeout
	}
	left := min(max(time.UnixMilli(r.record.Deadline).Sub(clock.now()), 1), maxAhead)
	if limit > 0 && limit <= left {
		return limit, ErrTimeout
	}
	return left, ErrDeadline
}

// retryFor is how long after its first failure the job is tried again; 0 is no limit.
func (r *run) retryFor() time.Duration {
	if r.record.RetryFor > 0 {
		return fromMillis(r.record.RetryFor)
	}
	return capped(r.registration.options.RetryFor)
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

// noTimeFor says why no attempt may be due then; empty when one may.
func (r *run) noTimeFor(next, now time.Time) string {
	if r.record.Deadline > 0 && next.UnixMilli() >= r.record.Deadline {
		return "its next attempt would come after its deadline"
	}
	if most := r.retryFor(); most > 0 && next.After(r.firstFailed(now).Add(most)) {
		return fmt.Sprintf("it is retried for %s after its first failure, and its next attempt would come later", most)
	}
	return ""
}
