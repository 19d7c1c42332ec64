package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/jobnames"
	"github.com/265d0351/work/internal/mailing"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/internal/waiting"
	"github.com/265d0351/work/objects"
)

// Enqueuer stores jobs in Redis. All methods may be called concurrently, and callers that come at the same time share
// round trips, so a program needs one Enqueuer only.
//
// A job whose Receipt was returned without an error is stored, and will run. Every error of an enqueue is an
// *[EnqueueError], which says what became of the jobs; its cause may be an *[InvalidError], [ErrRedisFull],
// [ErrClosed], the error of the ctx, or what went wrong between here and Redis. A lost connection is no error as long
// as there is time: the call is made again in a way that stores nothing twice. There is time until ctx ends, and no
// more than [EnqueueTimeout].
//
// A name that nobody serves is a queue that nobody empties. The Enqueuer of a pool refuses names that the pool does not
// know, and others can: see [Names] and [ServedNames].
//
// Arguments are encoded by encoding/json, each by itself, without escaping HTML. One with text that is not UTF-8 is an
// *[InvalidError], which names the argument and the field: pass such text as []byte, which becomes base64.
type Enqueuer struct {
	core     *enqueuerCore
	settings jobSettings
	options  []EnqueueOption // what settings were made of
	around   EnqueueFunc     // the middleware around the storing of entries; nil when there is none
}

// enqueuerCore is what an Enqueuer and those derived from it share.
type enqueuerCore struct {
	parts   *partition.Directory
	places  *places
	store   *rdb.Store // of partition 0
	intake  *intake.Intake
	clock   *redisclock.Clock
	limits  jobargs.Limits
	objects *objects.Store
	names   *jobnames.Rule                       // which are accepted; nil: any
	check   func(name string, args []byte) error // may be nil
	unique  func(name string) *UniqueOptions     // of the job's own options; may be nil
	codec   func(name string) *codec.Chain       // of the job's own options; may be nil
	waiters *waiting.Group
	readers readers
	mail    mailing.Sender

	middlewares []EnqueueMiddleware // outermost first
	tell        func(event.Event)

	closing sync.Once
	closed  error
	toClose redisconn.Driver // nil where it belongs to somebody else
}

// NewEnqueuer makes an Enqueuer for the Redis that dsn names, "redis://localhost:6379/0" for instance, or for the
// Connection of [WithConnection]. It does not connect: that happens at the first call. The caller closes it.
func NewEnqueuer(dsn string, opts ...EnqueuerOption) (*Enqueuer, error) {
	settings, err := newEnqueuerSettings(opts)
	if err != nil {
		return nil, err
	}
	driver, owned, err := openConnection(dsn, settings.connection)
	if err != nil {
		return nil, err
	}
	parts := partition.NewDirectory(driver, settings.namespace)
	parts.TellFlows(tellingFlows(settings.teller()))
	parts.As(rights.Enqueuer, rights.Unchecked(settings.teller()))
	enq := newEnqueuer(parts, settings)
	if owned {
		enq.core.toClose = driver
	}
	return enq, nil
}

// newEnqueuer makes an Enqueuer on stores that its Close leaves open. What of the settings is zero has its default. A
// home of objects that cannot be is told by each enqueue.
func newEnqueuer(parts *partition.Directory, settings enqueuerSettings) *Enqueuer {
	places := newPlaces(parts, settings.home)
	store := places.store(0)
	contents, err := places.contents(0)
	clock := &redisclock.Clock{}
	closed, tell := cmp.Or(settings.closed, ErrClosed), settings.teller()
	enq := &Enqueuer{core: &enqueuerCore{
		parts: parts, places: places, store: store, clock: clock, objects: contents, tell: tell,
		limits: jobargs.NewLimits(settings.maxArgs, settings.largeArgs),
		check:  settings.check, unique: settings.unique, codec: settings.codec, middlewares: settings.middlewares,
		waiters: waiting.NewGroup(parts, closed, recovered),
		intake: intake.New(intake.Config{
			Site: places.site(0), Directory: parts, Others: places.site,
			Clock: clock, Timeout: cmp.Or(settings.timeout, defaultEnqueueTimeout), Closed: closed, Steps: repeatable,
			Fetch: func(ctx context.Context, hash string) ([]byte, error) {
				return contents.Get(ctx, objects.Hash(hash))
			},
			Lost: func(loss intake.Loss) { tell(dataLost(loss)) },
		}),
	}}
	enq.core.mail = mailing.Sender{Directory: parts, Store: places.store, Ask: enq.core.intake.Ask}
	enq.settings.err, enq.settings.codecs = err, settings.chain
	enq.core.names = settings.rule(enq.core)
	enq.compose()
	return enq
}

// Enqueue stores a job that is due at once, at the back of the queue of its name.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args ...any) (Receipt, error) {
	return e.enqueue(ctx, Entry{Name: name, Args: args})
}

// EnqueueIn stores a job that is due in d, by the clock of Redis; with zero at once. A negative d is refused.
func (e *Enqueuer) EnqueueIn(ctx context.Context, name string, d time.Duration, args ...any) (Receipt, error) {
	return e.enqueue(ctx, Entry{Name: name, In: d, Args: args})
}

