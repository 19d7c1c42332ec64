// Package inspect reads what is stored of a namespace, and changes it by hand: jobs one by one and in bulk, queues,
// limits, schedules, workers, history, errors and logs. It is for operators, for their tools, and for tests. It imports
// package work as any program does, runs no jobs, and mends nothing: that is for package doctor, below it.
//
// # Partitions
//
// A namespace may be divided into partitions. An Inspector asks all of them side by side and merges what they say: it
// adds up counts, puts lists in one order, and goes through all of them with one cursor. Where some cannot be asked it
// returns what the others have said and a [*PartialError] beside it that names them, from each of its methods that
// asks several; so who gets one has something to show. Reads that are about one job ask the partition that most likely
// has it, and the others only if it does not. What workers, queues and jobs say of where they are, in Partition and
// Partitions, is 0 and empty where there is one.
package inspect

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rights"
)

// Inspector looks into a namespace and puts it in order. All methods may be called concurrently.
type Inspector struct {
	partitions  *partition.Directory
	begun       time.Time    // from which refreshed counts
	refreshed   atomic.Int64 // ns: when the map of the partitions is to be read again; 0 before the first time
	unusable    error        // why there is no Redis, which each call returns
	morgueLimit int

	enqueuer func() *work.Enqueuer // of the same connection
	toClose  *work.Enqueuer        // nil where it belongs to somebody else
}

func init() {
	inside.Inspector = func(inspector any) inside.Of {
		i := inspector.(*Inspector)
		of := inside.Of{Partitions: i.partitions, MorgueLimit: i.morgueLimit, Unusable: i.unusable}
		if i.partitions != nil {
			of.Store = i.partitions.Guarded(0)
		}
		return of
	}
}

// New makes an Inspector for the Redis that dsn names, or for the Connection of [work.WithConnection]; [work.Namespace]
// says which namespace, and with [work.Codecs] it seals what it stores. Other options have no effect on it. It does not
// connect: that happens at the first call. The caller closes it.
func New(dsn string, opts ...work.EnqueuerOption) (*Inspector, error) {
	enq, err := work.NewEnqueuer(dsn, opts...)
	if err != nil {
		return nil, err
	}
	of := inside.Enqueuer(enq)
	of.Partitions.As(rights.Reader, nil)
	i := inspectorOf(of, func() *work.Enqueuer { return enq })
	i.toClose = enq
	return i, nil
}

func inspectorOf(of inside.Of, enqueuer func() *work.Enqueuer) *Inspector {
	return &Inspector{partitions: of.Partitions, begun: time.Now(), unusable: of.Unusable, morgueLimit: of.MorgueLimit,
		enqueuer: enqueuer}
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
