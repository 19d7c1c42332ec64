package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// control is one thing that can be done to a job by hand. Each is an order to Redis that is carried out only if the job
// still stands where it was seen, so that whatever workers and daemons do meanwhile the job ends up in one place.
type control struct {
	past    string  // "stalled", for errors
	from    []State // in which it can be done
	already []State // in which there is nothing to do

	order func(store *rdb.Store, seen *sight) rdb.Order
	// what to do where the order could not be; may be nil
	second func(store *rdb.Store, seen *sight, answer rdb.Answer) (rdb.Order, bool)
}

// sight is a job as it was seen.
type sight struct {
	rdb.Stood
	state State
	over  bool  // it has ended, and State says how
	now   int64 // ms, Redis' clock
}

// control does one thing to one job. It looks, decides, and lets a script do it that looks again; where the job has
// moved meanwhile it begins anew.
func (i *Inspector) control(ctx context.Context, id string, c control) error {
	for range backoff.Rereads(ctx) {
		seen, err := i.sight(ctx, id)
		if err != nil {
			return i.failed(id, c.past, err)
		}
		if slices.Contains(c.already, seen.state) && !seen.over {
			return nil
		}
		if err := c.refusal(&seen); err != nil {
			return err
		}
		done, err := i.obey(ctx, c, &seen)
		if done || err != nil {
			return err
		}
	}
	return i.failed(id, c.past, errRestless)
}

func (i *Inspector) failed(id, past string, err error) error {
	return fmt.Errorf("job %s was not %s: %w", quoted(id), past, err)
}

// refusal is why it cannot be done in the state in which the job is; nil when it can.
func (c *control) refusal(seen *sight) error {
	if !seen.over && slices.Contains(c.from, seen.state) {
		return nil
	}
	return &StateError{ID: seen.ID, State: seen.state, What: c.past, Wanted: slices.Clone(c.from)}
}

// obey has the order carried out. It is false when the job was not where it was seen.
func (i *Inspector) obey(ctx context.Context, c control, seen *sight) (bool, error) {
	order := c.order(i.store, seen)
	for {
		obeyed, err := i.store.Obey(ctx, []rdb.Order{order})
		if err == nil {
			err = obeyed[0].Err
		}
		if err != nil {
			return false, i.failed(seen.ID, c.past, err)
		}
		answer := obeyed[0].Answer
		if answer == rdb.AnswerDone || answer == rdb.AnswerFlagged {
			return true, nil
		}
		next, ok := c.again(i.store, seen, answer)
		switch {
		case ok:
			order = next
		case answer == rdb.AnswerOwned:
			return false, i.failed(seen.ID, c.past, seen.duplicate(obeyed[0].Owner))
		case answer == rdb.AnswerFar:
			return false, &FarError{ID: seen.ID, Name: seen.Queue, What: c.past}
		default:
			return false, nil
		}
	}
}

func (c *control) again(store *rdb.Store, seen *sight, answer rdb.Answer) (rdb.Order, bool) {
	if c.second == nil {
		return rdb.Order{}, false
	}
	return c.second(store, seen, answer)
}

// sight looks for a job. One of which nothing is there is [ErrNotFound].
func (i *Inspector) sight(ctx context.Context, id string) (sight, error) {
	if i.unusable != nil {
		return sight{}, i.unusable
	}
	if err := validateID(id); err != nil {
		return sight{}, err
	}
	found, err := i.store.Lookup(ctx, []string{id}, nameInRecord)
	if err == nil {
		err = found[0].Err
	}
	if err != nil {
		return sight{}, err
	}
	if found[0].Where == rdb.WhereGone {
		return sight{}, ErrNotFound
	}
	return sightOf(&found[0]), nil
}

// shelfState is the state of a job on a shelf.
var shelfState = map[rdb.Shelf]State{
	rdb.ShelfScheduled: StateScheduled, rdb.ShelfRetry: StateRetrying, rdb.ShelfStalled: StateStalled,
	rdb.ShelfMorgue: StateDead,
}

func sightOf(found *rdb.Found) sight {
	seen := sight{now: found.Time.UnixMilli()}
	seen.ID, seen.Record, seen.Trail, seen.Flagged = found.ID, found.Record, found.Trail, found.Flagged
	seen.Queue = nameInRecord(found.Record)
	switch found.Where {
	case rdb.WhereClaimed:
		seen.state = StateRunning
		return seen
	case rdb.WhereEnded:
		seen.state, seen.over = endedAs(found.Outcome), true
		return seen
	case rdb.WhereNowhere:
		seen.state = StateLost
		return seen
	case rdb.WhereQueue:
		seen.state = StateQueued
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

// nameInRecord is the name of a job by its record; "" where that cannot be read.
func nameInRecord(raw []byte) string {
	if rec, err := decodeRecord(raw); err == nil {
		return rec.Name
	}
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &named) // what cannot be read has no name
	return named.Name
}

// endedAs is the state of a job that has ended, by its outcome.
func endedAs(stored []byte) State {
	var kept outcome
	if json.Unmarshal(stored, &kept) != nil || kept.State == stateSucceeded {
		return StateSucceeded
	}
	return State(kept.State)
}

// doomedAs is the state of a job that waits, and is to end as cancelled or deleted without being run.
func doomedAs(told []byte) State {
	if endedAs(told) == StateDeleted {
		return StateDeleted
	}
	return StateCancelled
}

// belongings is what the job has in Redis beside record and trail, as far as they can be read.
func (s *sight) belongings() rdb.Belongings {
	rec, _ := decodeRecord(s.Record) // of one that cannot be read nothing is known
	return restingRun(rec, s.Trail).belongings()
}

// freedLock is the digest of the lock that the job has lost with its burial, and needs when it is to live again.
func (s *sight) freedLock() string {
	rec, _ := decodeRecord(s.Record) // of one that cannot be read nothing is known
	if s.state != StateDead || rdb.LockKind(rec.LockKind) != rdb.UntilEnded {
		return ""
	}
	return rec.Lock
}

func (s *sight) duplicate(owner string) error {
	return &DuplicateError{Name: s.Queue, ID: owner, stored: true}
}

// retimed is the trail with another time at which the job is due; nil where there is none to write.
func (s *sight) retimed(at int64, change func(*trail)) []byte {
	if len(s.Trail) > 0 && !json.Valid(s.Trail) {
		return nil // it stays for whoever can read it
	}
	t := decodeTrail(s.Trail)
	t.RunAt = at
	if change != nil {
		change(&t)
	}
	return t.encode()
}
