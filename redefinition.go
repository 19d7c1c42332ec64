package work

import (
	"bytes"
	"context"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// change is what becomes of a schedule.
type change struct {
	definition []byte // nil removes it
	anew       bool   // its ticks begin now
	done       func() // may be nil
}

// redefinition changes schedules, however many there are, in a few round trips.
type redefinition struct {
	store   *rdb.Store
	decide  func(rdb.Schedule) (change, error)
	failure func(id string, err error) error // what is said of a schedule that could not be changed

	failed excerpt.Errors
}

// redefine reads a schedule and changes it, again if it was changed meanwhile.
func redefine(ctx context.Context, store *rdb.Store, id string, decide func(rdb.Schedule) (change, error)) error {
	r := redefinition{store: store, decide: decide, failure: func(_ string, err error) error { return err }}
	return r.run(ctx, []string{id})
}

// run changes these schedules, again those that were changed by others meanwhile. What fails for one keeps none of the
// others.
func (r *redefinition) run(ctx context.Context, ids []string) error {
	for range backoff.Rereads(ctx) {
		if len(ids) == 0 {
			break
		}
		left, err := r.round(ctx, ids)
		if err != nil {
			return r.failure(ids[0], err)
		}
		ids = left
	}
	for _, id := range ids {
		r.failed = append(r.failed,
			r.failure(id, fmt.Errorf("it was changed by others %d times in a row: try again", backoff.MaxRereads)))
	}
	return excerpt.Join(r.failed...)
}

// round returns the ids of those that were changed by others meanwhile.
func (r *redefinition) round(ctx context.Context, ids []string) (left []string, err error) {
	schedules, err := r.store.SchedulesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var changes []rdb.Redefinition
	var done []func()
	for _, stored := range schedules {
		wanted, err := r.decide(stored)
		if err != nil {
			r.failed = append(r.failed, r.failure(stored.ID, err))
			continue
		}
		if !bytes.Equal(wanted.definition, stored.Definition) {
			changes = append(changes, rdb.Redefinition{ID: stored.ID, Before: stored.Definition,
				Definition: wanted.definition, Anew: wanted.anew})
			done = append(done, wanted.done)
		}
	}
	answers, err := r.store.DefineAll(ctx, changes)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		switch {
		case answer.Err != nil:
			r.failed = append(r.failed, r.failure(changes[i].ID, answer.Err))
		case !answer.Done:
			left = append(left, changes[i].ID)
		case done[i] != nil:
			done[i]()
		}
	}
	return left, nil
}
