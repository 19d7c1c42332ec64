package work

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// The limits of options of one job.
const (
	maxRetries   = 100_000
	maxMetaBytes = 16 << 10
)

// EnqueueOption is an option of one job, given to [Enqueuer.With] or with an [Entry]. The later one wins, and those of
// an Entry win over those of With. All of them beat the options with which the job's handler was registered.
type EnqueueOption func(*jobSettings)

// jobSettings are the options of one job. Those that are absent are left to the worker.
type jobSettings struct {
	id        string
	chosen    bool // the id
	retries   *int
	timeout   time.Duration
	retention time.Duration
	omitArgs  bool
	meta      map[string]string
	front     bool
	unique    *UniqueOptions // nil leaves it to the job's own
	times     jobTimes
	tags      []string
	source    int64           // that of an entry beats it
	parent    string          // the id of the job whose handler enqueues it
	born      func(id string) // told of each job that was stored; nil without a parent

	completion string // queue
	turn       rdb.Turn
	needs      []string // labels, sorted

	replicas    int
	replicaWait time.Duration

	codecs *codec.Chain // of the enqueuer; those of the job's own options beat them

	err error // of the first option that cannot be
}

// ID is the job's id, instead of a random one: 1 to 200 bytes of UTF-8 without control characters. While a job of that
// id lives, in whichever queue, another is not stored, and the Receipt says Duplicate.
func ID(id string) EnqueueOption {
	return func(s *jobSettings) {
		s.id, s.chosen = id, true
		s.refuse(validateID(id))
	}
}

// Retries is how many attempts may follow the first one. 0, and anything negative, is none.
func Retries(n int) EnqueueOption {
	return func(s *jobSettings) {
		if n > maxRetries {
			s.refuse(&InvalidError{What: "option Retries", Value: fmt.Sprint(n),
				Remedy: fmt.Sprintf("use at most %d", maxRetries)})
		}
		n := max(0, n)
		s.retries = &n
	}
}

// Timeout is after which time the ctx of an attempt ends. It is above zero, and counts in whole milliseconds; more than
// 100 years are 100 years.
func Timeout(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.timeout = span.Capped(d)
		s.refuse(positive("option Timeout", d))
	}
}

// Retention is how long the outcome of the job is kept for [Result], and with it the job for package inspect: its args,
// its attempts, what it told last. It is above zero, and counts in whole milliseconds; more than 100 years are 100
// years.
func Retention(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.retention = span.Capped(d)
		s.refuse(positive("option Retention", d))
	}
}

// OmitArgs keeps the args out of what stays of the job when it has ended, see [Retention].
func OmitArgs() EnqueueOption {
	return func(s *jobSettings) { s.omitArgs = true }
}

// Meta adds a key and its value to what the handler finds in Job.Meta, beside the keys of other Meta options. Both are
// UTF-8, and all of a job together have at most 16 KiB.
func Meta(key, value string) EnqueueOption {
	return func(s *jobSettings) {
		what := fmt.Sprintf("option Meta %s", excerpt.Brief(key))
		switch {
		case key == "":
			s.refuse(&InvalidError{What: "option Meta", Value: "without a key",
				Remedy: "use a key of one byte or more"})
		case !utf8.ValidString(key), !utf8.ValidString(value):
			s.refuse(&InvalidError{What: what, Value: "not valid UTF-8", Remedy: "encode it, for instance as base64"})
		}
		meta := make(map[string]string, len(s.meta)+1)
		maps.Copy(meta, s.meta) // which others share
		meta[key] = value
		if size := metaSize(meta); size > maxMetaBytes {
			s.refuse(&InvalidError{What: what, Value: fmt.Sprintf("too large, with it there are %d bytes", size),
				Remedy: fmt.Sprintf("use at most %d bytes in all, and args for what is larger", maxMetaBytes)})
		}
		s.meta = meta
	}
}

// Source is what the job is about, the id of a user or an order for instance: its Job.SourceID. [Entry].Source and the
// Sourced methods beat it; 0 is none.
func Source(id int64) EnqueueOption {
	return func(s *jobSettings) { s.source = id }
}

// Front puts the job before the jobs that wait already, instead of behind them, also one whose time has passed already.
// It is refused for a job that is due later: such a one waits in no queue yet.
func Front() EnqueueOption {
	return func(s *jobSettings) { s.front = true }
}

