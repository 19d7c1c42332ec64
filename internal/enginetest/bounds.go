package enginetest

import "time"

// What the root takes, which its own tests compare.
const (
	DrainInterval = 50 * time.Millisecond // between two looks of a drain at the most
	LookInterval  = time.Second           // between two looks at whose heartbeats are overdue
	DoubtFor      = 10 * time.Second      // in which deadlines that are far away are not believed
	FleetOf       = 1_000                 // workers are a large fleet
)

// What errors say that the root does not export, which its own tests compare as well.
const (
	FencedMeanwhile = "this worker goes on under a new id: what it serves is told once more"
	HookLate        = "OnDeath has not returned within 5s: its ctx has ended, and it is not waited for any longer"
	ListedWrongly   = "jobs of a withdrawn name are listed with this worker that it does not hold"
	NextCalledTwice = "next was called twice, it runs the job and may be called once"
	NextEntries     = "next was given another number of entries: give it as many as the middleware got, in " +
		"the same order"
	NextNilContext = "next was called with a nil context, give it the one that the middleware got"
	NextNotCalled  = "it returned nil without calling next: call it, or return an error that says why " +
		"nothing is stored"
	NextTooLate    = "next was called after the middleware had returned"
	NextUnfinished = "next was still running when the middleware returned nil, wait for it"
)
