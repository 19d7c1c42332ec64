package work

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/replicas"
	"github.com/265d0351/work/internal/requeue"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/internal/schedule"
	"github.com/265d0351/work/internal/serverfit"
	"github.com/265d0351/work/internal/sharedhome"
	"github.com/265d0351/work/objects"
)

// site is what the workers of a pool have in common in one partition of the namespace: what goes by the clock of that
// Redis, or is known of what is stored there. What they have in common in all of them is the engine.
type site struct {
	engine    *engine
	partition int
	store     *rdb.Store
	rights    rights.Start
	objects   *poolObjects
	clock     *redisclock.Clock

	numbers    atomic.Int64   // of fetches
	requeued   *requeue.Order // what was given back
	undeclared atomic.Bool    // Redis may have forgotten the limits
	missing    atomic.Bool    // some of them may have gone with their queues
	unsaid     atomic.Bool    // Redis may have forgotten what operators have said of queues
}

// newSite makes that of a partition. It has a store once it is opened.
func newSite(e *engine, number int) *site {
	return &site{engine: e, partition: number, clock: &redisclock.Clock{},
		requeued: requeue.NewOrder(e.options.ShutdownTimeout)}
}

// open gives the site its store, and dials nothing: an error is one of the options.
func (s *site) open() (err error) {
	s.store = s.engine.directory.Store(s.partition)
	options := s.engine.options
	s.rights = rights.Start{Driver: s.store.Driver(), Namespace: s.store.Namespace(), Partition: s.partition,
		Replicas: options.WaitReplicas > 0, Emit: s.engine.events.emit}
	options.ObjectGrace = max(options.ObjectGrace, 0) // what is negative is reported as that
	options.ObjectHome = sharedhome.Of(options.ObjectHome, s.engine.directory, s.partition)
	s.objects, err = newPoolObjects(s.store, options)
	return err
}

// declareLimits makes the limits in Redis those that the code declares, of all that is served or was at the start.
func (s *site) declareLimits(ctx context.Context) error {
	var names []string
	for name, registration := range s.engine.registered {
		if s.engine.served[name] != nil || !registration.withdrawn.Load() {
			names = append(names, name)
		}
	}
	return s.declareLimitsOf(ctx, names)
}

// declareLimitsOf declares the limits of some names. An event tells where another service has declared another limit.
func (s *site) declareLimitsOf(ctx context.Context, names []string) error {
	names = s.engine.withShared(names)
	return s.engine.byMap(ctx, func() error { return s.declaration().Declare(ctx, s.limitedHere(names)) })
}

func (s *site) declaration() *limit.Declaration {
	e := s.engine
	return &limit.Declaration{
		Store: s.store.AtMap(s.Map()), Service: e.service(),
		Limit: func(name string) rdb.Limit { return limit.Spec(e.ruled(name).Limit).Stored() },
		Keys: func(name string) rdb.KeyRule {
			options := e.ruled(name)
			return options.keyRule()
		},
		Replaced: func(name string, now, before rdb.Rule) {
			e.events.emit(event.LimitChanged{Name: name, Limit: Limit(limit.SpecOf(now.Code)).String(),
				Service: now.Service,
				Former:  Limit(limit.SpecOf(before.Code)).String(), FormerService: before.Service})
		},
	}
}

// limitedHere are those of the names whose limits stand in this partition, or would: a name that is limited lives in
// one.
func (s *site) limitedHere(names []string) []string {
	m := s.engine.directory.Map()
	if m.Single() {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		home := m.Home(partition.Job{Name: name})
		if home.Bound {
			return home.Partition != s.partition
		}
		return s.engine.ruled(name).Limit != Limit{} // it is bound before: see bindLimited
	})
}

// declareMissing declares limits of which nothing is known any more, after a worker was taken for dead: whoever
// destroyed a queue meanwhile has removed the limit with it. Others stay: a newer program may have declared them. What
// fails is tried again with the next heartbeat.
func (s *site) declareMissing(ctx context.Context) error {
	var names []string
	for name, registration := range s.engine.registered {
		if registration.options.limited() && !registration.withdrawn.Load() {
			names = append(names, name)
		}
	}
	names = s.engine.withShared(names)
	err := s.engine.byMap(ctx, func() error {
		d := s.declaration()
		d.Missing = true
		return d.Declare(ctx, s.limitedHere(names))
	})
	s.missing.Store(err != nil)
	return err
}

// declareAgain declares the limits once more after Redis has lost its data.
func (s *site) declareAgain(ctx context.Context) error {
	if s.missing.Load() {
		if err := s.declareMissing(ctx); err != nil {
			return err
		}
	}
	if !s.undeclared.Load() {
		return nil
	}
	if err := s.declareLimits(ctx); err != nil {
		return err
	}
	s.undeclared.Store(false)
	return nil
}

