// Package event is what a worker pool tells its observers: one struct for each thing that happens. It imports nothing
// of the framework, so that every part of it can tell what happens there; a program gets the events through
// work.WorkerOptions.Observers. Values are handed to many observers at once: nobody changes what they point to.
package event

import (
	"encoding/json"
	"time"
)

// Event is something that happened. The set of events is closed: each is one of the structs of this file, by value.
type Event interface{ event() }

// WorkerStarted is sent when a worker is registered and begins to fetch. Events of what it has fetched since may come
// before it: they are sent by other goroutines.
type WorkerStarted struct {
	Worker      string
	Concurrency int
	Queues      []string
	Partition   int // of the namespace; 0 where it is not divided
}

// WorkerStopped is sent when a worker has stopped.
type WorkerStopped struct {
	Worker string
	Err    error // *StopError when it could not stop in good order
}

// PoolIdle is sent when a pool begins to stop by itself, since it had nothing to do for WorkerOptions.IdleTimeout.
type PoolIdle struct {
	Worker string        // the first of its workers
	Idle   time.Duration // since one of them held a job, or the start
}

// WorkerTold is sent when a worker learns what somebody wants of it: see Inspector.PauseWorker.
type WorkerTold struct {
	Worker string
	Wanted string // "pause", "quiet", "stop", "now" (a stop at once), or "" to go on
}

// LimitChanged is sent when a pool starts whose limit for a name is another one than was declared before. The later one
// wins: where two programs declare different limits for one name, each start of one sends this.
type LimitChanged struct {
	Name                   string
	Limit, Former          string // as declared now, and before; see Limit.String
	Service, FormerService string
}

// WorkerFenced is sent when a worker learns that it was declared dead. It goes on under a new id.
type WorkerFenced struct {
	Worker string
	Next   string // the new id
	Jobs   int    // how many running jobs got ErrFenced
}

// WorkerCutOff is sent when no heartbeat of a worker was answered for as long as WorkerOptions.FenceAfter: the ctx of
// what it ran has ended with ErrFenced. It begins nothing more until a heartbeat is answered.
type WorkerCutOff struct {
	Worker string
	// since the last heartbeat that was answered was sent; longer than FenceAfter after a pause of the process
	Silence time.Duration
	Jobs    int // how many jobs it held
}

// JobStarted is sent before the handler of an attempt is called.
type JobStarted struct {
	JobRef
	Waited time.Duration // since it was due
}

// JobCheckedIn is sent when a job calls Checkin or Progress, before the call returns.
// Most of what is said so never reaches Redis, which is told the last of it within a second.
type JobCheckedIn struct {
	JobRef
	Message  string          // of Checkin, as Redis would get it; empty for a Progress
	Progress json.RawMessage // of Progress; nil for a Checkin
}

// StepKind is what kind of thing a StepDone is about.
type StepKind string

// The kinds.
const (
	StepKindStep    StepKind = "step"    // work.Step has succeeded, and is stored
	StepKindSleep   StepKind = "sleep"   // work.Sleep is over
	StepKindMessage StepKind = "message" // work.Receive has a message, or its time has passed
)

// StepDone is sent when a step of a job is done, or a wait of it is over, and Redis has it; not again by the attempts
// that follow.
type StepDone struct {
	JobRef
	Step    string // its name
	Kind    StepKind
	Elapsed time.Duration // in the function of a step; 0 for a wait
	Bytes   int           // of the JSON that is kept
}

// WaitIgnored is sent when a handler was told by work.Sleep or work.Receive that its job has to wait, and has returned
// something else than that error. The job waits all the same: see work.ErrWaiting.
type WaitIgnored struct {
	JobRef
	Step string // the name of the wait
	Err  error  // what the handler returned; nil for none
}

// JobDone is sent when handler and middleware returned without error, before Redis knows of it: like every outcome it
// is sent to Redis right after its event, and a [ClaimGone] follows if it did not count, or an [OutcomeUnknown].
type JobDone struct {
	JobRef
	Elapsed time.Duration // in middleware and handler
}

