package work

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/objects"
)

// WorkerOptions says how a pool reaches Redis and how it behaves. The zero value of each field is its default. A
// duration of more than 100 years is one of 100 years.
type WorkerOptions struct {
	Redis      string     // DSN, "redis://localhost:6379/0"; this or Connection must be given
	Connection Connection // instead of a DSN
	Namespace  string     // prefix of all keys; default "work"

	// how long running jobs may go on once a stop began; default 25 s, negative: not at all
	ShutdownTimeout time.Duration
	Logger          *slog.Logger // default slog.Default()
	Observers       []Observer   // receive every event, after the log
	Only            []string     // serve only these of the registered names; default all
	// Labels say what the workers of the pool have that others may not: jobs that need some (see [Needs]) run only
	// where all of these are. Jobs that need none run here as well. At most 8, each of 1 to 64 letters, digits and
	// .:/_-; default none.
	Labels []string
	// whose schedules the pool's are: see Periodic; default one that is made of the served names
	Service string
	// a job that this many workers died with, more than chance explains, is buried; default 3, less is refused
	MaxCrashes int

	// HeartbeatLife is how long this pool's workers count as alive after their last heartbeat, 1 s to 10 minutes;
	// default 3 s. The jobs of one that is killed start elsewhere within that time and 3 s more. A pause that is
	// shorter disturbs nobody. Pools of one namespace may differ: the life of each decides about itself.
	HeartbeatLife time.Duration
	// FenceAfter ends the ctx of everything that a worker runs, with the cause ErrFenced, once no heartbeat of it was
	// answered for so long, counted from when the last one that was answered had been sent: others may have its jobs by
	// then, and it cannot know. It begins nothing more until one is answered. Default: never; at least two heartbeats,
	// 2 s unless HeartbeatLife is below 3 s. Up to HeartbeatLife it ends them before anybody else can begin their jobs:
	// as long as the process runs (one that was paused sees it when it wakes), clocks run equally fast, Redis' is not
	// set forward, and handlers heed their ctx. What must not happen twice in any case needs a check where it happens:
	// see Job.FencingToken.
	FenceAfter time.Duration
	// IdleTimeout ends the pool as Stop does, in good order, once none of its workers has held a job for so long and
	// none waits or is due in the names that it serves: for programs that something starts again when there is work.
	// It takes up to a tenth more, a second at the most, and Done tells of it. What is scheduled for later does not
	// keep the pool; what waits behind a pause or a limit does, and so does an order to pause or to be quiet. Default
	// 0: never; at least 10 ms.
	IdleTimeout time.Duration
	// Prefetch is how many jobs each worker fetches beyond those that its processors run, at most 256. Default 0: as
	// many as end within two round trips, by how long jobs took lately, so that short ones need not wait for Redis; at
	// most 12 for each processor, none of long ones, and what no processor has come to within 100 ms goes back. Of
	// other numbers so many are always fetched, and wait as long as it takes. NoPrefetch is none, ever.
	Prefetch int
	// RestoreRunning stores the jobs that are running again when Redis knows nothing of the namespace any more: it was
	// flushed, restarted without its data, or is another one. After a failover, where a replica remembers less, they
	// are always stored again, whatever this says. Default false: they run to their end, and no outcome counts.
	RestoreRunning bool

	// WaitReplicas is how many replicas of Redis must have the outcome of a job before the worker forgets the job. A
	// failover in between then has the outcome sent again, where the job would have run again. Processors do not wait;
	// the fetcher does, once 5,000 outcomes wait. OnDeath and JobsSettled come after it; what Redis itself tells of an
	// end (waiters, completion queues) before. Default 0: none, which costs nothing.
	WaitReplicas int
	// WaitTimeout is how long an outcome waits for replicas. When too few have it by then an event tells of trouble,
	// and the outcome counts: it is stored. Default 1 s, at most a minute; it needs WaitReplicas.
	WaitTimeout time.Duration

	MorgueRetention time.Duration // how long a job stays in the morgue; default 180 days
	MorgueLimit     int           // how many jobs the morgue of the namespace holds; default 1,000,000
	// count nothing for Inspector.History and Inspector.Errors, which costs Redis nothing then; default false
	NoHistory     bool
	MirrorJobLogs bool // what jobs write to their own logs goes to Logger as well: see Job.Logger
	// how large the args that this pool's Enqueuer accepts may be, in bytes; default as for its option
	MaxArgsSize int

	// above how many bytes an argument or a kept result is stored as an object; default 8 KiB, negative: never
	LargeArgs   int
	ObjectCache int64         // how many bytes of objects the pool keeps; default 64 MiB, negative: none
	ObjectGrace time.Duration // how long an object stays that no job refers to; default an hour, at least a millisecond
	ObjectHome  objects.Home  // where their contents are kept; default Redis; all of a namespace must have the same one

	// how args, results, steps, states and messages of its jobs are stored, each codec in turn; what is stored
	// otherwise it opens by those of them that are named on it. Default none. See Codec
	Codecs []Codec

	EnqueueNames   []string // what this pool's Enqueuer accepts beside the registered names: jobs of other programs
	EnqueueAnyName bool     // it accepts every name: see WorkerPool.Enqueuer

	EnqueueMiddleware []EnqueueMiddleware // around every enqueue of this pool's Enqueuer, the first one outermost
}

