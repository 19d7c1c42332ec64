package pooltest

import (
	"runtime"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Parts are the parts of a pool that tests look at, and set before its start.
func Parts(p *work.WorkerPool) inside.Parts { return inside.Pool(p).Parts }

// PartsOf are those of an enqueuer.
func PartsOf(e *work.Enqueuer) inside.Parts { return inside.Enqueuer(e).Parts }

// Times are those of a pool, which may be changed before its start.
func Times(p *work.WorkerPool) *inside.Times { return Parts(p).Times }

// WorkerID is the name in Redis of the first worker of a pool.
func WorkerID(p *work.WorkerPool) string { return Parts(p).Workers[0] }

// WorkerIDs are those of all workers that the pool has now.
func WorkerIDs(p *work.WorkerPool) []string { return Parts(p).Workers }

// Leased tells whether the first worker of a pool knows that it has the lease on maintenance.
func Leased(p *work.WorkerPool) bool { return Parts(p).Leased }

// UntilLeased waits until a pool does the maintenance.
func (k *Kit) UntilLeased(p *work.WorkerPool) {
	k.T.Helper()
	k.Until("the pool has the lease", func() bool { return Leased(p) })
}

// StoreOf is the store that an enqueuer uses.
func StoreOf(e *work.Enqueuer) *rdb.Store { return inside.Enqueuer(e).Store }

// EnqueuerOn makes an Enqueuer of a driver, which stays open.
func EnqueuerOn(driver redisconn.Driver, namespace string, opts ...work.EnqueuerOption) *work.Enqueuer {
	enq, err := work.NewEnqueuer("",
		append(opts, work.WithConnection(Connection{driver}), work.Namespace(namespace))...)
	if err != nil {
		panic(err)
	}
	return enq
}

// UntilStopping is closed when Checkin answers true.
func UntilStopping(pool *work.WorkerPool) <-chan struct{} {
	stopping := make(chan struct{})
	go func() {
		defer close(stopping)
		for {
			of := inside.Pool(pool)
			if of.Stopping || of.Unusable != nil { // the last to be told, or nobody is left to
				return
			}
			runtime.Gosched()
		}
	}()
	return stopping
}
