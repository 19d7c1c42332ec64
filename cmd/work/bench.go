package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
)

// bench measures a Redis in a namespace of its own.
type bench struct {
	benchFlags
	redis     string // DSN; "" for an embedded one
	namespace string // of this run alone
	console   *console
	logger    *slog.Logger
	hurry     context.Context // ends when the user does not want to wait for a stop in good order

	// What tests hook into; nil otherwise.
	tamper  func(id int64, book func(id int64)) // stands in for the booking of a run
	reached func(phase string)                  // is called at the beginning of each phase
}

// The phases, as the table calls them.
const (
	phaseEnqueue = "enqueue"
	phaseProcess = "process"
	phasePickup  = "pick-up"
)

// run does it all. The namespace is removed in any case; if it cannot be, that is an error beside the others.
func (b *bench) run(ctx context.Context) (found *benchReport, err error) {
	dsn, closeRedis, err := b.openRedis()
	if err != nil {
		return nil, err
	}
	defer closeRedis()
	inspector, err := work.NewInspector(dsn, work.Namespace(b.namespace))
	if err != nil {
		return nil, usagef("%w", err)
	}
	defer inspector.Close()
	enq, err := work.NewEnqueuer(dsn, work.Namespace(b.namespace))
	if err != nil {
		return nil, usagef("%w", err)
	}
	if _, err := inspector.ServerCPU(ctx); err != nil { // nothing was written, so there is nothing to remove
		return nil, errors.Join(err, enq.Close())
	}
	found, err = b.measure(ctx, dsn, enq, inspector)
	err = errors.Join(err, enq.Close(), b.erase(inspector))
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		return nil, b.interrupted(err)
	}
	return found, err
}

// openRedis returns the DSN of the Redis to use, which is one of our own unless the user named one.
func (b *bench) openRedis() (dsn string, closeRedis func(), err error) {
	if b.redis != "" {
		return b.redis, func() {}, nil
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
func (b *bench) erase(inspector *work.Inspector) error {
	ctx, cancel := context.WithTimeout(b.hurry, time.Minute)
	defer cancel()
	if _, err := inspector.Erase(ctx); err != nil {
		return &eraseError{namespace: b.namespace, err: err}
	}
	return nil
}

// interrupted leaves out what follows from the interruption, but not that something is left in Redis.
func (b *bench) interrupted(err error) error {
	var left *eraseError
	if errors.As(err, &left) {
		return fmt.Errorf("%w: %w", errInterrupted, left)
	}
	return fmt.Errorf("%w: namespace %s is removed", errInterrupted, b.namespace)
}

// measure goes through the phases. An error means that one did not come to its end.
func (b *bench) measure(ctx context.Context, dsn string, enq *work.Enqueuer, inspector *work.Inspector) (*benchReport,
	error) {
	found := newBenchReport(b)
	names := make([]string, b.queues)
	for i := range names {
		names[i] = fmt.Sprint("bench", i)
	}
	load := &benchLoad{bench: b, names: names, enq: enq, inspector: inspector}
	var err error
	if found.Enqueue, err = load.enqueue(ctx); err != nil {
		return nil, err
	}
	if found.Enqueue.Jobs == 0 {
		return nil, usagef("no job was stored within --duration %s: give a longer one", b.duration)
	}
	singles := min(found.Enqueue.Jobs, benchSingles)
	book := newBenchBook(found.Enqueue.Jobs, singles)
	pool := load.pool(dsn, book)
	if found.Process, err = load.process(ctx, pool, book); err == nil {
		found.Pickup, err = load.pickUp(ctx, book)
	}
	err = errors.Join(err, b.settle(ctx, pool, err == nil))
	if err != nil {
		return nil, err
	}
	found.Once = book.verdict()
	return found, nil
}

// settle waits until Redis knows that all has ended, unless the run is over before that, and stops the pool.
func (b *bench) settle(ctx context.Context, pool *work.WorkerPool, complete bool) (err error) {
	if complete {
		ctx, cancel := context.WithTimeout(ctx, benchPatience)
		defer cancel()
		err = pool.Drain(ctx)
	}
	return errors.Join(err, pool.Stop(b.hurry))
}

func (b *bench) enter(phase string) {
	if b.reached != nil {
		b.reached(phase)
	}
}
