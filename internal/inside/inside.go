// Package inside gives the packages beside the root what is inside of it, which programs do not see: the store of a
// pool, of an enqueuer or of an inspector, and what the root makes of errors. Each owner sets its functions when its
// package is initialised; whoever asks imports that package, so that it has been.
package inside

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/subscription"
	"github.com/265d0351/work/internal/waiting"
	"github.com/265d0351/work/internal/workgroup"
	"github.com/265d0351/work/objects"
)

// Of is what is inside.
type Of struct {
	Partitions  *partition.Directory // nil where there is no Store
	Store       *rdb.Store           // of the first partition
	MorgueLimit int                  // how many dead jobs the pools of the namespace keep, as far as is known
	Unusable    error                // why there is no store, which each call returns

	Parts
}

// Parts are what the tests of the engine look at, and set before the start. Those of a worker are the first one's, and
// there once the pool has started.
type Parts struct {
	Times     *Times           // of a pool
	Workers   []string         // the names in Redis of the workers that the pool has now
	Leased    bool             // the worker has the lease on maintenance
	Slots     *workgroup.Slots // of the worker
	Periodics *maintain.PeriodicEnqueuer
	Waiter    *subscription.Waiter // of the worker
	Stopping  bool                 // the last of the workers has heard of a stop
	Clock     *redisclock.Clock    // of a pool or an enqueuer
	Cache     *objects.Cache       // of a pool that has been opened
	Waiters   *waiting.Waiters     // of an enqueuer
}

// Times are how often the parts of a pool do what they do, how long they wait, and how many may. Nobody changes them
// but tests, before the start.
type Times struct {
	Stuck     time.Duration // after which a handler that should have returned is reported
	Hook      time.Duration // that OnDeath may take
	Park      time.Duration // after which an outcome that was refused is sent again
	Tidy      time.Duration // between two rounds of the janitor
	DueRest   time.Duration // that those who move what is due rest at the most
	Survey    time.Duration // in which each worker asks about all names that it serves
	ScaleLook time.Duration // between two looks at who is idle
	ScaleIdle time.Duration // after which an idle worker leaves

	Waiting int // so many handlers of a worker may wait for other jobs at once
}

// What package work sets.
var (
	Pool     func(pool any) Of     // looks into a *work.WorkerPool, which need not be started
	Enqueuer func(enqueuer any) Of // looks into a *work.Enqueuer
	// AsInvalid makes an *invalid.Error, or one below err, a *work.InvalidError. The text stays.
	AsInvalid func(err error) error
	// Prepare checks and encodes a work.Entry that is stored some time later by somebody else.
	Prepare func(entry any) (rdb.NewJob, error)
	// Accepts tells whether a *work.Enqueuer would store a job with that name and args: an invalid one is refused for
	// good, while an err says that nobody knows now.
	Accepts func(ctx context.Context, enqueuer any, name string, args []byte) (refusal, err error)
)

// Inspector looks into an *inspect.Inspector. Package inspect sets it.
var Inspector func(inspector any) Of
