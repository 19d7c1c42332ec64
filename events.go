package work

import "time"

// Event is something that happened. The set of events is closed: each is one of the structs of this file, by value.
type Event interface{ event() }

// WorkerStarted is sent when a worker is registered and begins to fetch.
type WorkerStarted struct {
	Worker      string
	Concurrency int
	Queues      []string
}

// WorkerStopped is sent when a worker has stopped.
type WorkerStopped struct {
	Worker string
	Err    error // *StopError when it could not stop in good order
}

// WorkerFenced is sent when a worker learns that it was declared dead. It goes on under a new id.
type WorkerFenced struct {
	Worker string
	Next   string // the new id
	Jobs   int    // how many running jobs got ErrFenced
}

// DataLost is sent when Redis has forgotten what it knew (it was flushed, or restarted without its data).
type DataLost struct {
	Worker string
	Held   int // jobs that this worker holds and Redis may not know any more

	Restored int   // how many of them were stored again: see WorkerOptions.RestoreRunning
	Err      error // why not all of them could be
}

// JobStarted is sent before the handler of an attempt is called.
type JobStarted struct {
	JobRef
	Waited time.Duration // since it was due
}

// JobDone is sent when handler and middleware returned without error, before Redis knows of it: like every outcome it is
// sent to Redis right after its event, and a [ClaimGone] follows if it did not count.
type JobDone struct {
	JobRef
	Elapsed time.Duration // in middleware and handler
}

// JobFailed is sent when an attempt failed and will be retried.
type JobFailed struct {
	JobRef
	Elapsed time.Duration
	Err     error         // *PanicError with its stack after a panic
	RetryIn time.Duration // until the next attempt is due
}

// JobBuried is sent when a job goes to the morgue: by Bury, out of retries, with args that do not fit its handler, with a
// record that cannot be read, or after too many crashes.
type JobBuried struct {
	JobRef
	Reason string // one sentence, at most 1 KiB, as it stands in the morgue
	Err    error  // nil when there was no attempt: a record that cannot be read, too many crashes
}

// JobDiscarded is sent when a job is dropped: by Discard, or out of retries with SkipMorgue.
type JobDiscarded struct {
	JobRef
	Err error // what its handler returned
}

// JobSnoozed is sent when a handler returned Snooze, or Release outside a stop.
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

// JobStuck is sent when a handler has not returned although its ctx ended: 5 seconds before with ErrTimeout or ErrFenced,
// one second before with ErrShutdown, when its job is given back. Its processor stays taken until it returns.
type JobStuck struct {
	JobRef
	Cause error // ErrTimeout, ErrShutdown or ErrFenced
}

// ClaimGone is sent when the outcome of an attempt did not count, because the job had been given to another worker, or
// Redis has forgotten it. The attempt's own event, such as [JobDone], came before.
type ClaimGone struct {
	JobRef
	Unaccounted bool // because Redis has lost its data, so that nobody knows whether the job runs again
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

// ServerUnfit is sent when a pool starts on a Redis whose settings put jobs at risk.
type ServerUnfit struct{ Problem, Remedy string }

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

func (WorkerStarted) event() {}
func (WorkerStopped) event() {}
func (WorkerFenced) event()  {}
func (DataLost) event()      {}
func (JobStarted) event()    {}
func (JobDone) event()       {}
func (JobFailed) event()     {}
func (JobBuried) event()     {}
func (JobDiscarded) event()  {}
func (JobSnoozed) event()    {}
func (JobReleased) event()   {}
func (JobStuck) event()      {}
func (ClaimGone) event()     {}
func (JobsDropped) event()   {}
func (KeyBroken) event()     {}
func (WorkerReaped) event()  {}
func (JobsReturned) event()  {}
func (JobTrimmed) event()    {}
func (ServerUnfit) event()   {}
func (Trouble) event()       {}
func (TroubleOver) event()   {}
func (LoopPanicked) event()  {}