// BatchEnded is sent when the handler of jobs that are taken together has returned, after the events of all of them.
type BatchEnded struct {
	Worker, Name string
	Jobs         int           // that it had begun with
	Elapsed      time.Duration // in middleware and handler
	Err          error         // what came of it: the error of those jobs of which the handler had said nothing
}

// FailureKind is what kind of failure an attempt ended with. The zero value is any that is not told apart.
type FailureKind string

// FailureTimeout is the kind of an attempt that failed when its Timeout had passed or its Deadline had come: the error
// is a *work.TimeoutError.
const FailureTimeout FailureKind = "timeout"

// JobFailed is sent when an attempt failed and will be retried; before Redis knows of it, as [JobDone] is.
type JobFailed struct {
	JobRef
	Elapsed time.Duration
	Err     error         // *PanicError with its stack after a panic
	RetryIn time.Duration // until the next attempt is due
	Failure FailureKind
}

// JobBuried is sent when a job goes to the morgue: by Bury, out of retries, with args that do not fit its handler, with
// a record that cannot be read, or after too many crashes. It is sent before Redis knows of it, as [JobDone] is.
type JobBuried struct {
	JobRef
	Reason string // one sentence, at most 1 KiB, as it stands in the morgue
	Err    error  // nil when there was no attempt: a record that cannot be read, too many crashes

	Failure FailureKind // of the attempt with which it died
}

// JobDiscarded is sent when a job is dropped: by Discard, or out of retries with SkipMorgue.
type JobDiscarded struct {
	JobRef
	Err error // what its handler returned

	Failure FailureKind // of the attempt with which it died; none by Discard
}

// JobExpired is sent when a job is dropped because it has not begun in time: see work.ExpireIn.
type JobExpired struct {
	JobRef
	At time.Time // when it should have begun
}

// DeathHookFailed is sent when JobOptions.OnDeath panicked, ended its goroutine, or did not return within 5 seconds.
type DeathHookFailed struct {
	JobRef
	Err error // *PanicError, *GoexitError, or why it is not waited for any longer
}

// JobCancelled is sent when a job ends because somebody has cancelled it: when it is fetched, or when its attempt is
// over, whatever its handler returned. An event that told of that attempt before (JobDone, JobFailed, ...) did not
// count then.
type JobCancelled struct{ JobRef }

// JobSnoozed is sent when a handler returned Snooze, or Release outside a stop; and when its job waits by work.Sleep or
// work.Receive: then Err is work.ErrWaiting and says for what.
type JobSnoozed struct {
	JobRef
	For time.Duration // until it is due again; the job has used no attempt
	Err error         // what its handler returned
}

// JobReleased is sent when a job is given back to the front of its queue without having used an attempt: the pool stops
// and it was not begun, returned Release, gave up because its ctx ended, or did not return; or its worker was declared
// dead and it gave up.
type JobReleased struct {
	JobRef
	Err error // what its handler returned; nil if it was not called or has not returned
}

// JobStuck is sent when a handler has not returned although its ctx ended: 5 seconds before with ErrTimeout, ErrFenced
// or ErrCancelled, one second before with ErrShutdown, when its job is given back. Its processor stays taken until it
// returns.
type JobStuck struct {
	JobRef
	Cause error // ErrTimeout, ErrShutdown, ErrFenced or ErrCancelled
}

// ClaimGone is sent when the outcome of an attempt did not count, because the job had been given to another worker, or
// Redis has forgotten it. The attempt's own event, such as [JobDone], came before.
type ClaimGone struct {
	JobRef
	Unaccounted bool // because Redis has lost its data, so that nobody knows whether the job runs again
}

// OutcomeUnknown is sent when nobody can tell whether the outcome of an attempt counted: Redis did not answer, this
// worker was declared dead, and what was taken from it then is not known any more. It counts nowhere, and OnDeath is
// not called. The attempt's own event, such as [JobDone], came before.
type OutcomeUnknown struct{ JobRef }

