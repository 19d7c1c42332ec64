package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// cancelling is one call of Cancel.
type cancelling struct {
	store   *rdb.Store
	results []CancelResult // one for each id
	flagged map[string]bool

	shelvesOnly bool // leaves those in queues to whoever fetches them
}

// Cancelling goes on by itself after a broken connection, so many times; and it looks again, so many times, where a job
// has moved on before it could be ended: what is flagged by then ends as cancelled wherever it goes.
const (
	cancelTries  = 5
	cancelRounds = 5
)

// cancelJobs cancels jobs, as many to a script as it takes. There is a result for each id, also with an error.
func cancelJobs(ctx context.Context, store *rdb.Store, ids []string) ([]CancelResult, error) {
	c := &cancelling{store: store, results: make([]CancelResult, len(ids)), flagged: map[string]bool{}}
	for i, id := range ids {
		if err := validateID(id); err != nil {
			return nil, fmt.Errorf("no job was cancelled: %w", err)
		}
		c.results[i].ID = id
	}
	for from := 0; from < len(ids); {
		done, err := c.some(ctx, c.results[from:])
		from += done
		if err != nil {
			return c.results, fmt.Errorf("not all jobs were cancelled, it is not known of %d of %d: %w", len(ids)-from,
				len(ids), err)
		}
	}
	return c.results, nil
}

// some cancels the first of the jobs and returns how many that were.
func (c *cancelling) some(ctx context.Context, results []CancelResult) (int, error) {
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
		again := make([]CancelResult, len(moved))
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
func (c *cancelling) flag(ctx context.Context, jobs []CancelResult) (standings []rdb.Standing, err error) {
	ids := make([]string, min(len(jobs), rdb.MaxBatch))
	for i := range ids {
		ids[i] = jobs[i].ID
	}
	err = persist(ctx, func(ctx context.Context) (err error) {
		standings, err = c.store.Cancel(ctx, ids)
		return err
	})
	return standings, err
}

// end notes what became of the jobs at those indices, and ends those that rest. It returns which have moved on.
func (c *cancelling) end(ctx context.Context, results []CancelResult, indices []int,
	standings []rdb.Standing) (moved []int, err error) {
	var resting []rdb.Resting
	var of []int
	for i, standing := range standings {
		at := indices[i]
		c.note(&results[at], standing)
		if ending, rests := endingOf(standing); rests && !(c.shelvesOnly && standing.Spot == rdb.SpotQueue) {
			resting = append(resting, rdb.Resting{Spot: standing.Spot, Ending: ending})
			of = append(of, at)
		}
	}
	var rested []rdb.Rested
	err = persist(ctx, func(ctx context.Context) (err error) {
		rested, err = c.store.EndResting(ctx, resting)
		return err
	})
	if err != nil {
		return nil, err
	}
	var deep []rdb.Ending
	for i, answer := range rested {
		switch answer {
		case rdb.RestedEnded:
			results[of[i]].Effect, results[of[i]].State = CancelEnded, StateCancelled
		case rdb.RestedGone:
			moved = append(moved, of[i])
		case rdb.RestedFar:
			results[of[i]].Effect, results[of[i]].State = CancelEnded, StateCancelled
			deep = append(deep, resting[i].Ending)
		}
	}
	return moved, persist(ctx, func(ctx context.Context) error { return c.store.Foretell(ctx, deep) })
}

// note notes what is known of a job once it was to be flagged.
func (c *cancelling) note(result *CancelResult, s rdb.Standing) {
	switch {
	case s.Spot == rdb.Spot(rdb.ShelfMorgue):
		result.Effect, result.State = CancelDead, StateDead
	case s.Spot != rdb.SpotGone:
		result.Effect, result.State = CancelFlagged, StateCancelled
		c.flagged[s.ID] = true
	case c.flagged[s.ID]: // it was there a moment ago, and could not end otherwise
		result.Effect, result.State = CancelEnded, StateCancelled
	case s.Outcome == nil:
		result.Effect, result.State = CancelNotFound, ""
	default:
		result.Effect, result.State = CancelTooLate, keptState(s.Outcome)
	}
}

// endingOf is how a job that rests is ended. One whose record cannot be read is left to whoever fetches it: nobody
// knows its queue.
func endingOf(s rdb.Standing) (rdb.Ending, bool) {
	if len(s.Record) == 0 || s.Spot == rdb.SpotGone {
		return rdb.Ending{}, false
	}
	rec, err := decodeRecord(s.Record)
	if err != nil || rec.Name == "" {
		return rdb.Ending{}, false
	}
	r := restingRun(rec, s.Trail)
	d := r.cancellation(s.Seen)
	return rdb.Ending{
		ID: s.ID, Queue: rec.Name, State: stateCancelled, Keep: d.keep, Outcome: d.result, Belongings: r.belongings(),
	}, true
}

// keptState is how a job has ended by what is kept of it.
func keptState(stored []byte) State {
	var kept outcome
	if err := json.Unmarshal(stored, &kept); err != nil || kept.State == stateSucceeded {
		return StateSucceeded
	}
	return State(kept.State)
}

// persist does what may be done twice until it succeeds, a few times.
func persist(ctx context.Context, do func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := do(ctx)
		if err == nil || attempt == cancelTries || !judge(err).again || !backoff.Pause(ctx, backoff.For(attempt)) {
			return err
		}
	}
}