// with returns the settings with more options applied.
func (s jobSettings) with(opts []EnqueueOption) jobSettings {
	for i, opt := range opts {
		if opt == nil {
			s.refuse(&InvalidError{What: fmt.Sprintf("enqueue option %d", i+1), Value: "nil", Remedy: "leave it out"})
			continue
		}
		opt(&s)
	}
	return s
}

// refuse keeps the first mistake for the enqueue, since options have nobody to tell.
func (s *jobSettings) refuse(err error) {
	if s.err == nil {
		s.err = err
	}
}

func positive(what string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return &InvalidError{What: what, Value: d.String(), Remedy: "use a duration above zero, or leave the option out"}
}

func metaSize(meta map[string]string) (size int) {
	for key, value := range meta {
		size += len(key) + len(value)
	}
	return size
}

// maxReplicaWait bounds what a call that waits for replicas may hold up.
const maxReplicaWait = time.Minute

// WaitReplicas makes an enqueue wait until so many replicas of Redis have the job, at most so long from when it was
// stored, whatever [EnqueueTimeout] is. Others go on meanwhile: what it costs is in docs/scale.md.
//
// When fewer have confirmed it by then, or ctx ends first, the job is stored all the same: the error is an
// *[EnqueueError] that lists it under Stored, with a *[ReplicasError] inside. Where a failover comes in between, and
// the server that took over does not know the call, it is listed under Unknown, with [ErrLostInFailover] inside: it is
// not proven to be there, and may have begun. Repeat it with the same [ID]. Which replica takes over is the server's
// matter: see docs/reliability.md.
func WaitReplicas(n int, timeout time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.replicas, s.replicaWait = n, timeout
		if n < 1 {
			s.refuse(&InvalidError{What: "number of replicas of option WaitReplicas", Value: fmt.Sprint(n),
				Remedy: "use one or more"})
		}
		if timeout <= 0 || timeout > maxReplicaWait {
			s.refuse(&InvalidError{
				What: "timeout of option WaitReplicas", Value: timeout.String(),
				Remedy: "use above zero and at most one minute",
			})
		}
	}
}

// jobTimes are the options of one job that have to do with when it is too late.
type jobTimes struct {
	expireIn time.Duration
	expireAt time.Time
	deadline time.Time
	retryFor time.Duration
}

// ExpireIn has the job expire when it has not begun d after it is due: it is dropped then, as a [event.JobExpired]
// tells, and its outcome reads expired. d is above zero, at most 100 years, and counts in whole milliseconds. A job
// that has failed, was put off by its handler, or died with its worker has begun; one that a stop gave back has not.
func ExpireIn(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.times.expireIn, s.times.expireAt = d, time.Time{}
		s.refuse(checkDuration("option ExpireIn", d))
	}
}

// ExpireAt is ExpireIn with a time by the clock of Redis. It must not be before the time for which the job is
// scheduled; one that has passed is no mistake.
func ExpireAt(t time.Time) EnqueueOption {
	return func(s *jobSettings) {
		s.times.expireAt, s.times.expireIn = t, 0
		s.refuse(checkTime("option ExpireAt", t))
	}
}

// Deadline is when the job must have ended, by the clock of Redis: the ctx of an attempt ends then with [ErrDeadline]
// as its cause, and no attempt begins after it. The job goes to the morgue instead, as one that is out of retries. t
// must be after the time for which the job is scheduled.
func Deadline(t time.Time) EnqueueOption {
	return func(s *jobSettings) {
		s.times.deadline = t
		s.refuse(checkTime("option Deadline", t))
	}
}

