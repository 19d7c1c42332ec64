package work

import (
	"context"
	"fmt"
	"sync"

	"github.com/265d0351/work/internal/partition"
)

// EnqueuerFromContext returns the Enqueuer for a handler, or a middleware, to enqueue with: that of the pool that runs
// the job of ctx, whichever pool that is. What is enqueued with it has the job's source, unless the call gives another,
// and the job's id as its [Job].Parent. A trace goes on where the ctx of the handler is also the one of the enqueue.
// Like [WorkerPool.Enqueuer] it refuses names that the pool does not know. Its Close does nothing, since others use it.
//
// Where no pool runs a job with this ctx, each call of the Enqueuer that is returned fails with [ErrNoPool].
func EnqueuerFromContext(ctx context.Context) *Enqueuer {
	if job := JobFromContext(ctx); job != nil {
		if run, ok := job.run.(enqueuing); ok {
			return run.enqueuer().With(passedOn(job, run))
		}
	}
	return poolless()
}

// enqueuing is a run of a job, as far as its handler enqueues.
type enqueuing interface {
	enqueuer() *Enqueuer
	noteChild(id string) // is called concurrently, with the id of each job that was stored
}

// enqueuer is the one that what the handler enqueues goes through.
func (r *run) enqueuer() *Enqueuer { return r.worker.host.Enqueuer() }

// noteChild keeps which job the handler has enqueued, for the trail.
func (r *run) noteChild(id string) {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.over {
		return // nobody changes the trail any more
	}
	r.long.children.Add(id)
}

// passedOn is what a job passes on to those that its handler enqueues.
func passedOn(job *Job, run enqueuing) EnqueueOption {
	source, id := job.SourceID, job.ID
	return func(s *jobSettings) { s.source, s.parent, s.born = source, id, run.noteChild }
}

// poolless is the Enqueuer of those who have none. It is closed from the start, with ErrNoPool instead of ErrClosed.
var poolless = sync.OnceValue(func() *Enqueuer {
	err := fmt.Errorf("%w with this ctx: give EnqueuerFromContext that of a handler", ErrNoPool)
	enq := newEnqueuer(partition.NewDirectory(unopened{err}, defaultNamespace), enqueuerSettings{closed: err})
	enq.settings.err = err
	_ = enq.Close() // it has nothing to lose
	return enq
})
