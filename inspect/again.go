package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// EnqueueAgain enqueues a job anew that has ended, however it did: it does again what that one did, as a job of its own
// with all attempts and another id, at the back of the queue. [JobInfo.AgainOf] and AgainAs lead from one to the other.
// Args, meta, tags, source and the options of its enqueue are the same; the time until which it had to begin or end is
// left out if it has passed. It takes the lock that its [work.Unique] asks for, but none for a time, see
// [work.UniqueOptions].For: others like it may be enqueued within that time.
//
// A job is enqueued again once. A second call, after a lost reply or by somebody else, stores nothing: its receipt
// names the job that was stored first, as a Duplicate, without RunAt. To repeat that one, enqueue that again.
//
// A job that has not ended is refused with *[StateError]: see [Inspector.RetryNow] for those that are dead or retrying.
// One whose args are not kept is refused with *[ArgsGoneError], one of which nothing is known with [work.ErrNotFound],
// and one of whose kind another one lives, by its [work.Unique], with *[work.DuplicateError]. After an error from the
// connection it may have been done: call it again.
func (i *Inspector) EnqueueAgain(ctx context.Context, id string) (work.Receipt, error) {
	if i.unusable != nil {
		return work.Receipt{}, i.unusable
	}
	if err := inside.AsInvalid(invalid.JobID(id)); err != nil {
		return work.Receipt{}, failed(id, againPast, err)
	}
	for range backoff.Rereads(ctx) {
		var receipt work.Receipt
		err := i.routed(ctx, func() error {
			v, err := i.whereAgain(ctx, id)
			if err != nil {
				return failed(id, againPast, err)
			}
			receipt, err = v.enqueueAgain(ctx, id)
			return err
		})
		if err == nil || !errors.Is(err, errMoved) {
			return receipt, err
		}
	}
	return work.Receipt{}, failed(id, againPast, errKeepsMoving)
}

const againPast = "enqueued again"

// whereAgain is the partition that has what is kept of the job, which is where the new one is stored: the note in the
// one that has ended, and the record of the other, are written at once. So they must belong there together.
func (i *Inspector) whereAgain(ctx context.Context, id string) (*view, error) {
	of := i.everywhere(ctx)
	if of.single() {
		return of.views[0], nil
	}
	v, seen, err := i.find(ctx, id)
	if err != nil {
		return nil, err
	}
	details, _ := ended.Decode(seen.kept)
	rec, _ := record.Decode(details.Record) // of one that is not kept nothing is known, which is told later
	home, err := i.arrived(ctx, func(m *partition.Map) partition.Home {
		return m.Home(partition.Job{Name: rec.Name, Key: rec.Key, Lock: rec.Lock})
	})
	m := i.partitions.Map()
	switch {
	case err != nil:
		return nil, err
	case home.Bound && home.Partition != v.partition:
		return nil, fmt.Errorf("what is kept of it is in partition %d, and one like it now belongs into partition %d, "+
			"since %s: enqueue another one", v.partition, home.Partition, home.By)
	case m.State(v.partition) != partition.Open:
		return nil, fmt.Errorf("what is kept of it is in partition %d, which is %s: enqueue another one", v.partition,
			m.State(v.partition))
	}
	return v, nil
}

// errMoved is why to look once more.
var errMoved = errors.New("it has changed meanwhile")

// ArgsGoneError says that a job has ended whose args are not kept, so that it cannot be enqueued again. Nothing was
// done.
type ArgsGoneError struct {
	ID    string
	State work.State // how it ended
	// "unwanted" (see work.OmitArgs), "too large" (it would have more than 64 KiB with them), "not kept" (it had no
	// Retention, or newer jobs have taken its place), "damaged", or "object", where one of them was an object that is
	// gone
	Why string
}

func (e *ArgsGoneError) Error() string {
	why := map[string]string{
		string(ended.Unwanted): "are not kept, as its handler or its enqueue asked for with OmitArgs",
		string(ended.TooLarge): "were not kept: it would have more than 64 KiB with them",
		argsObject:             "are not all there any more: one of them was an object, which is gone",
		argsDamaged:            "cannot be read",
	}[e.Why]
	if why == "" {
		why = "are not kept: it had no Retention, or newer jobs have taken its place"
	}
	return fmt.Sprintf("job %s, which is %s, was not enqueued again: its args %s: enqueue another one",
		excerpt.Brief(e.ID), e.State, why)
}

