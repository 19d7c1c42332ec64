package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// control is one thing that can be done to a job by hand. Each is an order to Redis that is carried out only if the job
// still stands where it was seen, so that whatever workers and daemons do meanwhile the job ends up in one place.
type control struct {
	past    string       // "stalled", for errors
	from    []work.State // in which it can be done
	already []work.State // in which there is nothing to do

	order func(store *rdb.Store, seen *seenJob) rdb.Order
	// what to do where the order could not be; may be nil
	second func(store *rdb.Store, seen *seenJob, answer rdb.Answer) (rdb.Order, bool)
}

// seenJob is a job as it was seen.
type seenJob struct {
	rdb.SeenJob
	state work.State
	over  bool   // it has ended, and State says how
	kept  []byte // of one that has ended: its details, where they are kept
	now   int64  // ms, Redis' clock
}

// control does one thing to one job. It looks, decides, and lets a script do it that looks again; where the job has
// moved meanwhile it begins anew.
func (i *Inspector) control(ctx context.Context, id string, c control) error {
	for range backoff.Rereads(ctx) {
		v, seen, err := i.find(ctx, id)
		if err != nil {
			return failed(id, c.past, err)
		}
		if slices.Contains(c.already, seen.state) && !seen.over {
			return nil
		}
		if err := c.refusal(&seen); err != nil {
			return err
		}
		done, err := v.execute(ctx, c, &seen)
		if done || err != nil {
			return err
		}
	}
	return failed(id, c.past, errKeepsMoving)
}

func failed(id, past string, err error) error {
	return fmt.Errorf("job %s was not %s: %w", excerpt.Brief(id), past, err)
}

// refusal is why it cannot be done in the state in which the job is; nil when it can.
func (c *control) refusal(seen *seenJob) error {
	if !seen.over && slices.Contains(c.from, seen.state) {
		return nil
	}
	return &StateError{ID: seen.ID, State: seen.state, What: c.past, Wanted: slices.Clone(c.from)}
}

// execute has the order carried out. It is false when the job was not where it was seen.
func (v *view) execute(ctx context.Context, c control, seen *seenJob) (bool, error) {
	order := c.order(v.store, seen)
	for {
		obeyed, err := v.store.Execute(ctx, []rdb.Order{order})
		if err == nil {
			err = obeyed[0].Err
		}
		if err != nil {
			return false, failed(seen.ID, c.past, err)
		}
		answer := obeyed[0].Answer
		if answer == rdb.AnswerDone || answer == rdb.AnswerFlagged {
			return true, nil
		}
		next, ok := c.again(v.store, seen, answer)
		switch {
		case ok:
			order = next
		case answer == rdb.AnswerOwned:
			return false, failed(seen.ID, c.past, seen.duplicate(obeyed[0].Owner))
		case answer == rdb.AnswerFar:
			return false, &TooDeepError{ID: seen.ID, Name: seen.Name(), What: c.past}
		default:
			return false, nil
		}
	}
}

func (c *control) again(store *rdb.Store, seen *seenJob, answer rdb.Answer) (rdb.Order, bool) {
	if c.second == nil {
		return rdb.Order{}, false
	}
	return c.second(store, seen, answer)
}

// find looks for a job, and says where it is. One of which nothing is there is [work.ErrNotFound].
func (i *Inspector) find(ctx context.Context, id string) (*view, seenJob, error) {
	if i.unusable != nil {
		return nil, seenJob{}, i.unusable
	}
	if err := inside.AsInvalid(invalid.JobID(id)); err != nil {
		return nil, seenJob{}, err
	}
	_, made := ids.PartitionOf(id)
	return seek(ctx, i, id, seeking[seenJob]{
		question: func(v *view, ctx context.Context) (seenJob, error) { return v.find(ctx, id) },
		// One that is over settles it only if its id was made: another one of a given id may live elsewhere.
		settled: func(seen seenJob) bool { return made || !seen.over },
	})
}

func (v *view) find(ctx context.Context, id string) (seenJob, error) {
	found, err := lookedUp(ctx, []string{id}, v.store.Lookup)
	if err == nil {
		err = found[0].Err
	}
	if err != nil {
		return seenJob{}, err
	}
	if found[0].Where == rdb.WhereGone {
		return seenJob{}, work.ErrNotFound
	}
	return seenFrom(&found[0]), nil
}

// shelfState is the state of a job on a shelf.
var shelfState = map[rdb.Shelf]work.State{
	rdb.ShelfScheduled: work.StateScheduled, rdb.ShelfRetry: work.StateRetrying, rdb.ShelfStalled: work.StateStalled,
	rdb.ShelfMorgue: work.StateDead,
}

func seenFrom(found *rdb.Found) seenJob {
	seen := seenJob{now: found.Time.UnixMilli()}
	seen.ID, seen.Record, seen.Trail, seen.Flagged = found.ID, found.Record, found.Trail, found.Flagged
	seen.Queue = record.QueueIn(found.Record)
	switch found.Where {
	case rdb.WhereClaimed:
		seen.state = work.StateRunning
		return seen
	case rdb.WhereEnded:
		seen.state, seen.over = work.State(record.EndedAs(found.Outcome)), true
		seen.kept = found.Details
		return seen
	case rdb.WhereNowhere:
		seen.state = work.StateLost
		return seen
	case rdb.WhereQueue:
		seen.state, seen.Queue = work.StateQueued, cmp.Or(found.Queue, seen.Queue)
		if found.Pass != "" {
			seen.Shelf, seen.Score = rdb.Turns, found.Pass
		}
	default:
		seen.Shelf = rdb.Shelf(found.Where)
		seen.state, seen.At = shelfState[seen.Shelf], found.Due.UnixMilli()
		seen.Score = strconv.FormatInt(seen.At, 10)
		if found.Queue != "" {
			seen.Queue = found.Queue
		}
	}
	if seen.Flagged {
		seen.state = doomedAs(found.Outcome)
	}
	return seen
}

// doomedAs is the state of a job that waits, and is to end as cancelled or deleted without being run.
func doomedAs(told []byte) work.State {
	if record.EndedAs(told) == record.Deleted {
		return work.StateDeleted
	}
	return work.StateCancelled
}

// freedLock is the digest of the lock that the job has lost with its burial, and needs when it is to live again.
func (s *seenJob) freedLock() string {
	rec, _ := record.Decode(s.Record) // of one that cannot be read nothing is known
	if s.state != work.StateDead || rdb.LockKind(rec.LockKind) != rdb.UntilEnded {
		return ""
	}
	return rec.Lock
}

func (s *seenJob) duplicate(owner string) error {
	return &work.DuplicateError{Name: s.Name(), ID: owner, Stored: true}
}

// trailDueAt is the trail with another time at which the job is due; nil where there is none to write.
func (s *seenJob) trailDueAt(at int64, change func(*record.Trail)) []byte {
	if len(s.Trail) > 0 && !json.Valid(s.Trail) {
		return nil // it stays for whoever can read it
	}
	t := record.DecodeTrail(s.Trail)
	t.RunAt = at
	if change != nil {
		change(&t)
	}
	return t.Encode()
}
