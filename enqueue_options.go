package work

import (
	"fmt"
	"maps"
	"time"
	"unicode/utf8"
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
	meta      map[string]string
	front     bool
	unique    *UniqueOptions // nil leaves it to the job's own
	times     jobTimes
	tags      []string

	completion string // queue

	replicas    int
	replicaWait time.Duration

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
		s.timeout = capped(d)
		s.refuse(positive("option Timeout", d))
	}
}

// Retention is how long the outcome of the job is kept for [Result]. It is above zero, and counts in whole
// milliseconds; more than 100 years are 100 years.
func Retention(d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.retention = capped(d)
		s.refuse(positive("option Retention", d))
	}
}

// Meta adds a key and its value to what the handler finds in Job.Meta, beside the keys of other Meta options. Both are
// UTF-8, and all of a job together have at most 16 KiB.
func Meta(key, value string) EnqueueOption {
	return func(s *jobSettings) {
		what := fmt.Sprintf("option Meta %s", quoted(key))
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
