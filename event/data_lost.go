package event

// DataLost is sent when Redis has forgotten what it had acknowledged: all of it (it was flushed, or restarted without
// its data), or what came last (a replica took over that had not got it yet). Whoever remembers more than Redis notices
// it: each worker of a pool, and each Enqueuer, tells what it knows of, once for one loss unless more is found later.
type DataLost struct {
	Worker string // empty where an Enqueuer noticed

	// numbers went back: a replica took over that lacked the last writes. Otherwise everything is gone.
	Failover bool

	Held      int // jobs that this worker holds; ErrFenced ends those that somebody else has run since
	Restored  int // how many of them were stored again; without Failover see WorkerOptions.RestoreRunning
	Reclaimed int // how many of them stood in their queue again, and were claimed again: they do not run twice
	Outcomes  int // acknowledged outcomes that Redis forgot: these jobs begin again

	// ids of jobs that were acknowledged to this program and are not there any more, at most MaxLostIDs of them, oldest
	// first. Some may have begun, or ended, before.
	Enqueued     []string
	EnqueuedMore int // how many more

	// ids of flows of which the same is true, at most MaxLostIDs, oldest first: the same store does it again. One that
	// a program has added a member to is not among them, and the member is in Enqueued.
	Flows     []string
	FlowsMore int // how many more

	Err error // why not all that is held could be stored again
}

// MaxLostIDs is how many ids one DataLost names at the most.
const MaxLostIDs = 1000
