package work

import (
	"fmt"
	"slices"
	"time"
)

// jobTimes are the options of one job that have to do with when it is too late.
type jobTimes struct {
	expireIn time.Duration
	expireAt time.Time
	deadline time.Time
	retryFor time.Duration
}

// ExpireIn has the job expire when it has not begun d after it is due: it is dropped then, as a [event.JobExpired] tells, and
// its outcome reads expired. d is above zero, at most 100 years, and counts in whole milliseconds. A job that has
// failed, was put off by its handler, or died with its worker has begun; one that a stop gave back has not.
func ExpireIn(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.times.expireIn, s.times.expireAt = d, time.Time{}
		s.refuse(within("option ExpireIn", d))
	}
}

// ExpireAt is ExpireIn with a time by the clock of Redis. It must not be before the time for which the job is
// scheduled; one that has passed is no mistake.
func ExpireAt(t time.Time) EnqueueOption {
	return func(s *jobSettings) {
		s.times.expireAt, s.times.expireIn = t, 0
		s.refuse(timely("option ExpireAt", t))
	}
}

// Deadline is when the job must have ended, by the clock of Redis: the ctx of an attempt ends then with [ErrDeadline]
// as its cause, and no attempt begins after it. The job goes to the morgue instead, as one that is out of retries. t
// must be after the time for which the job is scheduled.
func Deadline(t time.Time) EnqueueOption {
	return func(s *jobSettings) {
		s.times.deadline = t
		s.refuse(timely("option Deadline", t))
	}
}

// RetryFor is how long after its first failure the job is tried again: no attempt is due later, whatever retries are
// left. It is above zero, at most 100 years, and counts in whole milliseconds.
func RetryFor(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.times.retryFor = d
		s.refuse(within("option RetryFor", d))
	}
}

// The bounds of tags.
const (
	maxTags     = 20
	maxTagBytes = 100
)

// Tags are words by which jobs are found in logs and events; the handler sees them in Job.Tags. They replace those of
// an earlier Tags. There are at most 20, each of 1 to 100 bytes of UTF-8 without control characters.
func Tags(tags ...string) EnqueueOption {
	tags = slices.Clone(tags) // the caller's may change
	return func(s *jobSettings) {
		s.tags = tags
		if len(tags) > maxTags {
			s.refuse(&InvalidError{What: "option Tags", Value: fmt.Sprintf("given %d tags", len(tags)),
				Remedy: fmt.Sprintf("use at most %d", maxTags)})
		}
		for _, tag := range tags {
			if err := validateWord("tag", tag, maxTagBytes); err != nil {
				s.refuse(err)
			}
		}
	}
}

// within refuses a duration that cannot be.
func within(what string, d time.Duration) error {
	if d > maxAhead {
		return &InvalidError{What: what, Value: d.String(), Remedy: "use at most 100 years"}
	}
	return positive(what, d)
}

// timely refuses a time that is most likely a mistake.
func timely(what string, t time.Time) error {
	if t.UnixMilli() > 0 && time.Until(t) <= maxAhead {
		return nil
	}
	return &InvalidError{What: what, Value: t.Format(time.RFC3339),
		Remedy: "use one after 1970 and at most 100 years ahead"}
}

// extend writes what few jobs have into the record of a job.
func (s *jobSettings) extend(r *record) error {
	r.Tags, r.RetryFor = s.tags, millis(s.times.retryFor)
	if s.times == (jobTimes{}) {
		return nil
	}
	late := func(option string, t time.Time) error {
		return &InvalidError{What: "option " + option + " of job " + quoted(r.Name), Value: t.Format(time.RFC3339),
			Remedy: "use one after the time for which the job is scheduled, " + time.UnixMilli(r.RunAt).
				Format(time.RFC3339)}
	}
	switch t := s.times.expireAt; {
	case s.times.expireIn > 0:
		r.Expires = max(r.RunAt, r.EnqueuedAt) + millis(s.times.expireIn)
	case !t.IsZero() && t.UnixMilli() < r.RunAt:
		return late("ExpireAt", t)
	case !t.IsZero():
		r.Expires = t.UnixMilli()
	}
	if t := s.times.deadline; !t.IsZero() {
		if r.Deadline = t.UnixMilli(); r.Deadline <= r.RunAt {
			return late("Deadline", t)
		}
	}
	return nil
}
