package work

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Together has the jobs of one name taken together: their handler takes a [Batch], of up to Most of them, instead of
// the argument of one. The zero value is one by one.
type Together struct {
	// how many at the most, 1 to 500. A batch that has so many begins; MaxRunning, Limit and Rate may let it have less
	Most int
	// for how long the first one waits for others, at most an hour; 0 is not at all: what waits just then is taken. A
	// stop ends it, and what was collected goes back to the front of its queue
	Wait time.Duration
	// those of one [Key] only; jobs without a key are together as well
	ByKey bool
}

// The bounds of Together.
const (
	maxTogether     = 500
	maxTogetherWait = time.Hour
)

// validate checks the options; ordered tells whether the jobs of a key run one after the other.
func (t Together) validate(ordered bool, refuse func(field string, value any, remedy string)) {
	if t == (Together{}) {
		return
	}
	if t.ByKey && ordered {
		refuse("Together.ByKey", "true beside Ordered",
			"leave one of them out: the jobs of an ordered key run one by one, those of several keys together")
	}
	if t.Most < 1 || t.Most > maxTogether {
		refuse("Together.Most", t.Most, fmt.Sprintf("give 1 to %d", maxTogether))
	}
	if t.Wait < 0 || t.Wait > maxTogetherWait {
		refuse("Together.Wait", t.Wait, "give up to an hour, or 0 to take what waits just then")
	}
}

// mostTogether is how many of the jobs a batch may have, where limits let no more run at once.
func (o *JobOptions) mostTogether() int {
	limits := []int{o.MaxRunning, o.Limit.Concurrent}
	if o.Together.ByKey {
		limits = append(limits, o.PerKey.Concurrent)
	}
	most := o.Together.Most
	for _, limit := range limits {
		if limit > 0 {
			most = min(most, limit)
		}
	}
	return most
}

// suits checks that the handler takes jobs as the options have it: together, or one by one.
func (t Together) suits(takesBatch bool, function string) error {
	switch set := t != (Together{}); {
	case set && !takesBatch:
		return &InvalidError{What: "JobOptions.Together", Value: "given with the handler " + function,
			Remedy: "have that take a work.Batch[A] as its only argument, or leave Together out"}
	case !set && takesBatch:
		return &InvalidError{What: "JobOptions.Together", Value: "left out with the handler " + function,
			Remedy: "say how many its work.Batch may have: work.Together{Most: 100, Wait: time.Second}"}
	}
	return nil
}

// Batch is jobs of one name that a handler takes together, in the order in which they were fetched. A is the type of
// the one argument that each has, which may be a struct. See [Together].
//
//	func (c *Context) Index(ctx context.Context, batch work.Batch[Document]) error {
//		failed, err := c.search.IndexAll(ctx, batch.Args())
//		for i, err := range failed {
//			batch[i].Fail(err)
//		}
//		return err // that of the others
//	}
type Batch[A any] []*Item[A]

// Args are those of all jobs, in their order.
func (b Batch[A]) Args() []A {
	args := make([]A, len(b))
	for i, item := range b {
		args[i] = item.Args
	}
	return args
}

// Item is a job of a [Batch]. Its methods may be called concurrently, also for different items, until the handler
// returns; what is said later does not count. The last of several calls does.
type Item[A any] struct {
	Job  *Job // its Checkin is true once this very job was cancelled
	Args A

	outcome itemOutcome
}

// itemOutcome is what a handler has said of one job of a batch; empty while it has said nothing.
type itemOutcome struct{ said atomic.Pointer[itemResult] }

type itemResult struct {
	err       error
	value     any
	hasResult bool
}

// Fail ends the job as if a handler of its own had returned err: it is retried, or what [RetryIn], [Snooze], [Release],
// [Bury] or [Discard] ask for. nil is that it is done. A job for which nothing is said ends by the error that the
// handler of the batch returns.
func (i *Item[A]) Fail(err error) { i.outcome.said.Store(&itemResult{err: err}) }

// Return ends the job as done, with a result: see [Result]. One that does not encode, where it is to be kept, fails the
// job.
func (i *Item[A]) Return(result any) {
	i.outcome.said.Store(&itemResult{value: result, hasResult: true})
}

// Said is what was said last of the job: whether anything was, and the error or the result. It is meant for tests of
// handlers, which may make items by themselves.
func (i *Item[A]) Said() (result any, err error, said bool) {
	if o := i.outcome.said.Load(); o != nil {
		return o.value, o.err, true
	}
	return nil, nil, false
}

// Context is ctx, which is that of the handler or made from it, as that of this job: [JobFromContext] is its job, and
// what is enqueued with it through [EnqueuerFromContext] has this job as its parent. [Step], [Sleep] and [Receive] with
// it are those of this job; with the ctx of the handler itself they are a *[StepError], since that is of all of them.
// It ends when ctx does.
func (i *Item[A]) Context(ctx context.Context) context.Context {
	return context.WithValue(context.WithValue(ctx, jobKey{}, i.Job), itemKey{}, i.Job)
}

// itemKey has the job of an [Item] in its ctx.
type itemKey struct{}

// isOfBatch tells whether ctx is that of the handler of a batch, whose job is only the first one.
func isOfBatch(ctx context.Context, job *Job) bool {
	return job.run.batch() != nil && ctx.Value(itemKey{}) != any(job)
}

// anyBatch is a [Batch], whatever the argument of its jobs.
type anyBatch interface {
	arg() any
	of(jobs []*Job, args []any) (batch any, outcomes []*itemOutcome)
}

// arg is a nil pointer to the argument of its jobs.
func (b Batch[A]) arg() any { return (*A)(nil) }

// of makes a batch of these jobs, and returns where the handler says what becomes of each.
func (b Batch[A]) of(jobs []*Job, args []any) (any, []*itemOutcome) {
	items, batch, outcomes := make([]Item[A], len(jobs)), make(Batch[A], len(jobs)), make([]*itemOutcome, len(jobs))
	for i, job := range jobs {
		items[i].Job = job
		items[i].Args, _ = args[i].(A) // not so only for the nil of an interface
		batch[i], outcomes[i] = &items[i], &items[i].outcome
	}
	return batch, outcomes
}

type anyItem interface{ ofBatch() }

func (i *Item[A]) ofBatch() {}

// batchLooks tells the handlers' compiler what a batch is.
func batchLooks(zero any) (arg any, item bool) {
	if batch, is := zero.(anyBatch); is {
		return batch.arg(), false
	}
	_, item = zero.(anyItem)
	return nil, item
}

// Together are all jobs of the batch that this run is of, in their order, for middleware: it is called once for all of
// them, with the first one as its job. It is nil for a job that is not taken together with others.
func (j *Job) Together() []*Job {
	if j.run == nil {
		return nil
	}
	return j.run.batch()
}
