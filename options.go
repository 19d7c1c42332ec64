package work

import (
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// WorkerOptions says how a pool reaches Redis and how it behaves. The zero value of each field is its default.
type WorkerOptions struct {
	Redis      string     // DSN, "redis://localhost:6379/0"; this or Connection must be given
	Connection Connection // instead of a DSN
	Namespace  string     // prefix of all keys; default "work"

	ShutdownTimeout time.Duration // how long running jobs may go on once a stop began; default 25 s, negative: not at all
	Logger          *slog.Logger  // default slog.Default()
	Observers       []Observer    // receive every event, after the log
	Only            []string      // serve only these of the registered names; default all
	MaxCrashes      int           // a job that this many workers died with is buried; default 3, less is refused

	RestoreRunning bool // store the jobs that are running again when Redis has lost its data; default false

	MorgueRetention time.Duration // how long a job stays in the morgue; default 180 days
	MorgueLimit     int           // how many jobs the morgue of the namespace holds; default 1,000,000
	MaxArgsSize     int           // how large the args that this pool's Enqueuer accepts may be, in bytes; default 1 MiB
}

// The defaults of WorkerOptions and JobOptions.
const (
	defaultNamespace       = "work"
	defaultShutdownTimeout = 25 * time.Second
	defaultMaxCrashes      = 3
	defaultMorgueRetention = 180 * 24 * time.Hour
	defaultMorgueLimit     = 1_000_000
	defaultRetries         = 25
	maxPriority            = 100_000
	maxConcurrency         = 100_000
)

// withDefaults returns a copy in which every zero value is replaced.
func (o WorkerOptions) withDefaults() WorkerOptions {
	o.Observers, o.Only = slices.Clone(o.Observers), slices.Clone(o.Only) // the caller's may change
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.ShutdownTimeout == 0 {
		o.ShutdownTimeout = defaultShutdownTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxCrashes == 0 {
		o.MaxCrashes = defaultMaxCrashes
	}
	if o.MorgueRetention == 0 {
		o.MorgueRetention = defaultMorgueRetention
	}
	if o.MorgueLimit == 0 {
		o.MorgueLimit = defaultMorgueLimit
	}
	return o
}

func (o WorkerOptions) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &InvalidError{What: "WorkerOptions." + field, Value: fmt.Sprint(value), Remedy: remedy})
	}
	if err := validateNamespace(o.Namespace); err != nil {
		mistakes = append(mistakes, fmt.Errorf("WorkerOptions.Namespace: %w", err))
	}
	if o.MaxCrashes < defaultMaxCrashes {
		refuse("MaxCrashes", o.MaxCrashes, "give 3 or more: with fewer, innocent jobs that shared a worker with a deadly one are buried with it")
	}
	if o.MorgueRetention < 0 {
		refuse("MorgueRetention", o.MorgueRetention, "give a positive duration, or 0 for 180 days")
	}
	if o.MorgueLimit < 0 {
		refuse("MorgueLimit", o.MorgueLimit, "give a positive number, or 0 for 1,000,000")
	}
	if o.MaxArgsSize < 0 {
		refuse("MaxArgsSize", o.MaxArgsSize, "give a positive number of bytes, or 0 for 1 MiB")
	}
	for i, observer := range o.Observers {
		function, isFunction := observer.(ObserverFunc)
		if observer == nil || isFunction && function == nil {
			refuse("Observers", fmt.Sprintf("nil at index %d", i), "leave it out")
		}
	}
	return mistakes
}

// JobOptions says how the jobs of one name are run. The zero value of each field is its default; options given at the
// enqueue beat these.
type JobOptions struct {
	Priority   int                             // weight of the queue, 1 to 100,000; 0 is 1. Twice the weight, twice the share
	Retries    int                             // attempts after the first; 0 is 25, negative is none
	Backoff    func(*Job, error) time.Duration // how long to wait after a failure; default DefaultBackoff
	Timeout    time.Duration                   // after which the ctx of an attempt ends; 0 is never
	SkipMorgue bool                            // drop jobs that are out of retries instead of burying them
	Retention  time.Duration                   // how long results are kept; 0 keeps none
}

func (o JobOptions) withDefaults() JobOptions {
	if o.Priority == 0 {
		o.Priority = 1
	}
	switch {
	case o.Retries == 0:
		o.Retries = defaultRetries
	case o.Retries < 0:
		o.Retries = 0
	}
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	return o
}

func (o JobOptions) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &InvalidError{What: "JobOptions." + field, Value: fmt.Sprint(value), Remedy: remedy})
	}
	if o.Priority < 0 || o.Priority > maxPriority {
		refuse("Priority", o.Priority, "give 1 to 100,000, or 0 for 1")
	}
	if o.Timeout < 0 {
		refuse("Timeout", o.Timeout, "give a positive duration, or 0 for none")
	}
	if o.Retention < 0 {
		refuse("Retention", o.Retention, "give a positive duration, or 0 to keep no result")
	}
	return mistakes
}