// declared are the schedules of the pool that live in this partition, with what is done about them in Redis.
func (s *site) declared() *schedule.Declared {
	d := &schedule.Declared{Store: s.store, Service: s.engine.service(), Emit: s.engine.events.emit}
	if s.engine.directory != nil {
		d.Store = s.store.AtMap(s.Map())
	}
	for _, one := range s.engine.periodics {
		if s.HasSchedule(one.Schedule) {
			d.Schedules = append(d.Schedules, schedule.Declaration{Schedule: one.Schedule, Called: one.called()})
		} else {
			d.Elsewhere = append(d.Elsewhere, one.ID)
		}
	}
	return d
}

// Map is the version of the map of the partitions by which the site goes.
func (s *site) Map() int64 { return s.engine.directory.Map().Version }

// QueueOf is the queue that the jobs of a name share with others; "" where they have their own.
func (s *site) QueueOf(name string) string { return s.engine.directory.Map().QueueOf(name) }

// HasSchedule tells whether a schedule lives in this partition, and is not on its way elsewhere.
func (s *site) HasSchedule(of *schedule.Schedule) bool {
	if s.engine.directory == nil {
		return true
	}
	home := s.engine.directory.Map().OfSchedule(of.ID, partition.Job{Name: of.Definition.Name,
		Key: of.Definition.Key})
	return !home.Bound || home.Partition == s.partition && !home.Moving
}

// Tracked tells whether jobs that are bound to the partition are to be listed as they are stored.
func (s *site) Tracked() bool { return s.engine.directory.Map().Tracking }

// homes is a site for its daemons.
type homes struct {
	*site
	host host
}

// Outdated has the pool read the map of the partitions.
func (h homes) Outdated(version int64) { h.host.mapIs(version) }

// checkServer looks, once when a pool begins to work in a partition, whether its Redis can be used.
func (s *site) checkServer(ctx context.Context) error {
	if err := s.rights.Ask(ctx); err != nil && !redisconn.Passes(err) { // else a worker asks as it joins
		return err
	}
	return asInvalid(serverfit.Check(ctx, s.store, s.partition, s.engine.events.emit))
}

// poolObjects is how a pool reads the objects that its jobs need, and stores results.
type poolObjects struct {
	store *objects.Store
	cache *objects.Cache
	large int // above how many bytes a result is one

	collector *objects.Collector // the janitor's
}

// newPoolObjects is called by open, which dials nothing, and neither does this: an error is one of the options. The
// cache is closed by the stop of the pool.
func newPoolObjects(store *rdb.Store, options WorkerOptions) (*poolObjects, error) {
	contents, err := objects.New(store, objects.Options{Home: options.ObjectHome, Grace: options.ObjectGrace})
	if err != nil {
		return nil, err
	}
	return &poolObjects{
		store: contents, cache: objects.NewCache(contents, options.ObjectCache),
		large:     jobargs.NewLimits(0, options.LargeArgs).Large,
		collector: contents.Collector(),
	}, nil
}

// keep stores a content for a job that has a record, or will have an outcome. The processor that ran the job waits for
// it, settleTimeout at the most, before it hands the outcome over. The content comes before the reference: if the
// process dies in between, the collector finds a content that no job refers to and drops it after the grace period.
func (o *poolObjects) keep(ctx context.Context, content []byte, id string) (hash objects.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = repeatable.UntilAnswered(ctx, func(ctx context.Context) error {
		if hash, err = o.store.Put(ctx, content); err != nil {
			return err
		}
		return o.store.Refer(ctx, hash, id)
	})
	return hash, err
}

// places are what an Enqueuer uses of each partition.
type places struct {
	parts *partition.Directory
	home  objects.Home

	mu      sync.Mutex
	objects map[int]*objects.Store
}

func newPlaces(parts *partition.Directory, home objects.Home) *places {
	return &places{parts: parts, home: home, objects: map[int]*objects.Store{}}
}

// store is that of a partition. No heartbeat tells those who enqueue that this program is too old: the store does.
func (p *places) store(number int) *rdb.Store { return p.parts.Guarded(number) }

// contents are the objects of a partition.
func (p *places) contents(number int) (*objects.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.objects[number]; known != nil {
		return known, nil
	}
	contents, err := objects.New(p.store(number), objects.Options{Home: sharedhome.Of(p.home, p.parts, number)})
	if err == nil {
		p.objects[number] = contents
	}
	return contents, err
}

// site is what it stores by in a partition.
func (p *places) site(number int) intake.Site {
	store := p.store(number)
	site := intake.Site{Store: store, Witness: replicas.Of(store)}
	contents, err := p.contents(number)
	if site.Uploads = jobargs.NewUploads(contents); err != nil {
		site.Uploads = homeless{err}
	}
	return site
}

// homeless is where nothing can be uploaded.
type homeless struct{ err error }

func (h homeless) Ensure(context.Context, string, []byte) error { return h.err }
func (homeless) Forget(string)                                  {}
func (homeless) ForgetAll()                                     {}
