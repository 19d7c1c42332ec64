// Package bench is `work bench`: it measures how fast jobs are enqueued, processed and picked up on a Redis.
//
// Run goes through the phases (load.go) in a namespace of its own, which it removes whatever happens, watches how the
// rates go (watch.go), counts every run of every job (run_counts.go), and prints a report. The command only reads
// flags.
package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
)

// Run measures a Redis in a namespace of its own, and prints what came out. It is an error if not every job ran
// exactly once.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	o.Namespace += "-bench-" + rand.Text()[:10]
	found, err := (&bench{Options: o}).run(ctx)
	if err != nil {
		return err
	}
	return found.show(o.Console, o.JSON)
}

// bench is one run.
type bench struct {
	Options // Namespace is of this run alone

	// What tests hook into; nil otherwise.
	tamper  func(id int64, count func(id int64)) // stands in for the counting of a run
	reached func(phase string)                   // is called at the beginning of each phase
}

// The phases, as the table calls them.
const (
	phaseEnqueue = "enqueue"
	phaseProcess = "process"
	phasePickup  = "pick-up"
)

// run does it all. The namespace is removed in any case; if it cannot be, that is an error beside the others.
func (b *bench) run(ctx context.Context) (found *report, err error) {
	dsn, closeRedis, err := b.openRedis()
	if err != nil {
		return nil, err
	}
	defer closeRedis()
	inspector, err := inspect.New(dsn, work.Namespace(b.Namespace))
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	defer inspector.Close()
	enq, err := work.NewEnqueuer(dsn, work.Namespace(b.Namespace))
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	if _, err := inspector.ServerCPU(ctx); err != nil { // nothing was written, so there is nothing to remove
		return nil, errors.Join(err, enq.Close())
	}
	found, err = b.measure(ctx, dsn, enq, inspector)
	err = errors.Join(err, enq.Close(), b.erase(inspector))
	if err != nil && errors.Is(context.Cause(ctx), interrupt.Err) {
		return nil, b.interrupted(err)
	}
	return found, err
}

// openRedis returns the DSN of the Redis to use, which is one of our own unless the user named one.
func (b *bench) openRedis() (dsn string, closeRedis func(), err error) {
	if b.Redis != "" {
		return b.Redis, func() {}, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return "", nil, err
	}
	return server.DSN(), server.Close, nil
}

// eraseError says that the namespace is still there.
type eraseError struct {
	namespace string
	err       error
}

func (e *eraseError) Error() string {
	return fmt.Sprintf("the jobs of this run are left in Redis, in namespace %s: %v", e.namespace, e.err)
}

func (e *eraseError) Unwrap() error { return e.err }

// erase goes on after Ctrl-C, until a second one.
func (b *bench) erase(inspector *inspect.Inspector) error {
	ctx, cancel := context.WithTimeout(b.Hurry, time.Minute)
	defer cancel()
	if _, err := inspector.Erase(ctx); err != nil {
		return &eraseError{namespace: b.Namespace, err: err}
	}
	return nil
}

// interrupted leaves out what follows from the interruption, but not that something is left in Redis.
func (b *bench) interrupted(err error) error {
	var left *eraseError
	if errors.As(err, &left) {
		return fmt.Errorf("%w: %w", interrupt.Err, left)
	}
	return fmt.Errorf("%w: namespace %s is removed", interrupt.Err, b.Namespace)
}

// measure goes through the phases. An error means that one did not come to its end.
func (b *bench) measure(ctx context.Context, dsn string, enq *work.Enqueuer, inspector *inspect.Inspector) (*report,
	error) {
	found := newReport(b)
	names := make([]string, b.Queues)
	for i := range names {
		names[i] = fmt.Sprint("bench", i)
	}
	load := &load{bench: b, names: names, enq: enq, inspector: inspector}
	var err error
	if found.Enqueue, err = load.enqueue(ctx); err != nil {
		return nil, err
	}
	if found.Enqueue.Jobs == 0 {
		return nil, exit.Usagef("no job was stored within --duration %s: give a longer one", b.Duration)
	}
	singles := min(found.Enqueue.Jobs, singleJobs)
	counts := newRunCounts(found.Enqueue.Jobs, singles)
	pool := load.pool(dsn, counts)
	if found.Process, err = load.process(ctx, pool, counts); err == nil {
		found.Pickup, err = load.pickUp(ctx, counts)
	}
	err = errors.Join(err, b.settle(ctx, pool, err == nil))
	if err != nil {
		return nil, err
	}
	found.Once = counts.once()
	return found, nil
}

// settle waits until Redis knows that all has ended, unless the run is over before that, and stops the pool.
func (b *bench) settle(ctx context.Context, pool *work.WorkerPool, complete bool) (err error) {
	if complete {
		ctx, cancel := context.WithTimeout(ctx, stallTimeout)
		defer cancel()
		err = pool.Drain(ctx)
	}
	return errors.Join(err, pool.Stop(b.Hurry))
}

func (b *bench) enter(phase string) {
	if b.reached != nil {
		b.reached(phase)
	}
}
