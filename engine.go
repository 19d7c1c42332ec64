package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
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
	codecs      *codec.Chain // those of a job come first
	periodics   []periodic   // what Periodic was asked for
	messages    map[string]questions.Handler
	incarnation string // by which others see which workers are of one pool
	belongs     string // the service, from the start on

	driver    redisconn.Driver
	directory *partition.Directory // of the namespace
	home      *site                // partition 0, which every namespace has
	events    *stream

	shared     subscription.Shared[registration] // queues that names have in common
	served     map[string]*registration          // at the start; what is served now is in serving
	serving    subscription.Served
	quarantine crash.Quarantine[Job] // of jobs that workers have died with
	rhythm     liveness.Rhythm
	ordered    atomic.Bool  // an operator has the pool stop
	idled      atomic.Bool  // the pool stops since it had nothing to do
	claiming   atomic.Int64 // fetches under way that may bring jobs
	delivered  atomic.Int64 // jobs that fetches have brought

	times inside.Times
}

// usual are the times of every pool.
var usual = inside.Times{
	Start: 2 * fetchTimeout, Undo: time.Second, Stuck: 5 * time.Second, Hook: deathHookTime, Park: 5 * time.Second,
	Tidy: maintain.JanitorInterval, DueRest: maintain.LongestRest, Survey: time.Minute, Stalled: 10 * time.Second,
	ScaleLook: 5 * time.Second, ScaleIdle: 30 * time.Second, Waiting: 1_000, Ahead: aheadPatience,
	Fleet: fleetOf,
}

// aheadPatience is how long what was fetched ahead waits for a processor. Were they all to get jobs of hours then, it
// would wait as long, while others have nothing to do.
const aheadPatience = 100 * time.Millisecond

// deathHookTime is how long OnDeath may take. It is shorter than a stop waits for outcomes.
const deathHookTime = 5 * time.Second

// set fills what does not depend on Redis.
func (e *engine) set(options WorkerOptions) {
	e.options, e.registered, e.incarnation = options, map[string]*registration{}, ids.Random(8)
	e.events, e.home = newStream(options.Logger, options.Observers), newSite(e, 0)
	e.times = usual
}

// fleetOf is how many workers are a large fleet: see heartbeater.maySkip.
const fleetOf = 1_000

// host is the pool, as far as its workers ask it for something.
type host interface {
	Enqueuer() *Enqueuer
	hintCancel(partition int) // look whether jobs are to be cancelled
	beatAtOnce(worker string) // that one is wanted
	answerHeld(ctx context.Context, partition int, token string)
	wakeFetchers()
	stopByOrder()               // somebody wants the pool to stop
	hurryStop()                 // the stop under way waits for no handler
	requestWorker()             // all of this worker's processors are busy
	learnParts(queues []string) // of jobs that need labels: there are such
	// mapIs hears which version of the map some Redis has: a newer one, or one that it has lost
	mapIs(version int64)
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
	codecs    *codec.Chain        // of its values; nil is none
	missing   bool                // it stands for a handler that the pool does not have: see registration.without
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
	for _, name := range e.unbound(names) {
		if err := resize.Bind(ctx, e.directory, name); err != nil {
			return fmt.Errorf("the limit of job %s cannot be declared: %w", excerpt.Brief(name), err)
		}
	}
	return nil
}

// unbound are those of the names that have a limit and would live anywhere, by the newest map.
func (e *engine) unbound(names []string) (left []string) {
	m := e.directory.Map()
	for _, name := range names {
		if !m.Single() && e.ruled(name).Limit != (Limit{}) && !slices.Contains(m.Bound, name) {
			left = append(left, name)
		}
	}
	return left
}

// quotas are those of the pool, by name, without names that may run any number of jobs: an operator reads them in what
// is stored of each worker.
func (e *engine) quotas() map[string]*subscription.Quota {
	quotas := map[string]*subscription.Quota{}
	for name, registration := range e.registered {
		if registration.quota != nil && registration.options.Queue == "" {
			quotas[name] = registration.quota
		}
	}
	for name, queue := range e.shared.All() {
		if queue.quota != nil {
			quotas[name] = queue.quota
		}
	}
	return quotas
}

// quotaOf is how many jobs of a queue this pool runs at once; nil where that is not limited, or no such job is
// registered.
func (e *engine) quotaOf(queue string) *subscription.Quota {
	if registration := e.registrationOf(queue); registration != nil {
		return registration.quota
	}
	return nil
}

// registrationOf is what runs the jobs of a queue, whatever they need, or of a queue that names share what holds for
// all of them; nil where nothing does.
func (e *engine) registrationOf(queue string) *registration {
	name := needs.Name(queue)
	if registration := e.registered[name]; registration != nil {
		return registration
	}
	return e.shared.Of(name)
}

// ruled is what limits the jobs of a name, or of a queue that names share: names that share one have no limit of
// their own.
func (e *engine) ruled(name string) JobOptions {
	registration := e.registered[name]
	if registration == nil {
		registration = e.shared.Of(name)
	}
	if registration == nil || registration.options.Queue != "" {
		return JobOptions{}
	}
	return registration.options
}

// withShared are names and the queues that they share by their options.
func (e *engine) withShared(names []string) []string {
	all := slices.Clone(names)
	for _, name := range names {
		if registration := e.registered[name]; registration != nil && registration.options.Queue != "" {
			all = append(all, registration.options.Queue)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// looksForParts tells whether jobs may come into queues of which nobody has told the workers.
func (e *engine) looksForParts() bool { return len(e.options.Labels) > 0 || len(e.shared.All()) > 0 }

// runs is what runs a job of a queue; nil where nothing does. In a queue that names share its record tells its name.
func (e *engine) runs(queue string, raw []byte) *registration {
	of := e.registrationOf(queue)
	name := needs.Name(queue)
	if e.shared.Of(name) == nil {
		return of
	}
	own := record.NameIn(raw)
	if own == "" {
		return of // it is buried
	}
	if registration := e.registered[own]; registration != nil && !registration.withdrawn.Load() {
		return registration
	}
	return of.without(own)
}

// without is what stands for the handler of a name that this pool does not have, or does not serve, of jobs that were
// met in a queue: they are handed on.
func (r *registration) without(name string) *registration {
	return &registration{name: name, site: r.site, labels: r.labels, quota: r.quota, withdrawn: &atomic.Bool{},
		options: JobOptions{}.withDefaults(), missing: true}
}

// service is the one that this pool belongs to: the one it was given, or one that is made of the names that it serves.
func (e *engine) service() string { return e.belongs }

// servedQueues are the queues that the pool serves now, in order: those of its names, and of these those whose jobs
// need labels that its workers have, as far as it knows of them. Nobody changes the slice.
func (e *engine) servedQueues() []string {
	queues, _ := e.serving.Now()
	return queues
}

// How long Redis may take to answer.
const (
	fetchTimeout  = 5 * time.Second
	settleTimeout = 10 * time.Second
)

// errNotRegistered is what a fetch or a survey of a worker meets that Redis does not know: it was declared dead, or
// Redis has lost its data. Only a heartbeat can tell the two apart, and jobs that run must end in the first case only.
var errNotRegistered = errors.New("this worker is not registered in Redis")
