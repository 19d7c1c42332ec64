// Package inspect reads what is stored of a namespace, and changes it by hand: jobs one by one and in bulk, queues,
// limits, schedules, workers, history, errors and logs. It is for operators, for their tools, and for tests. It imports
// package work as any program does, runs no jobs, and mends nothing: that is for package doctor, below it.
package inspect

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
)

// Inspector looks into a namespace and puts it in order. All methods may be called concurrently.
type Inspector struct {
	store       *rdb.Store
	unusable    error // why there is no Redis, which each call returns
	morgueLimit int

	enqueuer func() *work.Enqueuer // of the same connection
	toClose  *work.Enqueuer        // nil where it belongs to somebody else
}

func init() {
	inside.Inspector = func(inspector any) inside.Of {
		i := inspector.(*Inspector)
		return inside.Of{Store: i.store, MorgueLimit: i.morgueLimit, Unusable: i.unusable}
	}
}

// New makes an Inspector for the Redis that dsn names, or for the Connection of [work.WithConnection]; [work.Namespace]
// says which namespace. Other options have no effect on it. It does not connect: that happens at the first call. The
// caller closes it.
func New(dsn string, opts ...work.EnqueuerOption) (*Inspector, error) {
	enq, err := work.NewEnqueuer(dsn, opts...)
	if err != nil {
		return nil, err
	}
	i := inspectorOf(inside.Enqueuer(enq), func() *work.Enqueuer { return enq })
	i.toClose = enq
	return i, nil
}

func inspectorOf(of inside.Of, enqueuer func() *work.Enqueuer) *Inspector {
	i := &Inspector{unusable: of.Unusable, morgueLimit: of.MorgueLimit, enqueuer: enqueuer}
	if of.Store != nil {
		i.store = of.Store.Guarded()
	}
	return i
}

// Of returns an Inspector that shares the pool's connection. It works before Start, and until Stop has ended. If the
// pool's Redis options are wrong, each of its calls returns that error. Its Close does nothing.
func Of(pool *work.WorkerPool) *Inspector { return inspectorOf(inside.Pool(pool), pool.Enqueuer) }

// Close closes the connection, unless it came from WithConnection or a pool. Closing again does nothing and returns the
// same error.
func (i *Inspector) Close() error {
	if i.toClose == nil {
		return nil
	}
	return i.toClose.Close()
}

// Cancel is [work.Enqueuer.Cancel], for those who enqueue nothing.
func (i *Inspector) Cancel(ctx context.Context, ids ...string) ([]work.CancelResult, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	return i.enqueuer().Cancel(ctx, ids...)
}