// EnqueueAt stores a job that is due at t, which counts in whole milliseconds, or at once if t has passed. The zero
// time is refused.
func (e *Enqueuer) EnqueueAt(ctx context.Context, name string, t time.Time, args ...any) (Receipt, error) {
	return e.SourcedEnqueueAt(ctx, name, 0, t, args...)
}

// SourcedEnqueue is Enqueue of a job that knows what it is about: source is its Job.SourceID, the id of a user or an
// order for instance.
func (e *Enqueuer) SourcedEnqueue(ctx context.Context, name string, source int64, args ...any) (Receipt, error) {
	return e.enqueue(ctx, Entry{Name: name, Source: source, Args: args})
}

// SourcedEnqueueIn is [Enqueuer.EnqueueIn] with a source.
func (e *Enqueuer) SourcedEnqueueIn(ctx context.Context, name string, source int64, d time.Duration,
	args ...any) (Receipt, error) {
	return e.enqueue(ctx, Entry{Name: name, Source: source, In: d, Args: args})
}

// SourcedEnqueueAt is [Enqueuer.EnqueueAt] with a source.
func (e *Enqueuer) SourcedEnqueueAt(ctx context.Context, name string, source int64, t time.Time, args ...any) (Receipt,
	error) {
	return e.enqueueAt(ctx, t, Entry{Name: name, Source: source, Args: args})
}

// enqueueAt stores one job that is due at t.
func (e *Enqueuer) enqueueAt(ctx context.Context, t time.Time, entry Entry) (Receipt, error) {
	if t.IsZero() {
		err := &InvalidError{What: "time of job " + excerpt.Brief(entry.Name), Value: "the zero time",
			Remedy: "use Enqueue for at once"}
		return Receipt{}, &EnqueueError{NotStored: []int{0}, Err: err, job: entry.Name}
	}
	entry.At = t
	return e.enqueue(ctx, entry)
}

// enqueue stores one job, through the middleware where there is some.
func (e *Enqueuer) enqueue(ctx context.Context, entry Entry) (Receipt, error) {
	if e.around == nil {
		return e.store(ctx, entry)
	}
	receipts, err := e.pass(ctx, []Entry{entry})
	return receipts[0], err
}

// store stores one job.
func (e *Enqueuer) store(ctx context.Context, entry Entry) (Receipt, error) {
	job, err := e.prepare(&entry)
	if err == nil {
		_, err = e.core.checkNames(ctx, entry.Name)
	}
	if err != nil {
		return Receipt{}, &EnqueueError{NotStored: []int{0}, Err: err, job: entry.Name}
	}
	result := e.core.intake.Put(ctx, &job)
	receipt, err := entry.receipt(&job, &result)
	e.tellBorn(receipt)
	if err == nil {
		return receipt, nil
	}
	failed := &EnqueueError{Err: err, job: entry.Name}
	failed.list(0, result.Outcome)
	return receipt, failed
}

// tellBorn tells the job whose handler has enqueued others which those are.
func (e *Enqueuer) tellBorn(receipts ...Receipt) {
	if e.settings.born == nil {
		return
	}
	for _, receipt := range receipts {
		if receipt.ID != "" && !receipt.Duplicate {
			e.settings.born(receipt.ID)
		}
	}
}

// EnqueueMany stores many jobs, in calls of at most 500 jobs and 1 MiB. All entries are checked first: if one is
// invalid, none is stored. Entries of one name come into their queue in the order given. With the first part that
// Redis does not take, it ends. There is one Receipt per entry, also with an error: then those of the entries that are
// not stored are zero. Where the namespace has several partitions that is so for the entries of each of them: those
// that are bound to one that is away are not stored, the others are, and the order of a name holds in each partition.
func (e *Enqueuer) EnqueueMany(ctx context.Context, entries []Entry) ([]Receipt, error) {
	if e.around == nil || len(entries) == 0 {
		return e.storeMany(ctx, entries)
	}
	return e.pass(ctx, entries)
}

// storeMany stores many jobs.
func (e *Enqueuer) storeMany(ctx context.Context, entries []Entry) ([]Receipt, error) {
	receipts, failed := make([]Receipt, len(entries)), &EnqueueError{}
	if len(entries) == 1 {
		failed.job = entries[0].Name
	}
	jobs, err := e.prepareMany(ctx, entries)
	if err == nil {
		err = e.core.intake.PutAll(ctx, jobs, func(i int, result intake.Result) {
			receipts[i] = failed.note(i, &entries[i], &jobs[i], &result)
		})
	}
	if err != nil {
		failed.Err, failed.NotStored = err, indices(len(entries))
	}
	e.tellBorn(receipts...)
	if failed.Err == nil {
		return receipts, nil
	}
	return receipts, failed
}

// With returns an Enqueuer whose jobs have these options, beside those of e, which stays as it is. The two share the
// connection, and one Close is for both. An option that cannot be is told by the enqueue.
func (e *Enqueuer) With(opts ...EnqueueOption) *Enqueuer {
	with := &Enqueuer{core: e.core, settings: e.settings.with(opts)}
	if e.around != nil {
		with.options = slices.Concat(e.options, opts)
		with.compose()
	}
	return with
}

