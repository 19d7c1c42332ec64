package work

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/waiting"
	"github.com/265d0351/work/objects"
)

// NoResultError says that a job has ended and that there is no result, nor will there be.
type NoResultError struct {
	ID string
	// "done": its handler returns no value; "cancelled", "discarded", "expired", "deleted": it did not end well
	State   string
	Problem string // why the value that its handler returned is not kept; empty otherwise

	Failure event.FailureKind // of the attempt with which it was discarded, out of retries
}

func (e *NoResultError) Error() string { return excerpt.Cut(e.text()) }

func (e *NoResultError) text() string {
	switch {
	case e.Problem != "":
		return fmt.Sprintf("job %s is done but its result is not kept: %s", excerpt.Brief(e.ID), e.Problem)
	case e.State == record.Succeeded:
		return fmt.Sprintf("job %s is done but has no result: its handler must return a value beside its error",
			excerpt.Brief(e.ID))
	}
	return fmt.Sprintf("job %s ended as %s, so it has no result", excerpt.Brief(e.ID), e.State)
}

// Is makes that of a cancelled job [ErrCancelled] for errors.Is, and that of one that died by a timeout [ErrTimeout].
func (e *NoResultError) Is(target error) bool {
	return target == ErrCancelled && e.State == record.Cancelled ||
		target == ErrTimeout && e.Failure == event.FailureTimeout
}

// Result returns what the handler of a job returned beside its error. Results are kept for the Retention that the job's
// options or its enqueue name; by default none are. The error is [ErrGone] while nothing is kept (not ended yet, or no
// longer kept), *[NoResultError] when the job ended without a result, or says why the result does not fit T or Redis
// could not be asked. It does not wait for the job: see [Wait]. It may be called concurrently.
func Result[T any](ctx context.Context, enq *Enqueuer, id string) (T, error) {
	kept, at, err := enq.outcome(ctx, id)
	if err != nil {
		var none T
		return none, err
	}
	return outcomeResult[T](ctx, enq, keptOutcome{kept, id, at})
}

// keptOutcome is what is kept of a job, and in which partition.
type keptOutcome struct {
	record.Outcome
	id string
	at int
}

// outcomeResult is the result in what is kept of a job.
func outcomeResult[T any](ctx context.Context, enq *Enqueuer, kept keptOutcome) (T, error) {
	var result, none T
	id := kept.id
	if _, unread := any(none).(NoResult); unread && kept.State == record.Succeeded {
		return none, nil
	}
	if kept.Object != "" {
		if err := enq.fillIn(ctx, &kept); err != nil {
			return none, err
		}
	}
	if kept.State != record.Succeeded || len(kept.Result) == 0 {
		return none, &NoResultError{ID: id, State: kept.State, Problem: kept.Problem,
			Failure: event.FailureKind(kept.Failure)}
	}
	open, err := enq.settings.codecs.Open(codec.Result(id), kept.Result)
	if err != nil {
		return none, codecError("the result of job "+excerpt.Brief(id), err)
	}
	if err := decodeValue(open, &result); err != nil {
		return none, fmt.Errorf("the result of job %s does not fit a %T: %w", excerpt.Brief(id), none, err)
	}
	return result, nil
}

// outcome reads what is kept of a job, and tells in which partition.
func (e *Enqueuer) outcome(ctx context.Context, id string) (kept record.Outcome, at int, err error) {
	if err := validateID(id); err != nil {
		return kept, 0, err
	}
	var stored sync.Map // by partition
	err = e.core.intake.Ask(ctx, func(ctx context.Context) (err error) {
		at, err = e.core.parts.Find(ctx, id, func(ctx context.Context, number int) (bool, error) {
			text, err := e.core.places.store(number).Outcome(ctx, id)
			stored.Store(number, text)
			return text != nil, err
		})
		return err
	})
	if err != nil {
		return kept, 0, asPartition(fmt.Errorf("the outcome of job %s cannot be read: %w", excerpt.Brief(id), err))
	}
	if at < 0 {
		return kept, 0, fmt.Errorf(
			"job %s: %w: it has not ended yet, its Retention (by default none) is over, or there was no such job",
			excerpt.Brief(id), ErrGone)
	}
	text, _ := stored.Load(at)
	kept, err = readOutcome(id, text.([]byte))
	return kept, at, err
}

// readOutcome names the job where what is kept of it cannot be read.
func readOutcome(id string, stored []byte) (record.Outcome, error) {
	kept, err := record.DecodeOutcome(stored)
	if err != nil {
		return record.Outcome{}, fmt.Errorf("the outcome of job %s is not what this version writes: %w",
			excerpt.Brief(id), err)
	}
	return kept, nil
}

