package ending

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/retry"
)

// Effect is what a cancellation has done about one job, in the words of work.CancelEffect; "" where nothing is known.
type Effect string

// The effects.
const (
	Ended    Effect = "ended"     // it waited, and has ended
	Flagged  Effect = "flagged"   // a worker has it, and will end it
	TooLate  Effect = "too late"  // it had ended before
	Dead     Effect = "dead"      // it is in the morgue
	NotFound Effect = "not found" // there is none
	// it is on its way to another partition. That is noted with it, and it may have begun there before that is heard
	Leaving Effect = "leaving"
)

// Cancellation is what became of one job.
type Cancellation struct {
	ID     string
	Effect Effect
	State  string // in the words of work.State, now or soon; "" where it is not known
}

// The states of a Cancellation, beside those in which a job ends otherwise.
const (
	stateCancelled = record.Cancelled
	stateDead      = "dead"
)

// Cancelling goes on by itself after a broken connection, so many times; and it looks again, so many times, where a job
// has moved on before it could be ended: what is flagged by then ends as cancelled wherever it goes.
const (
	cancelTries  = 5
	cancelRounds = 5
)

// Cancel cancels jobs, as many to a script as it takes. There is a result for each id, also with an error, unless that
// is about an id that cannot be.
func Cancel(ctx context.Context, store *rdb.Store, ids []string) ([]Cancellation, error) {
	c := newCancelling(store, ids)
	for _, id := range ids {
		if err := invalid.JobID(id); err != nil {
			return nil, fmt.Errorf("no job was cancelled: %w", err)
		}
	}
	if known, err := c.all(ctx); err != nil {
		return c.results, fmt.Errorf("not all jobs were cancelled, it is not known of %d of %d: %w", len(ids)-known,
			len(ids), err)
	}
	return c.results, nil
}

// CancelOnShelves ends those of the jobs that are on shelves, and leaves those in queues to whoever fetches them.
func CancelOnShelves(ctx context.Context, store *rdb.Store, ids []string) error {
	c := newCancelling(store, ids)
	c.shelvesOnly = true
	_, err := c.all(ctx)
	return err
}

// cancelling is one call.
type cancelling struct {
	store   *rdb.Store
	results []Cancellation // one for each id
	flagged map[string]bool

	shelvesOnly bool // leaves those in queues to whoever fetches them
}

func newCancelling(store *rdb.Store, ids []string) *cancelling {
	c := &cancelling{store: store, results: make([]Cancellation, len(ids)), flagged: map[string]bool{}}
	for i, id := range ids {
		c.results[i].ID = id
	}
	return c
}

// all cancels all of the jobs, and returns of how many it is known what became of them.
func (c *cancelling) all(ctx context.Context) (known int, err error) {
	for known < len(c.results) {
		done, err := c.some(ctx, c.results[known:])
		known += done
		if err != nil {
			return known, err
		}
	}
	return known, nil
}

// some cancels the first of the jobs and returns how many that were.
func (c *cancelling) some(ctx context.Context, results []Cancellation) (int, error) {
	standings, err := c.flag(ctx, results)
	if err != nil {
		return 0, err
	}
	results = results[:len(standings)]
	moved := make([]int, 0, len(results)) // those that moved on before they could be ended
	for i := range results {
		moved = append(moved, i)
	}
	for range cancelRounds {
		if moved, err = c.end(ctx, results, moved, standings); err != nil {
			return 0, err
		}
		if len(moved) == 0 {
			break
		}
		again := make([]Cancellation, len(moved))
		for i, at := range moved {
			again[i].ID = results[at].ID
		}
		if standings, err = c.flag(ctx, again); err != nil {
			return 0, err
		}
		moved = moved[:len(standings)] // the others are flagged, and will end
	}
	return len(results), nil
}

// flag flags as many of the jobs as one script takes.
func (c *cancelling) flag(ctx context.Context, jobs []Cancellation) (standings []rdb.CancelledJob, err error) {
	ids := make([]string, min(len(jobs), rdb.MaxBatch))
	for i := range ids {
		ids[i] = jobs[i].ID
	}
	err = retry.AtMost(ctx, cancelTries, func(ctx context.Context) (err error) {
		standings, err = c.store.Cancel(ctx, ids)
		return err
	})
	return standings, err
}

