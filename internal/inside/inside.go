// Package inside gives the packages beside the root what is inside of it, which programs do not see: the store of a
// pool, of an enqueuer or of an inspector, and what the root makes of errors. Each owner sets its functions when its
// package is initialised; whoever asks imports that package, so that it has been.
package inside

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/requeue"
	"github.com/265d0351/work/internal/schedule"
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
	Emit        func(event.Event)    // tells the observers of an enqueuer, or of its pool; nil of others
	Passes      bool                 // what is enqueued goes through middleware
	Intake      *intake.Intake       // of an enqueuer; nil of others

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
	Requeued  *requeue.Order       // whose turn it is to give jobs back, in the first partition of a pool
	Serving   []string             // the queues that a pool serves now
	Spared    bool                 // the worker leaves heartbeats out

	Declared      func() *schedule.Declared       // the schedules that the code of a pool declares
	DeclareLimits func(ctx context.Context) error // declares all limits of a pool once more
	Register      func(ctx context.Context) error // registers the worker once more
	Forget        func()                          // has the worker believe that Redis may have lost all that it fetched
}

// Times are how often the parts of a pool do what they do, how long they wait, and how many may. Nobody changes them
// but tests, before the start.
type Times struct {
	Start     time.Duration // that a start may take
	Undo      time.Duration // that it may take to remove what a start that failed has left
	Stuck     time.Duration // after which a handler that should have returned is reported
	Hook      time.Duration // that OnDeath may take
	Park      time.Duration // after which an outcome that was refused is sent again
	Tidy      time.Duration // between two rounds of the janitor
	DueRest   time.Duration // that those who move what is due rest at the most
	Survey    time.Duration // in which each worker asks about all names that it serves
	Stalled   time.Duration // after which others go on with a change of the partitions that has come no further
	ScaleLook time.Duration // between two looks at who is idle
	ScaleIdle time.Duration // after which an idle worker leaves
	Ahead     time.Duration // that what was fetched ahead waits for a processor

	Fleet   int  // so many workers are a large fleet
	Hasty   bool // batches of jobs that are taken together wait for no others
	Waiting int  // so many handlers of a worker may wait for other jobs at once

	Result func(id string, result []byte) // is told what a handler has returned, as JSON, before that is settled
}

// Defaults are what is taken where a program sets nothing.
type Defaults struct {
	Pool           any // a work.WorkerOptions
	Job            any // a work.JobOptions
	Namespace      string
	EnqueueTimeout time.Duration
}

// What package work sets.
var (
	Pool     func(pool any) Of     // looks into a *work.WorkerPool, which need not be started
	Enqueuer func(enqueuer any) Of // looks into a *work.Enqueuer
	Usual    func() Defaults       // of pools, jobs and enqueuers
	// AsInvalid makes an *invalid.Error, or one below err, a *work.InvalidError. The text stays.
	AsInvalid func(err error) error
	// Prepare checks and encodes a work.Entry that is stored some time later by somebody else. Its args are as a
	// *work.Enqueuer would store them, or by a *codec.Chain; by may be nil.
	Prepare func(entry, by any) (rdb.NewJob, error)
	// Pass takes []work.Entry through the middleware of a *work.Enqueuer to a work.EnqueueFunc, that of its caller.
	Pass func(ctx context.Context, enqueuer, entries, store any) error
	// Codecs are those by which a *work.Enqueuer stores the jobs of that name, and opens what is stored; nil for none.
	Codecs func(enqueuer any, name string) *codec.Chain
	// Opened is a result that a job with that id had, by all codecs that a *work.Enqueuer of a pool knows. The error is
	// a *work.CodecError.
	Opened func(enqueuer any, id string, stored []byte) ([]byte, error)
	// CodecError makes what a chain says of a value a *work.CodecError.
	CodecError func(what string, err error) error
	// NewCodecs makes a chain of []work.Codec. The error is a *work.InvalidError.
	NewCodecs func(what string, codecs any) (*codec.Chain, error)
	// Accepts tells whether a *work.Enqueuer would store a job with that name and args: an invalid one is refused for
	// good, while an err says that nobody knows now.
	Accepts func(ctx context.Context, enqueuer any, name string, args []byte) (refusal, err error)
)

// Inspector looks into an *inspect.Inspector. Package inspect sets it.
var Inspector func(inspector any) Of
