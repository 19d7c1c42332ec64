package rdb

import (
	"cmp"
	"context"
	"slices"
	"time"
)

var (
	awaitScript  = Load("inspect/await")
	unwaitScript = Load("inspect/stop_waiting")
)

// Done is the channel on which the ids of jobs come that somebody waits for, as they end.
func (s *Store) Done() string { return s.keys.done }

// Fate is what has become of a job that somebody waits for.
type Fate string

// The fates.
const (
	FateWaiting Fate = "waiting" // it has not ended, and its end will be told
	FateEnded   Fate = "ended"   // it has, and its outcome is kept
	FateDead    Fate = "dead"    // it is in the morgue
	FateGone    Fate = "gone"    // nothing is kept of it, or there never was such a job
	FateLater   Fate = "later"   // it has ended, and its outcome did not go into this answer: ask again
)

// Awaited is what is known of one job.
type Awaited struct {
	Fate Fate
	Kept []byte // the outcome of one that has ended, the trail of one that is dead; may be nil
}

// The bounds of a question about jobs.
const (
	awaitCalls = 8         // in one pipeline
	awaitBytes = 512 << 10 // of outcomes in one reply, of which the last may be larger
)

// Await says what has become of jobs, and notes for that long that somebody waits for those that have not ended: what
// ends them keeps their outcome and publishes their ids on [Store.Done]. It asks for [MaxBatch] ids in one call.
func (s *Store) Await(ctx context.Context, ids []string, life time.Duration) ([]Awaited, error) {
	k := s.keys
	keys := []string{k.waited, k.jobs, k.outcomes, k.shelf(ShelfMorgue), k.trail, k.cancelled}
	all := make([]Awaited, 0, len(ids))
	for len(ids) > 0 {
		var calls []Call
		for len(ids) > 0 && len(calls) < awaitCalls {
			n := min(len(ids), MaxBatch)
			args := append(make([]any, 0, 2+n), millis(life), awaitBytes)
			for _, id := range ids[:n] {
				args = append(args, id)
			}
			calls, ids = append(calls, Call{Script: awaitScript, Keys: keys, Args: args}), ids[n:]
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return nil, err
		}
		for i, reply := range replies {
			if all, err = appendAwaited(all, reply, len(calls[i].Args)-2); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func appendAwaited(all []Awaited, reply Reply, wanted int) ([]Awaited, error) {
	if reply.Err != nil {
		return nil, reply.Err
	}
	r := Read("inspect/await", reply.Value)
	for range wanted {
		all = append(all, Awaited{Fate: Fate(r.Text()), Kept: r.Bytes()})
	}
	return all, r.err
}

// ForgetWaiters reads a part of the notes of those who wait, beginning at that cursor ("" or "0" the first time), and
// removes those of who has ceased to. It returns where the next call begins: "0" after the last part, and the same
// cursor with an error.
func (s *Store) ForgetWaiters(ctx context.Context, cursor string) (next string, err error) {
	value, err := Do(ctx, s.driver,
		Call{Command: "HSCAN", Args: []any{s.keys.waited, cmp.Or(cursor, "0"), "COUNT", MaxBatch}})
	if err != nil {
		return cursor, err
	}
	next, page, _, err := parseFields("HSCAN", value)
	if err != nil {
		return cursor, err
	}
	for part := range slices.Chunk(page, MaxBatch) { // a hash in its small encoding comes all at once
		args := make([]any, len(part))
		for i, field := range part {
			args[i] = field.Name
		}
		if _, err := Do(ctx, s.driver,
			Call{Script: unwaitScript, Keys: []string{s.keys.waited}, Args: args}); err != nil {
			return cursor, err
		}
	}
	return next, nil
}