// JobsFetched is sent when a fetch was answered, after its jobs were given to the processors: one event for all of
// them, and none for a look that asked for no job.
type JobsFetched struct {
	Worker string
	Jobs   int // that Redis gave
	Asked  int // for how many it was asked
}

// JobsSettled is sent when Redis has acknowledged outcomes: one event for all that went in one round trip, and none
// when it acknowledged nothing. Those that did not count, see [ClaimGone] and [OutcomeUnknown], are among them.
type JobsSettled struct {
	Worker string
	Jobs   int
}

// HistoryTold is sent when Redis has taken what a worker has counted for Inspector.History and Inspector.Errors:
// once a second at the most. Each name costs Redis 30 to 50 microseconds, each group of errors about 10.
type HistoryTold struct {
	Worker        string
	Names, Errors int           // of how many names and groups of errors it told
	Waiting       int           // names that have something to tell and are told later
	Every         time.Duration // how often each name is told with that many
}

// JobsDropped is sent when ids were found in a queue that have no record, or that are claimed already.
type JobsDropped struct{ Count int }

// KeyBroken is sent when a key in Redis has a type that it should not have. What needs it waits, all else goes on.
type KeyBroken struct{ Key string }

// WorkerReaped is sent when the jobs of a dead worker were put back.
type WorkerReaped struct {
	Worker string // the dead one
	Jobs   int    // that this worker put back; others may have helped
}

// JobsReturned is sent when claims were found that nobody holds, and were given back.
type JobsReturned struct {
	Worker string // that had claimed them
	Jobs   int
}

// JobTrimmed is sent when a job was removed from the morgue, because of its age or of the morgue's size.
type JobTrimmed struct{ ID, Name string }

// FlowStored is sent when a call of package flow has stored a flow whole, so that it runs. A store that was cut off,
// and one of a flow that was there already, are not told.
type FlowStored struct {
	Flow string // its id
	Jobs int    // how many members it has
}

// FlowEnd is how a flow has ended.
type FlowEnd string

// How flows end.
const (
	FlowDone      FlowEnd = "done"      // all members are done
	FlowDead      FlowEnd = "dead"      // some are not
	FlowCancelled FlowEnd = "cancelled" // as a whole
)

// FlowEnded is sent when a flow has ended, by the pool or the Enqueuer whose call to Redis has ended it: most often by
// the worker that ran its last member. It is told once for each generation, or not at all: where that call had no
// answer, and where a program did it that has no observers, a command for instance. What must happen at the end of a
// flow is a job of its OnDone or OnDeath. Of flows that are in others it tells as well, also of one that is cancelled
// before its turn.
type FlowEnded struct {
	Flow       string // its id
	How        FlowEnd
	Generation int           // 1, and one more with each time it was opened again
	Jobs       int           // how many members it has
	Took       time.Duration // since it was stored whole, or began in its turn; 0 of one whose turn never came
}

// FlowReopened is sent when a call of flow.Retry has opened a flow again that had ended.
type FlowReopened struct{ Flow string }

// QueueDestroyed is sent when a queue was destroyed whose date had come, by the worker that came to its end.
type QueueDestroyed struct {
	Name      string
	Jobs      int  // that this worker removed in its last turn; others may have removed more before
	Forgotten bool // it is in no list any more; false where jobs were enqueued meanwhile
}

// PeriodicEnqueued is sent when the job of a tick was enqueued, by the worker that did.
type PeriodicEnqueued struct {
	Schedule string    // its id
	Name     string    // of the job
	Tick     time.Time // at which it was due
	ID       string    // of the job
	RunAt    time.Time // the tick, and its jitter
}

// PeriodicMissed is sent when ticks were missed: no worker was there, or Redis was away. For those that are made up
// for, a [PeriodicEnqueued] comes as well.
type PeriodicMissed struct {
	Schedule, Name string
	Ticks          int       // how many; 1000 is that many or more
	Since          time.Time // the first of them
	Until          time.Time // up to which the schedule has moved on
}

