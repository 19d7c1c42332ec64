// Package maintain is what only one worker of a namespace does, the holder of the lease: moving jobs as they become
// due (DueMover), enqueueing what is periodic (PeriodicEnqueuer), and cleaning up (Janitor). Two at a time would do no
// harm: every script looks whether there is still something to do.
//
// A pool starts them in each of its workers and tells them what heartbeats and hints say. They know nothing of pools,
// workers or handlers, and never run a job.
package maintain

import (
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// Env is what they are given.
type Env struct {
	Store     *rdb.Store
	Emit      func(event.Event)
	Now       func() time.Time // what the clock of Redis shows, as far as is known
	Heartbeat time.Duration    // how often news comes by heartbeats
	Homes     Homes            // what lives there; nil where the namespace is not divided
	Away      func()           // tells the AwayMover, if there is one
}

// callTimeout bounds what is done in one go.
const callTimeout = 10 * time.Second
