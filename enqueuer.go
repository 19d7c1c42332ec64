package work

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
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
// Arguments are encoded by encoding/json, each by itself, without escaping HTML. (It replaces invalid UTF-8 in strings:
// pass such as []byte.)
type Enqueuer struct {
	core     *enqueuerCore
	settings jobSettings
	options  []EnqueueOption // what settings were made of
	around   EnqueueFunc     // the middleware around the storing of entries; nil when there is none
}

// enqueuerCore is what an Enqueuer and those derived from it share.
type enqueuerCore struct {
	store   *rdb.Store
	lanes   *lanes
	clock   *redisClock
	limits  argsLimits
	uploads *uploader
	check   func(name string, args []byte) error // may be nil
	unique  func(name string) *UniqueOptions     // of the job's own options; may be nil
	waiters *waiters
	readers readers

	middlewares []EnqueueMiddleware // outermost first

	closing sync.Once
	closed  error
	toClose rdb.Driver // nil where it belongs to somebody else
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
	enq := newEnqueuer(rdb.NewStore(driver, settings.namespace), settings.timeout, settings.maxArgs, nil)
	enq.useObjects(settings.home, settings.largeArgs)
	enq.wrapIn(settings.middlewares)
	if owned {
		enq.core.toClose = driver
	}
	return enq, nil
}

// newEnqueuer makes an Enqueuer on a store that its Close leaves open. Zero is the default of timeout and maxArgs.
// check, if there is one, may refuse the args of a job; its error need not name the job.
func newEnqueuer(store *rdb.Store, timeout time.Duration, maxArgs int,
	check func(name string, args []byte) error) *Enqueuer {
	if timeout == 0 {
		timeout = defaultEnqueueTimeout
	}
	clock := &redisClock{}
	enq := &Enqueuer{core: &enqueuerCore{
		store: store, clock: clock, lanes: newLanes(store, clock, timeout), limits: newArgsLimits(maxArgs, 0),
		check:   check,
		waiters: newWaiters(store),
	}}
	enq.useObjects(nil, 0)
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
	if t.IsZero() {
		err := &InvalidError{What: "time of job " + quoted(name), Value: "the zero time",
			Remedy: "use Enqueue for at once"}
		return Receipt{}, &EnqueueError{NotStored: []int{0}, Err: err, job: name}
	}
	return e.enqueue(ctx, Entry{Name: name, Source: source, At: t, Args: args})
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
	p, err := e.prepare(&entry)
	if err == nil {
		err = e.core.lanes.enter()
	}
	if err != nil {
		return Receipt{}, &EnqueueError{NotStored: []int{0}, Err: err, job: entry.Name}
	}
	defer e.core.lanes.leave()
	a := e.core.deliverOne(ctx, &p)
	receipt, fate, err := e.core.settle(ctx, &p, a, 0)
	switch fate {
	case unknown:
		return receipt, &EnqueueError{Unknown: []int{0}, Err: err, job: entry.Name}
	case notStored:
		return receipt, &EnqueueError{NotStored: []int{0}, Err: err, job: entry.Name}
	}
	if err != nil {
		return receipt, &EnqueueError{Stored: []int{0}, Err: err, job: entry.Name}
	}
	return receipt, nil
}

// EnqueueMany stores many jobs, in calls of at most 500 jobs and 1 MiB. All entries are checked first: if one is
// invalid, none is stored. Entries of one name come into their queue in the order given. With the first part that
// Redis does not take, it ends. There is one Receipt per entry, also with an error: then those of the entries that are
// not stored are zero.
func (e *Enqueuer) EnqueueMany(ctx context.Context, entries []Entry) ([]Receipt, error) {
	if e.around == nil || len(entries) == 0 {
		return e.storeMany(ctx, entries)
	}
	return e.pass(ctx, entries)
}

// storeMany stores many jobs.
func (e *Enqueuer) storeMany(ctx context.Context, entries []Entry) ([]Receipt, error) {
	many := &manyJobs{core: e.core, receipts: make([]Receipt, len(entries))}
	if len(entries) == 1 {
		many.failed.job = entries[0].Name
	}
	all, known := make([]prepared, len(entries)), map[string][]byte{}
	for i := range entries {
		var err error
		if all[i], err = e.prepare(&entries[i]); err != nil {
			if len(entries) > 1 {
				err = fmt.Errorf("entry %d: %w", i, err)
			}
			return many.refused(err)
		}
		if all[i].apart != nil {
			all[i].apart.share(known)
		}
	}
	if err := e.core.lanes.enter(); err != nil {
		return many.refused(err)
	}
	defer e.core.lanes.leave()
	jobs := make([]rdb.NewJob, len(all))
	for i := range all {
		jobs[i] = all[i].job
	}
	for from := 0; from < len(all); {
		to, bytes := from, 0
		for to < len(all) && to-from < rdb.MaxBatch && (to == from || bytes+all[to].bytes() <= maxCallBytes) {
			bytes += all[to].bytes()
			to++
		}
		a := e.core.deliver(ctx, all[from:to], jobs[from:to], bytes)
		many.add(ctx, from, all[from:to], a)
		from = to
		if a.fate != stored {
			many.stop(from)
			break
		}
	}
	return many.done()
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
// most as long as EnqueueTimeout, and closes the connection unless it came from WithConnection or a pool. Closing again
// does nothing and returns the same error. It closes the enqueuers that With made, and the one that they were made of,
// as well.
func (e *Enqueuer) Close() error {
	c := e.core
	c.closing.Do(func() {
		c.waiters.close()
		c.closed = c.lanes.close()
		if c.toClose != nil {
			c.closed = excerpt.Join(c.closed, c.toClose.Close())
		}
	})
	return c.closed
}
