package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// Stall puts a job aside that is queued, scheduled or retrying: it stays so, without using up an attempt, until it is
// resumed, deleted or cancelled. To stall it again does nothing.
//
// This and all other controls by hand: a job in another state is refused with *[StateError], one of which nothing is
// there with [work.ErrNotFound], and one in the middle of a very long queue with *[TooDeepError]. Each may be repeated
// after an error from the connection, when it may have been done.
func (i *Inspector) Stall(ctx context.Context, id string) error {
	return i.control(ctx, id, stalling())
}

// Resume puts a stalled job at the back of its queue. For one that is queued it does nothing.
func (i *Inspector) Resume(ctx context.Context, id string) error {
	return i.control(ctx, id, resuming())
}

// RunNow puts a scheduled job at the back of its queue. For one that is queued it does nothing.
func (i *Inspector) RunNow(ctx context.Context, id string) error {
	return i.control(ctx, id, running())
}

// RetryOption is an option of [Inspector.RetryNow].
type RetryOption func(*retrySettings)

type retrySettings struct{ fresh bool }

// FreshAttempts lets a job that is retried have as many attempts as a new one. Its errors stay.
func FreshAttempts() RetryOption { return func(s *retrySettings) { s.fresh = true } }

// RetryNow puts a job that is retrying or dead at the back of its queue. Its failures count as before, so that a dead
// one has one more attempt, unless [FreshAttempts] is given; its errors are kept. For one that is queued it does
// nothing. A dead job that is unique until it has ended takes its lock again; while another one of its kind lives it is
// not retried, and the error wraps a *[work.DuplicateError].
func (i *Inspector) RetryNow(ctx context.Context, id string, opts ...RetryOption) error {
	return i.control(ctx, id, retrying(opts))
}

// Reschedule changes when a scheduled or a retrying job is due, to a time in whole milliseconds. One that has passed is
// at once.
func (i *Inspector) Reschedule(ctx context.Context, id string, at time.Time) error {
	c, err := rescheduling(at)
	if err != nil {
		return failed(id, "rescheduled", err)
	}
	return i.control(ctx, id, c)
}

// MoveToFront puts a queued job before all others of its queue.
func (i *Inspector) MoveToFront(ctx context.Context, id string) error {
	return i.control(ctx, id, fronting())
}

// Delete removes a job that is queued, scheduled, retrying, stalled or dead, with all that belongs to it, or the
// outcome that is kept of one that has ended. One that runs is refused: cancel it first. In a queue so long that it
// cannot be found there it is flagged instead: it reads as deleted from now on, and goes when its turn comes, without
// being run. Who waits for its outcome learns that it was deleted.
//
// One that somebody has cancelled ends as cancelled, and is refused: of a Delete, a Purge and a Cancel of one job, at
// the same time or one after the other, a single one is told that it has done it. What is kept of a job that was
// cancelled or deleted goes by itself.
func (i *Inspector) Delete(ctx context.Context, id string) error {
	v, seen, err := i.find(ctx, id)
	if err != nil {
		return failed(id, "deleted", err)
	}
	c := deleting()
	switch {
	case !seen.over:
		err := i.control(ctx, id, c)
		if refused := (*StateError)(nil); errors.As(err, &refused) && refused.State == work.StateCancelled {
			i.endCancelled(ctx, id)
		}
		return err
	case seen.state == work.StateCancelled || seen.state == work.StateDeleted:
		return c.refusal(&seen)
	}
	if _, err := v.store.DropOutcome(ctx, id); err != nil {
		return failed(id, "deleted", err)
	}
	return nil
}

// endCancelled ends a job that is to be cancelled, where it stands: whoever cancelled it may have gone away before it
// could. What comes in the way of it does not matter: then it ends when a worker or the janitor comes by it.
func (i *Inspector) endCancelled(ctx context.Context, id string) {
	v, seen, err := i.find(ctx, id)
	if err != nil || seen.over || seen.state != work.StateCancelled {
		return
	}
	rests := ending.Resting{Name: seen.Name(), Record: seen.Record, Trail: seen.Trail, Now: time.UnixMilli(seen.now)}
	_, _ = v.store.Execute(ctx, []rdb.Order{v.store.Remove(seen.JobPlace, rests.Cancelled())})
}

func stalling() control {
	return control{
		past: "stalled", from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying},
		already: []work.State{work.StateStalled},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			return store.Move(seen.JobPlace, rdb.Destination{Shelf: rdb.ShelfStalled})
		},
	}
}

func resuming() control {
	return control{
		past: "resumed", from: []work.State{work.StateStalled}, already: []work.State{work.StateQueued},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order { return store.Move(seen.JobPlace, rdb.Destination{}) },
	}
}

func running() control {
	return control{
		past: "run now", from: []work.State{work.StateScheduled}, already: []work.State{work.StateQueued},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			return store.Move(seen.JobPlace, rdb.Destination{Trail: seen.trailDueAt(seen.now, nil)})
		},
	}
}

func retrying(opts []RetryOption) control {
	var settings retrySettings
	for _, opt := range opts {
		if opt != nil {
			opt(&settings)
		}
	}
	return control{
		past: "retried", from: []work.State{work.StateRetrying, work.StateDead},
		already: []work.State{work.StateQueued},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			return store.Move(seen.JobPlace, rdb.Destination{Lock: seen.freedLock(),
				Trail: seen.trailDueAt(seen.now, func(t *record.Trail) {
					t.Reason, t.Failure, t.Releases = "", "", 0
					t.Begun = true // somebody asked for it: it does not expire any more
					if settings.fresh {
						t.Fails, t.First = 0, seen.now // RetryFor counts anew as well
					}
				})})
		},
	}
}

func rescheduling(at time.Time) (control, error) {
	if at.UnixMilli() <= 0 || time.Until(at) > span.Longest {
		return control{}, &work.InvalidError{What: "the time", Value: at.Format(time.RFC3339),
			Remedy: "use one after 1970 and at most 100 years ahead"}
	}
	due := at.Add(time.Millisecond - 1).UnixMilli() // never before the time given
	return control{
		past: "rescheduled", from: []work.State{work.StateScheduled, work.StateRetrying},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			to := rdb.Destination{Shelf: seen.Shelf, At: due, Trail: seen.trailDueAt(due, nil)}
			return store.Move(seen.JobPlace, to)
		},
	}, nil
}

func fronting() control {
	return control{
		past: "moved to the front", from: []work.State{work.StateQueued},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			return store.Move(seen.JobPlace, rdb.Destination{Front: true})
		},
	}
}

func deleting() control {
	return control{
		past: "deleted", from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying,
			work.StateStalled, work.StateDead},
		already: []work.State{work.StateDeleted},
		order: func(store *rdb.Store, seen *seenJob) rdb.Order {
			return ending.Delete(store, &seen.SeenJob, seen.now)
		},
		second: func(store *rdb.Store, seen *seenJob, answer rdb.Answer) (rdb.Order, bool) {
			return ending.DeleteOtherwise(store, &seen.SeenJob, seen.now, answer)
		},
	}
}
