package work

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/requeue"
	"github.com/265d0351/work/internal/schedule"
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

	driver  redisconn.Driver
	store   *rdb.Store
	objects *poolObjects
	events  *stream
	clock   *redisclock.Clock

	served     map[string]*registration // at the start; what is served now is in serving
	serving    subscription.Served
	quarantine crash.Quarantine[Job] // of jobs that workers have died with
	rhythm     liveness.Rhythm
	numbers    atomic.Int64   // of fetches
	requeued   *requeue.Order // what was given back
	undeclared atomic.Bool    // Redis may have forgotten the limits
	missing    atomic.Bool    // some of them may have gone with their queues
	ordered    atomic.Bool    // an operator has the pool stop
	idled      atomic.Bool    // the pool stops since it had nothing to do
	delivered  atomic.Int64   // jobs that fetches have brought

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
	e.requeued = requeue.NewOrder(options.ShutdownTimeout)
	e.events, e.clock = newStream(options.Logger, options.Observers), &redisclock.Clock{}
	e.times, e.fleet = usual, fleetOf
}

// fleetOf is how many workers are a large fleet.
const fleetOf = 1_000

// host is the pool, as far as its workers ask it for something.
type host interface {
	Enqueuer() *Enqueuer
	hintCancel()              // look whether jobs are to be cancelled
	beatAtOnce(worker string) // that one is wanted
	answerHeld(ctx context.Context, token string)
	wakeFetchers()
	stopByOrder()   // somebody wants the pool to stop
	hurryStop()     // the stop under way waits for no handler
	requestWorker() // all of this worker's processors are busy
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

// declareLimits makes the limits in Redis those that the code declares, of all that is served or was at the start.
func (e *engine) declareLimits(ctx context.Context) error {
	var names []string
	for name, registration := range e.registered {
		if e.served[name] != nil || !registration.withdrawn.Load() {
			names = append(names, name)
		}
	}
	return e.declareLimitsOf(ctx, names)
}

// declareLimitsOf declares the limits of some names. An event tells where another service has declared another limit.
func (e *engine) declareLimitsOf(ctx context.Context, names []string) error {
	return e.declaration().Declare(ctx, names)
}

func (e *engine) declaration() *limit.Declaration {
	return &limit.Declaration{
		Store: e.store, Service: e.service(),
		Limit: func(name string) rdb.Limit { return limit.Spec(e.registered[name].options.Limit).Stored() },
		Replaced: func(name string, now, before rdb.Rule) {
			e.events.emit(event.LimitChanged{Name: name, Limit: Limit(limit.SpecOf(now.Code)).String(),
				Service: now.Service,
				Former:  Limit(limit.SpecOf(before.Code)).String(), FormerService: before.Service})
		},
	}
}

// declareMissing declares limits of which nothing is known any more, after a worker was taken for dead: whoever
// destroyed a queue meanwhile has removed the limit with it. Others stay: a newer program may have declared them. What
// fails is tried again with the next heartbeat.
func (e *engine) declareMissing(ctx context.Context) error {
	var names []string
	for name, registration := range e.registered {
		if registration.options.Limit != (Limit{}) && !registration.withdrawn.Load() {
			names = append(names, name)
		}
	}
	d := e.declaration()
	d.Missing = true
	err := d.Declare(ctx, names)
	e.missing.Store(err != nil)
	return err
}

// declareAgain declares the limits once more after Redis has lost its data.
func (e *engine) declareAgain(ctx context.Context) error {
	if e.missing.Load() {
		if err := e.declareMissing(ctx); err != nil {
			return err
		}
	}
	if !e.undeclared.Load() {
		return nil
	}
	if err := e.declareLimits(ctx); err != nil {
		return err
	}
	e.undeclared.Store(false)
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

// declared are the schedules of the pool, with what is done about them in Redis.
func (e *engine) declared() *schedule.Declared {
	d := &schedule.Declared{Store: e.store, Service: e.service(), Emit: e.events.emit}
	for _, one := range e.periodics {
		d.Schedules = append(d.Schedules, schedule.Declaration{Schedule: one.Schedule, Called: one.called()})
	}
	return d
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