// fillIn reads the result of an outcome that is an object.
func (e *Enqueuer) fillIn(ctx context.Context, kept *keptOutcome) error {
	contents, err := e.core.places.contents(kept.at)
	if err == nil {
		err = e.core.intake.Move(ctx, objects.MaxSize, func(ctx context.Context) error {
			content, err := contents.Get(ctx, objects.Hash(kept.Object))
			kept.Result = json.RawMessage(content)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("the result of job %s is the object %s, which cannot be read: %w", excerpt.Brief(kept.id),
			excerpt.Brief(kept.Object), err)
	}
	return nil
}

// Wait waits until a job has ended and returns what its handler returned beside its error. It makes no difference
// whether the job ends before or after the call, as long as its outcome is kept: for its Retention, and at least a
// minute where somebody waits. Many callers may wait for one job, and one program for many jobs: they share a
// connection and their requests, and nobody polls.
//
// A job that did not end well is an error: *[JobFailedError] when it is dead; *[NoResultError] when it was cancelled
// (which is also [ErrCancelled]), discarded, deleted, has expired, or when its handler returns no value (see
// [Enqueuer.WaitEnd]); [ErrGone] when nothing is kept of it, or there was no such job. A failed attempt that is
// followed by another is no end. When ctx ends the error is its cause; nothing is left behind. [Enqueuer.Close] ends
// the wait with [ErrClosed].
//
// A handler that waits with its ctx gives its processor back meanwhile, so it may wait for jobs that its own pool is to
// run. At most 1,000 handlers of a worker may wait at once, and none once the pool is stopping (the error is
// [ErrShutdown] then): the wait of any other, for jobs that have not all ended, returns an error by which, if the
// handler returns it, its job is tried again later as after [Release]. The job still counts towards the limits of its
// name: see docs/jobs.md.
func Wait[T any](ctx context.Context, enq *Enqueuer, id string) (result T, err error) {
	if unended := enq.wait(ctx, []string{id}, func(end waiting.End) bool {
		result, err = endResult[T](ctx, enq, end)
		return true
	}); unended != nil {
		return result, unended
	}
	return result, err
}

// WaitAll waits until all jobs have ended, as [Wait] does, and returns their results in the order of ids. Those of jobs
// that gave none are zero, and the error is made of theirs: errors.As and errors.Is find each. When ctx ends, what has
// come until then is returned.
func WaitAll[T any](ctx context.Context, enq *Enqueuer, ids ...string) ([]T, error) {
	results, failed := make([]T, len(ids)), make([]error, len(ids))
	places := map[string][]int{}
	for i, id := range ids {
		places[id] = append(places[id], i)
	}
	unended := enq.wait(ctx, distinct(ids, places), func(end waiting.End) bool {
		result, err := endResult[T](ctx, enq, end)
		for _, i := range places[end.ID] {
			results[i] = result
		}
		failed[places[end.ID][0]] = err
		return false
	})
	return results, excerpt.Join(append(failed, unended)...)
}

// WaitAny waits until one of the jobs has ended, as [Wait] does, and returns its id with its result or error: also a
// job that failed has ended. Where several have, it is any of them. The id is empty when ctx ended before.
func WaitAny[T any](ctx context.Context, enq *Enqueuer, ids ...string) (id string, result T, err error) {
	if len(ids) == 0 {
		return "", result, &InvalidError{What: "ids of WaitAny", Value: "empty", Remedy: "give one or more"}
	}
	places := map[string][]int{}
	for i, id := range ids {
		places[id] = append(places[id], i)
	}
	if unended := enq.wait(ctx, distinct(ids, places), func(end waiting.End) bool {
		id = end.ID
		result, err = endResult[T](ctx, enq, end)
		return true
	}); unended != nil {
		return "", result, unended
	}
	return id, result, err
}

// WaitEnd waits until a job has ended, as [Wait] does, and returns nil if it has ended well, with a result or without.
func (e *Enqueuer) WaitEnd(ctx context.Context, id string) error {
	_, err := Wait[NoResult](ctx, e, id)
	return err
}

// NoResult is the result of jobs whose handler returns none, or where nobody asks for it: [Wait] and [Result] return it
// without an error when the job has ended well.
type NoResult struct{}

// distinct are the ids in their order, each once.
func distinct(ids []string, places map[string][]int) []string {
	once := make([]string, 0, len(places))
	for i, id := range ids {
		if places[id][0] == i {
			once = append(once, id)
		}
	}
	return once
}

// wait tells the ends of jobs as they come, until all have ended or enough is true.
func (e *Enqueuer) wait(ctx context.Context, ids []string, enough func(waiting.End) bool) error {
	for _, id := range ids {
		if err := validateID(id); err != nil {
			return err
		}
	}
	w := e.core.waiters
	return awaiting(ctx, func(ctx context.Context) error { return asPartition(w.Wait(ctx, ids, enough)) },
		func(ctx context.Context) bool { return w.Look(ctx, ids, enough) })
}

// endResult is what the end of a job means to those who wait for its result.
func endResult[T any](ctx context.Context, enq *Enqueuer, end waiting.End) (result T, err error) {
	switch {
	case end.Err != nil:
		return result, asPartition(end.Err)
	case end.Known.State == rdb.WaitDead:
		return result, newJobFailedError(end.ID, record.DecodeTrail(end.Known.Kept))
	case end.Known.State == rdb.WaitGone:
		return result, fmt.Errorf(
			"job %s: %w: its Retention (by default none) was over before anybody waited, or there was no such job",
			excerpt.Brief(end.ID), ErrGone)
	}
	kept, err := readOutcome(end.ID, end.Known.Kept)
	if err != nil {
		return result, err
	}
	return outcomeResult[T](ctx, enq, keptOutcome{kept, end.ID, end.Partition})
}

// JobFailedError is the error of those who wait for a job that is dead: it is in the morgue, and gives no result unless
// somebody retries it by hand.
type JobFailedError struct {
	ID       string
	Reason   string // why it was buried: "out of retries" for instance
	Attempts int    // that failed; 0 where its workers died or it could not begin
	Err      string // of the last failed attempt; empty when there was none

	Failure event.FailureKind // of the attempt with which it died
}

func newJobFailedError(id string, t record.Trail) *JobFailedError {
	e := &JobFailedError{ID: id, Reason: t.Reason, Attempts: t.Fails, Failure: event.FailureKind(t.Failure)}
	if n := len(t.Errors); n > 0 {
		e.Err = t.Errors[n-1].Error
	}
	return e
}

// Is makes that of a job that died by a timeout [ErrTimeout] for errors.Is.
func (e *JobFailedError) Is(target error) bool {
	return target == ErrTimeout && e.Failure == event.FailureTimeout
}

func (e *JobFailedError) Error() string { return excerpt.Cut(e.text()) }

func (e *JobFailedError) text() string {
	text := "job " + excerpt.Brief(e.ID) + " is dead"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Attempts > 0 {
		text += fmt.Sprintf(", failed attempts: %d", e.Attempts)
	}
	if e.Err != "" {
		text += ", the last error: " + e.Err
	}
	return text
}

// Completion names the completion queue that learns of the end of the job: a name as that of a job, which any number of
// jobs may share. See [Enqueuer.Completions].
func Completion(name string) EnqueueOption {
	return func(s *jobSettings) {
		s.completion = name
		if err := validateName(name); err != nil {
			s.refuse(fmt.Errorf("option Completion: %w", err))
		}
	}
}

// Ended is a job that has ended, as its completion queue tells it.
type Ended struct {
	ID    string
	State State // StateSucceeded, StateCancelled, StateDiscarded, StateExpired, StateDeleted, or StateDead
}

// Completions reads one completion queue: the ids of jobs with the option [Completion], about in the order in which
// they end. A job that goes to the morgue comes as [StateDead], and once more if it is retried by hand and ends.
// Results are kept for the jobs' Retention: see [Result].
//
// Any number of readers may share a queue, in one program or in many: each entry comes to one of them, once. It is
// taken at the moment in which Next returns it; a lost connection or a ctx that ends loses none, but what a program has
// been told and not dealt with when it dies is gone. What nobody reads is removed a week after the queue's last entry.
// All methods may be called concurrently.
type Completions struct {
	queue *waiting.GroupQueue
	err   error // what is wrong with the name
}

// readers are the completion queues that an enqueuer reads, by name. A program may ask for one again and again.
type readers struct {
	mu    sync.Mutex
	known map[string]*Completions
}

// Completions returns the reader of a completion queue: the same one for the same name. It asks for nothing yet. The
// Enqueuer's Close ends it.
func (e *Enqueuer) Completions(name string) *Completions {
	r := &e.core.readers
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[name]; known != nil {
		return known
	}
	if r.known == nil {
		r.known = map[string]*Completions{}
	}
	c := &Completions{queue: e.core.waiters.Queue(name, ids.Job(time.Now())), err: validateName(name)}
	r.known[name] = c
	return c
}

// Next waits until a job has ended, and takes it. When ctx ends the error is its cause; [Enqueuer.Close] ends the wait
// with [ErrClosed]. A Redis that is away is waited for. A handler gives its processor back meanwhile, as in [Wait].
func (c *Completions) Next(ctx context.Context) (Ended, error) {
	if c.err != nil {
		return Ended{}, fmt.Errorf("completion queue: %w", c.err)
	}
	var taken rdb.Collected
	if err := awaiting(ctx, func(ctx context.Context) (err error) {
		taken, err = c.queue.Next(ctx)
		return asPartition(err)
	}, nil); err != nil {
		return Ended{}, err
	}
	return Ended{ID: taken.ID, State: State(record.StateName(taken.State))}, nil
}

// All ranges over the jobs as they end, until ctx ends or there is an error, which comes last.
func (c *Completions) All(ctx context.Context) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		for {
			ended, err := c.Next(ctx)
			if !yield(ended, err) || err != nil {
				return
			}
		}
	}
}
