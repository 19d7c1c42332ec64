package schedule

import (
	"bytes"
	"context"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Change is what becomes of a schedule.
type Change struct {
	Definition []byte // nil removes it
	Anew       bool   // its ticks begin now
	Done       func() // is called once Redis has taken the change; may be nil
}

// Redefinition changes schedules, however many there are, in a few round trips.
type Redefinition struct {
	Store   *rdb.Store
	Decide  func(rdb.Schedule) (Change, error) // what becomes of a schedule, which may have no definition yet
	Failure func(id string, err error) error   // what is said of a schedule that could not be changed

	failed excerpt.Errors
}

// Redefine reads a schedule and changes it, again if it was changed meanwhile.
func Redefine(ctx context.Context, store *rdb.Store, id string, decide func(rdb.Schedule) (Change, error)) error {
	r := Redefinition{Store: store, Decide: decide, Failure: func(_ string, err error) error { return err }}
	return r.Run(ctx, []string{id})
}

// Run changes these schedules, again those that were changed by others meanwhile. What fails for one keeps none of the
// others.
func (r *Redefinition) Run(ctx context.Context, ids []string) error {
	for range backoff.Rereads(ctx) {
		if len(ids) == 0 {
			break
		}
		left, err := r.round(ctx, ids)
		if err != nil {
			return r.Failure(ids[0], err)
		}
		ids = left
	}
	for _, id := range ids {
		r.failed = append(r.failed,
			r.Failure(id, fmt.Errorf("it was changed by others %d times in a row: try again", backoff.MaxRereads)))
	}
	return excerpt.Join(r.failed...)
}

// round returns the ids of those that were changed by others meanwhile.
func (r *Redefinition) round(ctx context.Context, ids []string) (left []string, err error) {
	schedules, err := r.Store.SchedulesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var changes []rdb.Redefinition
	var done []func()
	for _, stored := range schedules {
		wanted, err := r.Decide(stored)
		if err != nil {
			r.failed = append(r.failed, r.Failure(stored.ID, err))
			continue
		}
		if !bytes.Equal(wanted.Definition, stored.Definition) {
			changes = append(changes, rdb.Redefinition{ID: stored.ID, Before: stored.Definition,
				Definition: wanted.Definition, Anew: wanted.Anew})
			done = append(done, wanted.Done)
		}
	}
	answers, err := r.Store.DefineAll(ctx, changes)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		switch {
		case answer.Err != nil:
			r.failed = append(r.failed, r.Failure(changes[i].ID, answer.Err))
		case !answer.Done:
			left = append(left, changes[i].ID)
		case done[i] != nil:
			done[i]()
		}
	}
	return left, nil
}