// The defaults of WorkerOptions and JobOptions.
const (
	defaultShutdownTimeout = 25 * time.Second
	defaultMaxCrashes      = crash.DefaultMost
	defaultMorgueRetention = 180 * 24 * time.Hour
	defaultMorgueLimit     = 1_000_000
	defaultRetries         = 25
	maxPriority            = 100_000
	maxConcurrency         = 100_000
	maxPrefetch            = 256
	minIdleTimeout         = 10 * time.Millisecond
	defaultWaitTimeout     = time.Second // for replicas
)

// NoPrefetch is the WorkerOptions.Prefetch of a worker that holds no more jobs than it runs, however short they are.
const NoPrefetch = -1

// withDefaults returns a copy in which every zero value is replaced.
func (o WorkerOptions) withDefaults() WorkerOptions {
	o.Observers, o.Only = slices.Clone(o.Observers), slices.Clone(o.Only) // the caller's may change
	o.Labels = needs.Sorted(slices.Clone(o.Labels))
	o.EnqueueMiddleware, o.EnqueueNames = slices.Clone(o.EnqueueMiddleware), slices.Clone(o.EnqueueNames)
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
	if o.HeartbeatLife == 0 {
		o.HeartbeatLife = liveness.Life
	}
	if o.ObjectCache == 0 {
		o.ObjectCache = defaultObjectCache
	}
	if o.MorgueRetention == 0 {
		o.MorgueRetention = defaultMorgueRetention
	}
	if o.MorgueLimit == 0 {
		o.MorgueLimit = defaultMorgueLimit
	}
	if o.WaitTimeout == 0 && o.WaitReplicas > 0 {
		o.WaitTimeout = defaultWaitTimeout
	}
	for _, d := range []*time.Duration{&o.ShutdownTimeout, &o.MorgueRetention, &o.ObjectGrace, &o.HeartbeatLife,
		&o.FenceAfter, &o.IdleTimeout, &o.WaitTimeout} {
		*d = span.Capped(*d)
	}
	return o
}

