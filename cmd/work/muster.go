package main

import (
	"context"
	"errors"

	"github.com/265d0351/work"
)

// workforce is who runs the jobs of a demo: a pool in this process, or a fleet of others.
type workforce struct {
	pool  *work.WorkerPool
	fleet *fleet
}

// muster starts the workforce. Everything it does is written into book. holdAt is that of crewOptions.
func (d *demo) muster(ctx context.Context, dsn string, book *ledger, holdAt int) (*workforce, error) {
	opts := crewOptions{Redis: dsn, Namespace: d.namespace, Concurrency: d.concurrency, Slow: d.slow, HoldAt: holdAt}
	if d.workers > 0 {
		f, err := startFleet(d.workers, opts, book)
		return &workforce{fleet: f}, err
	}
	pool := newPool(opts, book.add, d.logger)
	if err := pool.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return &workforce{pool: pool}, nil
}

// dead says whether a process that wrote into the ledger is gone. This one, number 0, is not.
func (w *workforce) dead(number int) bool {
	return w.fleet != nil && number > 0 && w.fleet.dead(number)
}

// check is an error once the jobs cannot be run any more, or a process ended that should not have.
func (w *workforce) check() error {
	if w.fleet == nil {
		return nil
	}
	return w.fleet.failure()
}

// stop returns when nobody of it runs any more, sooner if hurry ends.
func (w *workforce) stop(hurry context.Context) error {
	if w.fleet != nil {
		w.fleet.stop(hurry)
		return nil
	}
	err := w.pool.Stop(hurry)
	if errors.Is(err, context.Canceled) {
		return nil // that it was cut short is what the user asked for
	}
	return err
}