// Why args are not there, beside the reasons of package ended.
const (
	argsNotKept = "not kept"
	argsDamaged = "damaged"
	argsObject  = "object"
)

// enqueueAgain looks and lets a script do it that looks again.
func (v *view) enqueueAgain(ctx context.Context, id string) (work.Receipt, error) {
	found, err := v.store.Lookup(ctx, []string{id}, record.NameIn)
	if err == nil {
		err = found[0].Err
	}
	if err != nil {
		return work.Receipt{}, failed(id, againPast, err)
	}
	switch found[0].Where {
	case rdb.WhereGone:
		return work.Receipt{}, failed(id, againPast, work.ErrNotFound)
	case rdb.WhereEnded:
	default:
		seen := seenFrom(&found[0])
		return work.Receipt{}, &StateError{ID: id, State: seen.state, What: againPast,
			Wanted: slices.Clone(endedStates)}
	}
	again, receipt, err := newAgain(&found[0], ids.InPartition(ids.Job(found[0].Time), v.partition))
	if err != nil || receipt.Duplicate {
		return receipt, err
	}
	answer, err := v.store.Again(ctx, again)
	switch {
	case err != nil:
		return work.Receipt{}, failed(id, againPast, err)
	case answer.Owner != "":
		return work.Receipt{}, failed(id, againPast,
			&work.DuplicateError{Name: again.Shelf.Name, ID: answer.Owner, Stored: true})
	case answer.NoObject != "":
		return work.Receipt{}, &ArgsGoneError{ID: id, State: stateEnded(&found[0]), Why: argsObject}
	case !answer.Stored:
		return work.Receipt{}, errMoved
	}
	return receipt, nil
}

func stateEnded(f *rdb.Found) work.State { return work.State(record.EndedAs(f.Outcome)) }

// newAgain makes the order of what is kept of a job, for a new one of that id. Where it was enqueued again before, the
// receipt says so.
func newAgain(f *rdb.Found, id string) (again rdb.Again, receipt work.Receipt, err error) {
	gone := func(why string) (rdb.Again, work.Receipt, error) {
		return rdb.Again{}, work.Receipt{}, &ArgsGoneError{ID: f.ID, State: stateEnded(f), Why: why}
	}
	outcome, err := record.DecodeOutcome(f.Outcome)
	if err != nil {
		return gone(argsDamaged)
	}
	if f.Details == nil || outcome.Name == "" {
		return gone(argsNotKept)
	}
	details, err := ended.Decode(f.Details)
	switch {
	case err != nil:
		return gone(argsDamaged)
	case details.Again != "":
		return rdb.Again{}, work.Receipt{ID: details.Again, Name: outcome.Name, Duplicate: true}, nil
	case details.NoArgs != "":
		return gone(string(details.NoArgs))
	case details.Record == nil:
		return gone(argsNotKept)
	}
	receipt = work.Receipt{ID: id, Name: outcome.Name, RunAt: f.Time}
	raw, err := record.Again(details.Record, receipt.ID, f.Time.UnixMilli())
	if err != nil {
		return gone(argsDamaged)
	}
	rec, err := record.Decode(raw)
	marked, failed := ended.WithAgain(f.Details, receipt.ID)
	if err != nil || failed != nil || rec.Name != outcome.Name {
		return gone(argsDamaged)
	}
	beginning := record.Outcome{State: outcome.State, Name: outcome.Name, EndedAt: outcome.EndedAt}.Encode()
	return rdb.Again{Former: f.ID, Shelf: rdb.EndedShelf{State: outcome.State, Name: outcome.Name},
		Beginning: bytes.TrimSuffix(beginning, []byte("}")), Details: f.Details, Marked: marked,
		ID: receipt.ID, Queue: rec.Queue(), Record: raw, Lock: rdb.Lock{Digest: rec.Lock,
			Kind: rdb.LockKind(rec.LockKind)},
		Turn:    rdb.Turn{Key: rec.Key, Weight: rec.Weight},
		Objects: ending.Belongings(&rec, &record.NoTrail, "").Objects}, receipt, nil
}