func (o WorkerOptions) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &InvalidError{What: "WorkerOptions." + field, Value: fmt.Sprint(value),
			Remedy: remedy})
	}
	if err := validateNamespace(o.Namespace); err != nil {
		mistakes = append(mistakes, fmt.Errorf("WorkerOptions.Namespace: %w", err))
	}
	if err := validateService(o.Service); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := needs.Check("WorkerOptions.Labels", o.Labels, needs.MostOfWorker); err != nil {
		mistakes = append(mistakes, asInvalid(err))
	}
	if o.MaxCrashes < defaultMaxCrashes {
		refuse("MaxCrashes", o.MaxCrashes,
			"give 3 or more: with fewer, innocent jobs that shared a worker with a deadly one are buried with it")
	}
	o.validateLife(refuse)
	o.validateReplicas(refuse)
	if o.MorgueRetention < 0 {
		refuse("MorgueRetention", o.MorgueRetention, "give a positive duration, or 0 for 180 days")
	}
	if o.MorgueLimit < 0 {
		refuse("MorgueLimit", o.MorgueLimit, "give a positive number, or 0 for 1,000,000")
	}
	if o.MaxArgsSize < 0 {
		refuse("MaxArgsSize", o.MaxArgsSize, "give a positive number of bytes, or 0 for the default")
	}
	if o.ObjectGrace < 0 || o.ObjectGrace > 0 && o.ObjectGrace < time.Millisecond {
		refuse("ObjectGrace", o.ObjectGrace, "give a millisecond or more, or 0 for an hour")
	}
	if o.Prefetch < NoPrefetch || o.Prefetch > maxPrefetch {
		refuse("Prefetch", o.Prefetch, fmt.Sprintf("give 0 to %d, or NoPrefetch", maxPrefetch))
	}
	for i, observer := range o.Observers {
		function, isFunction := observer.(ObserverFunc)
		if observer == nil || isFunction && function == nil {
			refuse("Observers", fmt.Sprintf("nil at index %d", i), "leave it out")
		}
	}
	for _, name := range o.EnqueueNames {
		if err := validateName(name); err != nil {
			mistakes = append(mistakes, fmt.Errorf("WorkerOptions.EnqueueNames: %w", err))
		}
	}
	for i, m := range o.EnqueueMiddleware {
		if m == nil {
			refuse("EnqueueMiddleware", fmt.Sprintf("nil at index %d", i), "leave it out")
		}
	}
	return mistakes
}

// validateReplicas checks what is about replicas of Redis.
func (o WorkerOptions) validateReplicas(refuse func(field string, value any, remedy string)) {
	switch {
	case o.WaitReplicas < 0:
		refuse("WaitReplicas", o.WaitReplicas, "give one or more, or 0 to wait for none")
	case o.WaitTimeout < 0 || o.WaitTimeout > maxReplicaWait:
		refuse("WaitTimeout", o.WaitTimeout, "give up to a minute, or 0 for a second")
	case o.WaitTimeout > 0 && o.WaitReplicas == 0:
		refuse("WaitTimeout", o.WaitTimeout, "set WaitReplicas as well, or leave it out")
	}
}

// validateLife checks what is about the life of the pool and of its workers.
func (o WorkerOptions) validateLife(refuse func(field string, value any, remedy string)) {
	if o.HeartbeatLife < liveness.MinLife || o.HeartbeatLife > liveness.MaxLife {
		refuse("HeartbeatLife", o.HeartbeatLife,
			fmt.Sprintf("give %s to %s, or 0 for %s", liveness.MinLife, liveness.MaxLife, liveness.Life))
	} else if least := 2 * liveness.BeatsOf(o.HeartbeatLife).Interval; o.FenceAfter < 0 || o.FenceAfter > 0 &&
		o.FenceAfter < least {
		refuse("FenceAfter", o.FenceAfter,
			fmt.Sprintf("give %s or more, which is two heartbeats, up to %s, the HeartbeatLife, if handlers are to"+
				" end before others begin their jobs; or 0 for never", least, o.HeartbeatLife))
	}
	if o.IdleTimeout < 0 || o.IdleTimeout > 0 && o.IdleTimeout < minIdleTimeout {
		refuse("IdleTimeout", o.IdleTimeout, fmt.Sprintf("give %s or more, or 0 for never", minIdleTimeout))
	}
}