// end notes what became of the jobs at those indices, and ends those that rest. It returns which have moved on.
func (c *cancelling) end(ctx context.Context, results []Cancellation, indices []int,
	standings []rdb.CancelledJob) (moved []int, err error) {
	var resting []rdb.UnheldJob
	var of []int
	for i, standing := range standings {
		at := indices[i]
		c.note(&results[at], standing)
		if ending, rests := Of(standing); rests && !(c.shelvesOnly && standing.Spot == rdb.SpotQueue) {
			resting = append(resting, rdb.UnheldJob{Spot: standing.Spot, Ending: ending})
			of = append(of, at)
		}
	}
	rested, err := c.rest(ctx, resting)
	if err != nil {
		return nil, err
	}
	var deep []rdb.Ending
	for i, answer := range rested {
		switch answer {
		case rdb.EndDone:
			results[of[i]].Effect, results[of[i]].State = Ended, stateCancelled
		case rdb.EndGone:
			moved = append(moved, of[i])
		case rdb.EndTooDeep:
			results[of[i]].Effect, results[of[i]].State = Ended, stateCancelled
			deep = append(deep, resting[i].Ending)
		}
	}
	return moved, retry.AtMost(ctx, cancelTries, func(ctx context.Context) error {
		return c.store.KeepOutcomes(ctx, deep)
	})
}

// rest ends jobs that no worker holds. What is not in the queue that names share may have been handed on from there.
func (c *cancelling) rest(ctx context.Context, jobs []rdb.UnheldJob) (rested []rdb.EndResult, err error) {
	end := func(jobs []rdb.UnheldJob) (rested []rdb.EndResult, err error) {
		err = retry.AtMost(ctx, cancelTries, func(ctx context.Context) (err error) {
			rested, err = c.store.EndUnheld(ctx, jobs)
			return err
		})
		return rested, err
	}
	if rested, err = end(jobs); err != nil {
		return nil, err
	}
	var handedOn []rdb.UnheldJob
	var at []int
	for i, job := range jobs {
		if rested[i] == rdb.EndGone && job.Spot == rdb.SpotQueue && job.Name != "" {
			job.Queue = needs.HandOn(job.Queue, job.Name)
			handedOn, at = append(handedOn, job), append(at, i)
		}
	}
	if len(handedOn) == 0 {
		return rested, nil
	}
	answers, err := end(handedOn)
	for k, answer := range answers {
		rested[at[k]], jobs[at[k]] = answer, handedOn[k]
	}
	return rested, err
}

// note notes what is known of a job once it was to be flagged.
func (c *cancelling) note(result *Cancellation, s rdb.CancelledJob) {
	switch {
	case s.Spot == rdb.Spot(rdb.ShelfMorgue):
		result.Effect, result.State = Dead, stateDead
	case s.Spot == rdb.SpotFrozen:
		result.Effect, result.State = Leaving, ""
	case s.Spot != rdb.SpotGone:
		result.Effect, result.State = Flagged, stateCancelled
		c.flagged[s.ID] = true
	case c.flagged[s.ID]: // it was there a moment ago, and could not end otherwise
		result.Effect, result.State = Ended, stateCancelled
	case s.Outcome == nil:
		result.Effect, result.State = NotFound, ""
	default:
		result.Effect, result.State = TooLate, record.EndedAs(s.Outcome)
	}
}

// Of is how a job that rests is ended. One whose record cannot be read is left to whoever fetches it: nobody
// knows its queue.
func Of(s rdb.CancelledJob) (rdb.Ending, bool) {
	if len(s.Record) == 0 || s.Spot == rdb.SpotGone {
		return rdb.Ending{}, false
	}
	rec, err := record.Decode(s.Record)
	if err != nil || rec.Name == "" {
		return rdb.Ending{}, false
	}
	ending := Resting{rec.Name, s.Record, s.Trail, s.Seen}.Cancelled()
	ending.ID, ending.Queue = s.ID, rec.Queue()
	return ending, true
}