// Close refuses new calls with [ErrClosed], ends those that wait for jobs with it, waits for the others under way, at
// most as long as EnqueueTimeout, and closes the connection unless it came from WithConnection or a pool. Before that
// it looks once, for a second at the most, whether Redis has lost what was enqueued in the last 30 s, and tells it
// (event.DataLost). Closing again does nothing and returns the same error. It closes the enqueuers that With made, and
// the one that they were made of, as well. Of one from [EnqueuerFromContext] it does nothing.
func (e *Enqueuer) Close() error {
	c := e.core
	if e.settings.parent != "" {
		return nil // a handler has it, and shares it with others
	}
	c.closing.Do(func() {
		c.waiters.Close()
		c.closed = c.intake.Close()
		if c.toClose != nil {
			c.closed = excerpt.Join(c.closed, c.toClose.Close())
		}
	})
	return c.closed
}

// SyncClock asks Redis for its time. Every enqueue learns it from the reply, so a program need not call this; only a
// first enqueue goes by the clock of this machine where it has to name a time (see [ExpireIn]). It may be called
// concurrently.
func (e *Enqueuer) SyncClock(ctx context.Context) error {
	err := e.core.intake.Ask(ctx, e.core.syncClock)
	if err != nil {
		return asPartition(fmt.Errorf("the clock of Redis cannot be read: %w", err))
	}
	return nil
}

// syncClock asks the first partition that answers.
func (c *enqueuerCore) syncClock(ctx context.Context) error {
	asked := c.parts.Map().Served()
	var failed []error
	for _, at := range asked {
		err := c.syncClockWith(ctx, at, len(asked) > 1)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	if c.parts.Discover(ctx) {
		return c.syncClock(ctx)
	}
	if len(failed) == 1 {
		return failed[0]
	}
	return excerpt.Join(failed...)
}

// oneOfSeveral is how long a partition may take where another one could answer as well.
const oneOfSeveral = time.Second

func (c *enqueuerCore) syncClockWith(ctx context.Context, number int, several bool) error {
	if several {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, oneOfSeveral)
		defer cancel()
	}
	sent := c.clock.Local()
	at, err := c.places.store(number).Time(ctx)
	switch {
	case err == nil:
		c.clock.Learn(at.Truncate(time.Millisecond), sent, c.clock.Local())
	case several:
		err = &partition.Error{Partition: number, Err: err}
	}
	return err
}

// prepareForLater checks and encodes an entry that somebody else brings into Redis, some time later: the relay of an
// outbox. So all of the job is in what it returns, its args as well, and a delay counts from now. What needs the caller
// after the job was stored is refused.
func prepareForLater(entry Entry, by any) (rdb.NewJob, error) {
	settings := jobSettings{}.with(entry.Options)
	if settings.replicas > 0 {
		return rdb.NewJob{}, &InvalidError{What: "job " + excerpt.Brief(entry.Name), Value: "given WaitReplicas",
			Remedy: "leave it out: the job is stored in Redis after the enqueue has returned"}
	}
	if entry.In > 0 && entry.At.IsZero() {
		entry.At, entry.In = time.Now().Add(entry.In), 0
	}
	e := &Enqueuer{core: &enqueuerCore{clock: &redisclock.Clock{}, limits: jobargs.NewLimits(0, -1)}}
	switch by := by.(type) {
	case *Enqueuer:
		e.core.codec, e.settings.codecs = by.core.codec, by.settings.codecs
	case *codec.Chain:
		e.settings.codecs = by
	}
	job, err := e.prepare(&entry)
	switch {
	case err != nil:
		return rdb.NewJob{}, err
	case job.Conflict != nil && (job.Conflict.Refuse || job.Conflict.Change != nil):
		return rdb.NewJob{}, &InvalidError{What: "job " + excerpt.Brief(entry.Name),
			Value:  "unique with an OnConflict that changes another job or returns an error",
			Remedy: "use KeepExisting: whether another job lives is known after the enqueue has returned"}
	}
	return job.NewJob, nil
}

// accepts tells whether the name and the args of a job are such as an enqueue would take. The err says that this is not
// known, since Redis could not be asked.
func (e *Enqueuer) accepts(ctx context.Context, name string, args []byte) (refusal, err error) {
	if err := validateName(name); err != nil {
		return err, nil
	}
	_, err = e.core.checkNames(ctx, name)
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return err, nil
	case err != nil:
		return nil, err
	case e.core.check == nil:
		return nil, nil
	}
	open, err := e.core.codecsOf(&Entry{Name: name}, e.settings.codecs).Open(codec.Args(name), args)
	if err != nil {
		return nil, nil // the worker is to know its key: who brings a job into Redis need not
	}
	if err := e.core.check(name, open); err != nil {
		return fmt.Errorf("args of job %s do not fit its handler: %w", excerpt.Brief(name), err), nil
	}
	return nil, nil
}
