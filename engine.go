package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/resize"
	"github.com/265d0351/work/internal/subscription"
)

// engine is what the workers of a pool have in common. The pool makes it, and nothing in it knows the pool. What is not
// of a type that may be used concurrently is written before the first worker is made.
type engine struct {
	options     WorkerOptions
	handlers    *handler.Compiler
	registered  map[string]*registration
	periodics   []periodic // what Periodic was asked for
	messages    map[string]questions.Handler
	incarnation string // by which others see which workers are of one pool
	belongs     string // the service, from the start on

	driver    redisconn.Driver
	directory *partition.Directory // of the namespace
	home      *site                // partition 0, which every namespace has
	events    *stream

	served     map[string]*registration // at the start; what is served now is in serving
	serving    subscription.Served
	quarantine crash.Quarantine[Job] // of jobs that workers have died with
	rhythm     liveness.Rhythm
	ordered    atomic.Bool  // an operator has the pool stop
	idled      atomic.Bool  // the pool stops since it had nothing to do
	delivered  atomic.Int64 // jobs that fetches have brought

	times inside.Times
	fleet int // so many workers are a large fleet: see heartbeater.maySkip
}

// usual are the times of every pool.
var usual = inside.Times{
	Stuck: 5 * time.Second, Hook: deathHookTime, Park: 5 * time.Second, Tidy: maintain.JanitorInterval,
	DueRest: maintain.LongestRest, Survey: time.Minute, ScaleLook: 5 * time.Second, ScaleIdle: 30 * time.Second,
	Waiting: 1_000,
}

// deathHookTime is how long OnDeath may take. It is shorter than a stop waits for outcomes.
const deathHookTime = 5 * time.Second

// set fills what does not depend on Redis.
func (e *engine) set(options WorkerOptions) {
	e.options, e.registered, e.incarnation = options, map[string]*registration{}, ids.Random(8)
	e.events, e.home = newStream(options.Logger, options.Observers), newSite(e, 0)
	e.times, e.fleet = usual, fleetOf
}

// fleetOf is how many workers are a large fleet.
const fleetOf = 1_000

// host is the pool, as far as its workers ask it for something.
type host interface {
	Enqueuer() *Enqueuer
	hintCancel(partition int) // look whether jobs are to be cancelled
	beatAtOnce(worker string) // that one is wanted
	answerHeld(ctx context.Context, partition int, token string)
	wakeFetchers()
	stopByOrder()        // somebody wants the pool to stop
	hurryStop()          // the stop under way waits for no handler
	requestWorker()      // all of this worker's processors are busy
	mapIs(version int64) // of the map of the partitions, as some Redis has it: a newer one, or one that it has lost
}

// registration is a job name with what runs it. It is made by WorkerPool.Job and filled by the start; afterwards only
// withdrawn and what quota counts change, so all goroutines read it without a lock.
type registration struct {
	name      string
	site      string // where it was registered
	handler   *handler.Handler
	options   JobOptions
	invoke    runner              // the handler inside all middleware
	labels    context.Context     // carries the profiler's label of its jobs
	quota     *subscription.Quota // nil where the pool may run any number of them
	withdrawn *atomic.Bool        // it is not served: nothing of it begins; nil before the start
}

// byMap does what Redis refuses who goes by an older map of the partitions than it knows, again by the newest one.
func (e *engine) byMap(ctx context.Context, do func() error) error {
	for pause := shortestRoutePause; ; pause = min(2*pause, longestRoutePause) {
		err := do()
		var route *rdb.RouteError
		if !errors.As(err, &route) || e.directory.Refresh(ctx) != nil || !backoff.Pause(ctx, pause) {
			return err
		}
	}
}

// The pauses of who has to go by a newer map.
const (
	shortestRoutePause = 5 * time.Millisecond
	longestRoutePause  = 100 * time.Millisecond
)

// bindLimited sees to it that the jobs of each of these names that has a limit live in one partition: only there it
// holds. Nothing is to be done where the namespace is not divided, or that is so already.
func (e *engine) bindLimited(ctx context.Context, names []string) error {
	for _, name := range names {
		m := e.directory.Map()
		if m.Single() || e.registered[name].options.Limit == (Limit{}) || slices.Contains(m.Bound, name) {
			continue
		}
		if err := resize.Bind(ctx, e.directory, name); err != nil {
			return fmt.Errorf("the limit of job %s cannot be declared: %w", excerpt.Brief(name), err)
		}
	}
	return nil
}

// quotas are those of the pool, by name, without names that may run any number of jobs: an operator reads them in what
// is stored of each worker.
func (e *engine) quotas() map[string]*subscription.Quota {
	quotas := map[string]*subscription.Quota{}
	for name, registration := range e.registered {
		if registration.quota != nil {
			quotas[name] = registration.quota
		}
	}
	return quotas
}

// quotaOf is how many jobs of a name this pool runs at once; nil where that is not limited, or no such job is
// registered.
func (e *engine) quotaOf(name string) *subscription.Quota {
	if registration := e.registered[name]; registration != nil {
		return registration.quota
	}
	return nil
}

// service is the one that this pool belongs to: the one it was given, or one that is made of the names that it serves.
func (e *engine) service() string { return e.belongs }

// servedNames are the names that the pool serves now, in order. Nobody changes the slice.
func (e *engine) servedNames() []string {
	names, _ := e.serving.Now()
	return names
}

// How long Redis may take to answer.
const (
	fetchTimeout  = 5 * time.Second
	settleTimeout = 10 * time.Second
)

// errNotRegistered is what a fetch or a survey of a worker meets that Redis does not know: it was declared dead, or
// Redis has lost its data. Only a heartbeat can tell the two apart, and jobs that run must end in the first case only.
var errNotRegistered = errors.New("this worker is not registered in Redis")
