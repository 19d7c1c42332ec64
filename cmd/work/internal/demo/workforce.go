package demo

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

// startWorkers starts the workforce. Everything it does is written into log. holdAt is that of poolOptions.
func (d *demo) startWorkers(ctx context.Context, dsn string, log *runLog, holdAt int) (*workforce, error) {
	opts := poolOptions{Redis: dsn, Namespace: d.Namespace, Concurrency: d.Concurrency, Slow: d.Slow, HoldAt: holdAt}
	if d.Workers > 0 {
		f, err := startFleet(d.Workers, opts, log)
		return &workforce{fleet: f}, err
	}
	pool := newPool(opts, log.add, d.Logger)
	if err := pool.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return &workforce{pool: pool}, nil
}

// dead says whether a process that wrote into the log of runs is gone. This one, number 0, is not.
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