// PeriodicSkipped is sent when a tick is left out because the job of the last one has not ended: see OverlapSkip.
type PeriodicSkipped struct {
	Schedule, Name string
	Tick           time.Time
	Job            string // the one that has not ended
}

// PeriodicChanged is sent when a pool starts whose declaration of a schedule is another one than that in Redis. The
// later one wins: where two programs declare one id in different ways, each start of one sends this.
type PeriodicChanged struct {
	Schedule                  string
	Spec, Service             string // as declared now
	FormerSpec, FormerService string // as it was
}

// PeriodicRemoved is sent when a schedule was removed that no worker of its service declares any more.
type PeriodicRemoved struct{ Schedule, Service string }

// PeriodicBroken is sent when a schedule in Redis cannot be understood, by each worker that comes to do the
// maintenance. The others go on.
type PeriodicBroken struct {
	Schedule string
	Err      error
}

// ServerUnfit is sent when a pool starts on a Redis whose settings put jobs at risk.
type ServerUnfit struct {
	Problem, Remedy string
	Partition       int // of the namespace, which that server has
}

// PartitionJoined is sent when a pool that runs has begun to work in a partition of its namespace: one that is new, or
// did not answer before. For those that it begins with there is a [WorkerStarted].
type PartitionJoined struct {
	Partition int
	Worker    string // the first of the pool there
}

// PartitionLeft is sent when a pool that runs has stopped working in a partition, since that was closed.
type PartitionLeft struct {
	Partition int
	Err       error // *StopError when its workers could not stop in good order
}

// Trouble is sent when background work begins to fail, once until it succeeds again.
type Trouble struct {
	Component string // "fetcher", "settler", "heartbeater", ...
	Err       error
}

// TroubleOver is sent when background work succeeds again.
type TroubleOver struct {
	Component string
	After     time.Duration
	Failures  int
}

// LoopPanicked is sent when background work of this package panicked, which is a bug of ours. It is started again. (The
// panic of a handler is a [JobFailed], that of an Observer is in the log.)
type LoopPanicked struct {
	Component string
	Value     any
	Stack     string
}

func (WorkerStarted) event()    {}
func (WorkerStopped) event()    {}
func (PoolIdle) event()         {}
func (WorkerTold) event()       {}
func (LimitChanged) event()     {}
func (WorkerFenced) event()     {}
func (WorkerCutOff) event()     {}
func (DataLost) event()         {}
func (JobStarted) event()       {}
func (JobCheckedIn) event()     {}
func (JobDone) event()          {}
func (JobFailed) event()        {}
func (JobBuried) event()        {}
func (JobDiscarded) event()     {}
func (JobSnoozed) event()       {}
func (StepDone) event()         {}
func (WaitIgnored) event()      {}
func (JobReleased) event()      {}
func (JobStuck) event()         {}
func (ClaimGone) event()        {}
func (OutcomeUnknown) event()   {}
func (JobsFetched) event()      {}
func (JobsSettled) event()      {}
func (HistoryTold) event()      {}
func (JobsDropped) event()      {}
func (KeyBroken) event()        {}
func (WorkerReaped) event()     {}
func (JobsReturned) event()     {}
func (JobTrimmed) event()       {}
func (QueueDestroyed) event()   {}
func (FlowStored) event()       {}
func (FlowEnded) event()        {}
func (FlowReopened) event()     {}
func (PeriodicEnqueued) event() {}
func (PeriodicMissed) event()   {}
func (PeriodicSkipped) event()  {}
func (PeriodicChanged) event()  {}
func (PeriodicRemoved) event()  {}
func (PeriodicBroken) event()   {}
func (ServerUnfit) event()      {}
func (PartitionJoined) event()  {}
func (PartitionLeft) event()    {}
func (Trouble) event()          {}
func (TroubleOver) event()      {}
func (LoopPanicked) event()     {}
func (BatchEnded) event()       {}
func (JobCancelled) event()     {}
func (JobExpired) event()       {}
func (DeathHookFailed) event()  {}