// JobOptions says how the jobs of one name are run. The zero value of each field is its default; options given at the
// enqueue beat these. A duration of more than 100 years is one of 100 years.
type JobOptions struct {
	// weight of the queue, 1 to 100,000; 0 is 1. Twice the weight, twice the share
	Priority   int
	Retries    int                             // attempts after the first; 0 is 25, negative is none
	Backoff    func(*Job, error) time.Duration // how long to wait after a failure; default DefaultBackoff
	Timeout    time.Duration                   // after which the ctx of an attempt ends; 0 is never
	SkipMorgue bool                            // drop jobs that are out of retries instead of burying them
	Retention  time.Duration                   // how long results, and what became of the job, are kept; 0 keeps none
	OmitArgs   bool                            // what is kept of a job that has ended is without its args
	Limit      Limit                           // over all workers; the zero value is no limit
	MaxRunning int                             // how many this pool runs at once; 0 is not limited
	Together   Together                        // the handler takes so many at once; the zero value is one by one

	// Queue has the jobs wait in a queue of that name, with those of all names that give the same: in one order, under
	// one Priority, Limit and MaxRunning (given with one of the names, or the same with all), and paused together. It
	// is no name of a job. A worker runs those it has a handler for; the others wait for one that has, aside, and in
	// nobody's way. In history, events, search and what locks and results go by they keep their name. The pool that was
	// started last decides, also for Enqueuers that run already; default the queue is called by the name, and has no
	// others. It cannot be beside PerKey, Ordered and Together, nor in a namespace that has several partitions.
	Queue string

	// PerKey is how many jobs of each Key may run at once, and begin in a time, over all workers; the zero value is no
	// limit. Jobs without a key do not count. A job that may not begin waits aside until it may, and costs nothing
	// meanwhile; jobs of other keys go on.
	PerKey Limit
	// Ordered has the jobs of each Key run one after the other: the next begins when the last has ended, in the order
	// of their enqueue, or of when they became due. A job that failed, was put off by Snooze or Release, or is stalled
	// keeps the others of its key waiting until it has ended. So does one whose worker died. After one that died, in
	// the morgue or dropped, the next goes on. Jobs without a key are not ordered; Front, and what is done by hand,
	// may change the order of what waits. Default false.
	Ordered bool
	// RetryAtBack lets the others of an Ordered key go on while a job waits for another attempt. It goes to the back of
	// its key then. Default false.
	RetryAtBack bool
	// StopAtDeath keeps an Ordered key waiting with a job of it that is in the morgue, until somebody has retried or
	// deleted it. Default false.
	StopAtDeath bool

	RetryFor time.Duration // no attempt is due later than that after the first failure; 0 is no limit
	// tells that an error will not go away, so the job dies at once; nil is never. Many ask at a time
	Permanent func(error) bool
	// of the jobs that this pool's Enqueuer stores, or any by its Kind, unless they have their own; nil is none, but
	// for args with fields that are tagged as unique
	Unique *UniqueOptions
	// StrictArgs refuses args with a field that the handler's struct does not have: this pool's Enqueuer stores none,
	// and a worker buries one that comes, with an *ArgumentError that names the field. Default: such a field is
	// ignored, so that enqueuers may be deployed before workers. A type's own UnmarshalJSON decides for itself.
	StrictArgs bool

	// Codecs are those of the jobs of this name, and of any Kind that is defined so, instead of those of the pool or of
	// the Enqueuer. Default theirs.
	Codecs []Codec

	// OnDeath is told of each job that dies, by the worker that had it and after Redis took note of it: one that is out
	// of retries or time (in the morgue, or dropped by SkipMorgue), was buried by Bury, has a permanent error, a record
	// or args that cannot be used, or too many crashes. The error is that of its last attempt, or says why there was
	// none. It is called in a goroutine of its own, many at a time, and has 5 seconds until its ctx ends. It is called
	// once: not again if it panics, or if the worker dies just then.
	OnDeath func(ctx context.Context, job *Job, err error)
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
	for _, d := range []*time.Duration{&o.Timeout, &o.Retention, &o.RetryFor} {
		*d = span.Capped(*d)
	}
	return o
}

