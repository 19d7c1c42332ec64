package work

import (
	"maps"
	"slices"
	"time"
)

// EntrySettings are the options of one job, as plain values for middleware and tests to look at. What was not given is
// the zero value, and left to the options with which the job's handler was registered.
type EntrySettings struct {
	ID         string
	Retries    *int // nil was not given
	Timeout    time.Duration
	Retention  time.Duration
	Meta       map[string]string
	Tags       []string
	Front      bool
	Unique     *UniqueOptions // nil was not given
	ExpireIn   time.Duration
	ExpireAt   time.Time
	Deadline   time.Time
	RetryFor   time.Duration
	Completion string
	Replicas   int
}

// Settings are what the options of the entry come to, each the last that was given. In an [EnqueueMiddleware] those of
// [Enqueuer.With] are among them. Options that the enqueue would refuse are in it as well. It is the caller's own.
func (e Entry) Settings() EntrySettings {
	s := jobSettings{}.with(e.Options)
	settings := EntrySettings{
		ID: s.id, Timeout: s.timeout, Retention: s.retention, Meta: maps.Clone(s.meta), Tags: slices.Clone(s.tags),
		Front:    s.front,
		ExpireIn: s.times.expireIn, ExpireAt: s.times.expireAt, Deadline: s.times.deadline, RetryFor: s.times.retryFor,
		Completion: s.completion, Replicas: s.replicas,
	}
	if s.retries != nil {
		settings.Retries = new(*s.retries)
	}
	if s.unique != nil {
		settings.Unique = new(*s.unique)
	}
	return settings
}
