package rdb

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	cancelScript      = redisconn.Load("inspect/cancel")
	keepOutcomeScript = redisconn.Load("result/keep_outcome")
	removeFlagsScript = redisconn.Load("repair/remove_flags")
)

// CancelHint is the message on the control channel that says that a job which somebody holds is to be cancelled.
const CancelHint = "cancel"

// Spot is where a job was when a script looked.
type Spot string

// The spots, beside those that are named as their [Shelf].
const (
	SpotGone  Spot = "gone" // it has no record
	SpotHeld  Spot = "held"
	SpotQueue Spot = "queue"

	SpotTurns  Spot = "turns"  // in its queue, by turns
	SpotFrozen Spot = "frozen" // it is on its way to another partition, and will end there as cancelled
)

// CancelledJob is what became of a wish to cancel a job: unless it is gone or in the morgue it will end as cancelled,
// whatever happens to it.
type CancelledJob struct {
	ID      string
	Spot    Spot
	Record  []byte // of one that rests: in a queue, or on a shelf but the morgue
	Trail   []byte // of the same; nil when nothing happened to it yet
	Outcome []byte // of one that is gone; nil when none is kept
	Seen    time.Time
}

// maxCancelBytes bounds the answer to one Cancel, whose records are read only to be dropped.
const maxCancelBytes = 1 << 20

// Cancel flags living jobs, at most [MaxBatch], as to be cancelled, and returns where they stand: the first ones, as
// many as fit into the answer and one at the least. Call it again for the others. It may be repeated.
func (s *Store) Cancel(ctx context.Context, ids []string) ([]CancelledJob, error) {
	k := s.keys
	ids = ids[:min(len(ids), MaxBatch)]
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: cancelScript,
		Keys: []string{k.jobs, k.cancelled, k.claimed, k.trail, k.outcomes, k.scheduled, k.retry, k.stalled, k.morgue,
			k.control, k.frozen, k.turns},
		Args: appendTexts([]any{maxCancelBytes}, ids),
	})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("inspect/cancel", value)
	var all []CancelledJob
	seen := fromMillis(r.Number())
	for r.More() && len(all) < len(ids) {
		standing := CancelledJob{
			ID: ids[len(all)], Spot: Spot(r.Text()), Record: r.Bytes(), Trail: r.Bytes(), Seen: seen,
		}
		if standing.Spot == SpotGone {
			standing.Record, standing.Outcome = nil, standing.Record
		}
		all = append(all, standing)
	}
	if len(all) == 0 && len(ids) > 0 || r.More() {
		r.Fail()
	}
	return all, r.Err()
}

// UnheldJob is a job that no worker holds, and how it is to end.
type UnheldJob struct {
	Ending
	Spot Spot // a queue or a shelf
}

// EndResult is what came of the wish to end a job that rests.
type EndResult string

// The answers.
const (
	EndDone    EndResult = "ended"
	EndGone    EndResult = "gone" // it is not there any more
	EndHeld    EndResult = "held" // a worker has it
	EndTooDeep EndResult = "far"  // it stands too deep in its queue, or is not there any more

	EndCancelled EndResult = "cancelled" // it was not to end so, but is to be cancelled
)

// EndUnheld ends jobs where they rest, each by one script that looks whether it is still there. An error means that
// some may have ended; doing it again does no harm.
func (s *Store) EndUnheld(ctx context.Context, jobs []UnheldJob) ([]EndResult, error) {
	calls := make([]redisconn.Call, len(jobs))
	for i, job := range jobs {
		from := endPlace{kind: "shelf", key: s.keys.shelf(Shelf(job.Spot))}
		if job.Spot == SpotQueue {
			from = endPlace{kind: "queue", key: s.keys.queue(job.Queue).queue}
		}
		calls[i] = s.end(from, job.Ending)
	}
	values, err := s.many(ctx, calls)
	rested, roomy := make([]EndResult, len(values)), []string(nil)
	for i, value := range values {
		word, err := s.FlowEnded("job/end", Word(value))
		if err != nil {
			return nil, err
		}
		switch answer := EndResult(word); answer {
		case EndDone, EndGone, EndHeld, EndTooDeep, EndCancelled:
			rested[i] = answer
		case wordRoomy:
			rested[i], roomy = EndDone, append(roomy, jobs[i].Queue)
		default:
			return nil, &redisconn.UnexpectedReplyError{Script: "job/end", Reply: value}
		}
	}
	s.tellRoom(ctx, roomy)
	return rested, err
}

// KeepOutcomes keeps the outcomes of jobs that wait deep in their queues and are flagged, before their end.
func (s *Store) KeepOutcomes(ctx context.Context, endings []Ending) error {
	calls := make([]redisconn.Call, len(endings))
	for i, e := range endings {
		calls[i] = s.keepOutcome(e, false)
	}
	_, err := s.many(ctx, calls)
	return err
}

// keepOutcome makes the call that keeps the outcome of a job before its end. A fresh one is not flagged yet.
func (s *Store) keepOutcome(e Ending, fresh bool) redisconn.Call {
	k := s.keys
	ids, details := k.ended(e.State, cmp.Or(e.Name, e.Queue))
	return redisconn.Call{
		Script: keepOutcomeScript,
		Keys: []string{k.jobs, k.cancelled, k.claimed, k.outcomes, k.outcomesUntil, k.waited, k.done, k.names, ids,
			details},
		Args: []any{e.ID, millis(e.Keep), e.Outcome, fresh, e.Details},
	}
}

// Flagged returns those of the ids that are to be cancelled. It goes over a connection of its own, as heartbeats do.
func (s *Store) Flagged(ctx context.Context, conn redisconn.Conn, ids []string) ([]string, error) {
	var flagged []string
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		value, err := redisconn.Do(ctx, conn, redisconn.Call{Command: "SMISMEMBER",
			Args: appendTexts([]any{s.keys.cancelled}, ids[:n])})
		if err != nil {
			return nil, err
		}
		r := redisconn.Read("SMISMEMBER", value)
		for _, id := range ids[:n] {
			if r.Number() == 1 {
				flagged = append(flagged, id)
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		ids = ids[n:]
	}
	return flagged, nil
}

// Flags reads a part of the flags of those that are to be cancelled, beginning at that cursor ("" or "0" the first
// time), and returns where the next call begins ("0" after the last part), the ids without a record, whose flags are
// removed if it should mend, and all others.
func (m Mender) Flags(ctx context.Context, cursor string) (next string, stray, living []string, err error) {
	k := m.Store.keys
	value, err := redisconn.Do(ctx, m.Store.driver,
		redisconn.Call{Command: "SSCAN", Args: []any{k.cancelled, cmp.Or(cursor, "0"), "COUNT", MaxBatch / 2}})
	if err != nil {
		return cursor, nil, nil, err
	}
	r := redisconn.Read("SSCAN", value)
	next, ids := r.Text(), r.Texts()
	if r.Err() != nil {
		return cursor, nil, nil, r.Err()
	}
	for page := range slices.Chunk(ids, MaxBatch) {
		value, err := redisconn.Do(ctx, m.Store.driver, redisconn.Call{
			Script: removeFlagsScript, Keys: []string{k.cancelled, k.jobs}, Args: appendTexts([]any{m.Mend}, page),
		})
		if err != nil {
			return cursor, stray, nil, err
		}
		r := redisconn.NewReader("repair/remove_flags", value, nil)
		stray = append(stray, r.TextsOf(value)...)
		if r.Err() != nil {
			return cursor, stray, nil, r.Err()
		}
	}
	living = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(stray, id) })
	return next, stray, living, nil
}