// RetryFor is how long after its first failure the job is tried again: no attempt is due later, whatever retries are
// left. It is above zero, at most 100 years, and counts in whole milliseconds.
func RetryFor(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.times.retryFor = d
		s.refuse(checkDuration("option RetryFor", d))
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

// checkDuration refuses a duration that cannot be.
func checkDuration(what string, d time.Duration) error {
	if d > span.Longest {
		return &InvalidError{What: what, Value: d.String(), Remedy: "use at most 100 years"}
	}
	return positive(what, d)
}

// checkTime refuses a time that is most likely a mistake.
func checkTime(what string, t time.Time) error {
	if t.UnixMilli() > 0 && time.Until(t) <= span.Longest {
		return nil
	}
	return &InvalidError{What: what, Value: t.Format(time.RFC3339),
		Remedy: "use one after 1970 and at most 100 years ahead"}
}

// extend writes what few jobs have into the record of a job.
func (s *jobSettings) extend(r *record.Record) error {
	r.Tags, r.RetryFor, r.OmitArgs = s.tags, span.Millis(s.times.retryFor), s.omitArgs
	if s.turn.Weight > 0 && s.turn.Key == "" {
		return &InvalidError{What: "job " + excerpt.Brief(r.Name), Value: "given Weight without Key",
			Remedy: "give it the key whose weight that is"}
	}
	if s.turn.Key != "" && len(s.needs) > 0 {
		return &InvalidError{What: "job " + excerpt.Brief(r.Name), Value: "given both Key and Needs",
			Remedy: "use one of them: the jobs of a key are limited and ordered together, and those that need labels " +
				"wait apart"}
	}
	r.Key, r.Weight, r.Needs = s.turn.Key, s.turn.Weight, s.needs
	if s.times == (jobTimes{}) {
		return nil
	}
	late := func(option string, t time.Time) error {
		return &InvalidError{What: "option " + option + " of job " + excerpt.Brief(r.Name),
			Value: t.Format(time.RFC3339),
			Remedy: "use one after the time for which the job is scheduled, " + time.UnixMilli(r.RunAt).
				Format(time.RFC3339)}
	}
	switch t := s.times.expireAt; {
	case s.times.expireIn > 0:
		r.Expires = max(r.RunAt, r.EnqueuedAt) + span.Millis(s.times.expireIn)
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

// Needs names labels that a worker must have to run the job, all of them: see [WorkerOptions].Labels. There are at most
// 4, each of 1 to 64 letters, digits and .:/_-; they replace those of an earlier Needs, and none is no need.
//
// Until a worker of the job's name has them the job waits, and says so: in package inspect, in the dashboard and in
// what the doctor finds. It stands in the way of no other job meanwhile: the jobs of a name that need the same wait in
// a queue of their own, of which workers without these labels never hear. Limits, rates and pauses of the name hold for
// all of its jobs, whatever they need. Among workers that serve several such queues each has the share of its name's
// Priority. It is refused beside a [Key].
func Needs(labels ...string) EnqueueOption {
	labels = needs.Sorted(slices.Clone(labels)) // the caller's may change
	return func(s *jobSettings) {
		s.needs = labels
		s.refuse(asInvalid(needs.Check("option Needs", labels, needs.MostOfJob)))
	}
}

// Key is on whose behalf the job is done, the id of a customer for instance: 1 to 200 bytes of UTF-8 without control
// characters. The jobs of one name that have keys are not run in the order of their enqueue, but the keys have turns,
// one job each, or as many as [Weight] says. So the first job of a key that comes is next, however many jobs of another
// key wait, and a key that is alone has all turns. Jobs of one key begin in their order. JobOptions.PerKey limits how
// many of a key run, and JobOptions.Ordered has one end before the next begins.
//
// Jobs of the same name without a key have turns together, as one more key. What a worker gives back that stops or dies
// comes first. A retry lines up anew when it is due, unless the key is Ordered. [Front] beats the key. What waits by
// turns costs Redis more time and memory than what waits in order. Up to 1,024 names of a namespace may have jobs with
// keys, and up to 2^42/840 jobs of a key, about 5 * 10^9, have their turns before it is empty once.
//
// With several partitions all jobs of a name that have the same key are in one of them, and have turns with the other
// keys there. [Unique] is about jobs of the same key. [Once] is not, and is refused beside a Key there.
func Key(key string) EnqueueOption {
	return func(s *jobSettings) {
		s.turn.Key = key
		switch {
		case key == "":
			s.refuse(&InvalidError{What: "option Key", Value: "empty", Remedy: "use one of one byte or more, or none"})
		case len(key) > invalid.MaxKey:
			s.refuse(&InvalidError{What: "option Key", Value: fmt.Sprintf("%d bytes long", len(key)),
				Remedy: fmt.Sprintf("use at most %d, such as a hash of it", invalid.MaxKey)})
		case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			s.refuse(&InvalidError{What: "option Key", Value: fmt.Sprintf("%.40q", key),
				Remedy: "use UTF-8 without control characters"})
		}
	}
}

// Weight is how many turns the job's [Key] has where others have one: 1, which is the default, to 100. Each job has the
// weight of its own enqueue. It is an error without a Key.
func Weight(n int) EnqueueOption {
	return func(s *jobSettings) {
		s.turn.Weight = n
		if n < 1 || n > rdb.MaxWeight {
			s.refuse(&InvalidError{What: "option Weight", Value: fmt.Sprint(n),
				Remedy: fmt.Sprintf("use 1 to %d", rdb.MaxWeight)})
		}
	}
}