func (o JobOptions) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &InvalidError{What: "JobOptions." + field, Value: fmt.Sprint(value),
			Remedy: remedy})
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
	if o.MaxRunning < 0 {
		refuse("MaxRunning", o.MaxRunning, "give a positive number, or 0 for no limit")
	}
	if o.Ordered && o.PerKey.Concurrent > 1 {
		refuse("Ordered", fmt.Sprintf("true beside a PerKey.Concurrent of %d", o.PerKey.Concurrent),
			"leave one of both out: in order only one job of a key can run")
	}
	if !o.Ordered && o.RetryAtBack {
		refuse("RetryAtBack", true, "set Ordered as well, or leave it out")
	}
	if !o.Ordered && o.StopAtDeath {
		refuse("StopAtDeath", true, "set Ordered as well, or leave it out")
	}
	if o.StopAtDeath && o.SkipMorgue {
		refuse("StopAtDeath", "true beside SkipMorgue",
			"leave one of both out: what is dropped cannot be decided about")
	}
	if o.RetryFor < 0 {
		refuse("RetryFor", o.RetryFor, "give a positive duration, or 0 for no limit")
	}
	o.Together.validate(o.Ordered, refuse)
	if o.Unique != nil {
		if err := o.Unique.validate(); err != nil {
			mistakes = append(mistakes, fmt.Errorf("JobOptions.Unique: %w", err))
		}
	}
	return mistakes
}

// defaultObjectCache is how many bytes of objects a pool keeps.
const defaultObjectCache = 64 << 20

// and are the options of a queue as one more of its names gives them. What was given before, and otherwise, is a
// mistake.
func (o JobOptions) and(more JobOptions) (JobOptions, error) {
	refuse := func(field string, value, before any) error {
		return &InvalidError{What: "JobOptions." + field,
			Value: fmt.Sprintf("%v, while another job of queue %s has %v", value, excerpt.Brief(more.Queue), before),
			Remedy: "give it with one of the jobs of the queue, or the same with all: it holds for all of them " +
				"together"}
	}
	switch {
	case o.Priority > 1 && more.Priority > 1 && o.Priority != more.Priority:
		return o, refuse("Priority", more.Priority, o.Priority)
	case o.Limit != Limit{} && more.Limit != Limit{} && o.Limit != more.Limit:
		return o, refuse("Limit", more.Limit, o.Limit)
	case o.MaxRunning > 0 && more.MaxRunning > 0 && o.MaxRunning != more.MaxRunning:
		return o, refuse("MaxRunning", more.MaxRunning, o.MaxRunning)
	}
	o.Priority, o.MaxRunning = max(o.Priority, more.Priority), max(o.MaxRunning, more.MaxRunning)
	if o.Limit == (Limit{}) {
		o.Limit = more.Limit
	}
	return o, nil
}

// checkQueue is what is wrong with the queue that the jobs of a name are to share with others.
func (o *JobOptions) checkQueue(name string) error {
	refuse := func(value, remedy string) error {
		return &InvalidError{What: "JobOptions.Queue", Value: value, Remedy: remedy}
	}
	switch {
	case o.Queue == "":
		return nil
	case o.Queue == name:
		return refuse(excerpt.Brief(name)+", which is the name of the job itself",
			"give the queue a name that no job has, or leave it out")
	case o.keyRule() != (rdb.KeyRule{}):
		return refuse("given beside PerKey or Ordered", "leave one of both out: a job that a worker without its "+
			"handler hands on leaves the others of its key")
	case o.Together.Most > 0:
		return refuse("given beside Together", "leave one of both out: what is taken together is of one name")
	}
	if err := validateName(o.Queue); err != nil {
		return fmt.Errorf("JobOptions.Queue: %w", err)
	}
	return nil
}
