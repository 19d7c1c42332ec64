package rdb

import (
	"cmp"
	"context"
	"slices"
	"time"
)

var (
	cancelScript   = Load("inspect/cancel")
	foretellScript = Load("inspect/keep_outcome")
	unflagScript   = Load("repair/remove_flags")
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
)

// Standing is what became of a wish to cancel a job: unless it is gone or in the morgue it will end as cancelled,
// whatever happens to it.
type Standing struct {
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
func (s *Store) Cancel(ctx context.Context, ids []string) ([]Standing, error) {
	k := s.keys
	ids = ids[:min(len(ids), MaxBatch)]
	value, err := Do(ctx, s.driver, Call{
		Script: cancelScript,
		Keys: []string{k.jobs, k.cancelled, k.claimed, k.trail, k.outcomes, k.scheduled, k.retry, k.stalled, k.morgue,
			k.control},
		Args: appendTexts([]any{maxCancelBytes}, ids),
	})
	if err != nil {
		return nil, err
	}
	r := Read("inspect/cancel", value)
	var all []Standing
	seen := fromMillis(r.Number())
	for r.More() && len(all) < len(ids) {
		standing := Standing{ID: ids[len(all)], Spot: Spot(r.Text()), Record: r.Bytes(), Trail: r.Bytes(), Seen: seen}
		if standing.Spot == SpotGone {
			standing.Record, standing.Outcome = nil, standing.Record
		}
		all = append(all, standing)
	}
	if len(all) == 0 && len(ids) > 0 || r.More() {
		r.Fail()
	}
	return all, r.err
}

// Resting is a job that no worker holds, and how it is to end.
type Resting struct {
	Ending
	Spot Spot // a queue or a shelf
}

// Rested is what came of the wish to end a job that rests.
type Rested string

// The answers.
const (
	RestedEnded Rested = "ended"
	RestedGone  Rested = "gone" // it is not there any more
	RestedHeld  Rested = "held" // a worker has it
	RestedFar   Rested = "far"  // it stands too deep in its queue, or is not there any more

	RestedCancelled Rested = "cancelled" // it was not to end so, but is to be cancelled
)

// EndResting ends jobs where they rest, each by one script that looks whether it is still there. An error means that
// some may have ended; doing it again does no harm.
func (s *Store) EndResting(ctx context.Context, jobs []Resting) ([]Rested, error) {
	calls := make([]Call, len(jobs))
	for i, job := range jobs {
		from := endPlace{kind: "shelf", key: s.keys.shelf(Shelf(job.Spot))}
		if job.Spot == SpotQueue {
			from = endPlace{kind: "queue", key: s.keys.queue(job.Queue).queue}
		}
		calls[i] = s.end(from, job.Ending)
	}
	values, err := s.many(ctx, calls)
	rested := make([]Rested, len(values))
	for i, value := range values {
		switch answer := Rested(word(value)); answer {
		case RestedEnded, RestedGone, RestedHeld, RestedFar, RestedCancelled:
			rested[i] = answer
		case "roomy":
			rested[i] = RestedEnded
		default:
			return nil, &UnexpectedReplyError{Script: "job/end", Reply: value}
		}
	}
	return rested, err
}

// Foretell keeps the outcomes of jobs that wait deep in their queues and are flagged, before their end.
func (s *Store) Foretell(ctx context.Context, endings []Ending) error {
	calls := make([]Call, len(endings))
	for i, e := range endings {
		calls[i] = s.foretell(e, false)
	}
	_, err := s.many(ctx, calls)
	return err
}

// foretell makes the call that keeps the outcome of a job before its end. A fresh one is not flagged yet.
func (s *Store) foretell(e Ending, fresh bool) Call {
	k := s.keys
	return Call{
		Script: foretellScript,
		Keys:   []string{k.jobs, k.cancelled, k.claimed, k.outcomes, k.outcomesUntil, k.waited, k.done, k.names},
		Args:   []any{e.ID, millis(e.Keep), e.Outcome, fresh},
	}
}

// Flagged returns those of the ids that are to be cancelled. It goes over a connection of its own, as heartbeats do.
func (s *Store) Flagged(ctx context.Context, conn Conn, ids []string) ([]string, error) {
	var flagged []string
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		value, err := Do(ctx, conn, Call{Command: "SMISMEMBER", Args: appendTexts([]any{s.keys.cancelled}, ids[:n])})
		if err != nil {
			return nil, err
		}
		r := Read("SMISMEMBER", value)
		for _, id := range ids[:n] {
			if r.Number() == 1 {
				flagged = append(flagged, id)
			}
		}
		if r.err != nil {
			return nil, r.err
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
	value, err := Do(ctx, m.Store.driver,
		Call{Command: "SSCAN", Args: []any{k.cancelled, cmp.Or(cursor, "0"), "COUNT", MaxBatch / 2}})
	if err != nil {
		return cursor, nil, nil, err
	}
	r := Read("SSCAN", value)
	next, ids := r.Text(), r.Texts()
	if r.err != nil {
		return cursor, nil, nil, r.err
	}
	for page := range slices.Chunk(ids, MaxBatch) {
		value, err := Do(ctx, m.Store.driver, Call{
			Script: unflagScript, Keys: []string{k.cancelled, k.jobs}, Args: appendTexts([]any{m.Mend}, page),
		})
		if err != nil {
			return cursor, stray, nil, err
		}
		r := &Reader{script: "repair/remove_flags", whole: value}
		stray = append(stray, texts(r, value)...)
		if r.err != nil {
			return cursor, stray, nil, r.err
		}
	}
	living = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(stray, id) })
	return next, stray, living, nil
}

func appendTexts(args []any, texts []string) []any {
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}
