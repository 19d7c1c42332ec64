package rdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	returnClaimScript = redisconn.Load("repair/return_claim")
	removeStaleScript = redisconn.Load("repair/remove_stale")
)

// Holding is one entry of the index of claims.
type Holding struct {
	ID     string
	Worker string
	Queue  string
	Since  time.Time // in whole ms, as all times that are compared with it
	Number string

	fetched time.Time // to the microsecond, for the order of claims
	raw     string
}

// Element is the holding's element in its worker's in-process list.
func (h Holding) Element() string { return h.Number + ":" + h.ID }

// Holdings reads a part of the index of claims. Begin with cursor "0"; it is "0" again after the last part.
func (s *Store) Holdings(ctx context.Context, cursor string) (next string, page []Holding, err error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HSCAN",
		Args: []any{s.keys.claimed, cursor, "COUNT", MaxBatch}})
	if err != nil {
		return "", nil, err
	}
	r := redisconn.Read("HSCAN", value)
	next = r.Text()
	fields := r.Texts()
	for i := 0; i+1 < len(fields); i += 2 {
		page = append(page, parseHolding(fields[i], fields[i+1]))
	}
	return next, page, r.Err()
}

// parseHolding reads "worker n ms queue"; what cannot be read has no worker, so that it counts as an orphan, and no
// queue.
func parseHolding(id, raw string) Holding {
	h := Holding{ID: id, raw: raw}
	parts := strings.SplitN(raw, " ", 4)
	if len(parts) == 4 {
		h.Worker, h.Number, h.fetched, h.Queue = parts[0], parts[1], parseMoment(parts[2]), parts[3]
		h.Since = h.fetched.Truncate(time.Millisecond)
	}
	return h
}

// ReturnClaim gives the job back if its claim still reads as it did and nobody holds it: its worker is neither
// registered nor being taken apart, or has no such element. It returns true if the claim was removed. A holding without
// Queue is refused: the caller finds the name in the job's record.
func (s *Store) ReturnClaim(ctx context.Context, h Holding) (bool, error) {
	if h.Queue == "" {
		return false, fmt.Errorf("the claim of job %s reads %s, which names no queue: set Queue to the name in its "+
			"record", excerpt.Quoted(h.ID), excerpt.Quoted(h.raw))
	}
	k := s.keys
	of, worker := k.queue(h.Queue), k.worker(h.Worker)
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: returnClaimScript,
		Keys: []string{
			k.claimed, k.workers, k.dead, k.jobs, k.ready, worker.inprocess(h.Queue), of.queue, of.wake,
			k.scheduled, k.retry, k.morgue, k.stalled, of.running, k.turns, k.turning, k.keyed,
		},
		Args: []any{h.ID, h.raw, h.Worker, h.Element(), h.Queue},
	})
	if err != nil {
		return false, err
	}
	n, _ := value.(int64)
	return n > 0, nil
}

// Lanes of an outbox begin with LastingLane and are kept for LaneLife. A call of theirs is written in a database:
// whoever finds it there may send it again long after the process that sent it first has died. They are few, and are
// used for as long as there is an outbox. So are those of movers (MoveLane): a batch may wait for a partition that is
// away.
const (
	LastingLane     = "outbox:"
	MoveLane        = "move:" // and then the partition that the jobs come from
	lastingLaneLife = 90 * 24 * time.Hour
)

// LaneLife is how long a lane is kept after its last call, where others are kept for so long.
func LaneLife(lane string, others time.Duration) time.Duration {
	if strings.HasPrefix(lane, LastingLane) || strings.HasPrefix(lane, MoveLane) {
		return max(others, lastingLaneLife)
	}
	return others
}

// RemoveStaleLanes reads a part of the lanes, beginning at that cursor ("" or "0" the first time), and removes those
// that were not used for that long, or for LaneLife. It returns where the next call begins: "0" after the last part,
// and the same cursor with an error.
func (s *Store) RemoveStaleLanes(ctx context.Context, cursor string, silent time.Duration) (next string, err error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HSCAN", Args: []any{s.keys.lanes, cmp.Or(cursor, "0"), "COUNT", MaxBatch}})
	if err != nil {
		return cursor, err
	}
	r := redisconn.Read("HSCAN", value)
	next = r.Text()
	lanes := r.Texts()
	if r.Err() != nil {
		return cursor, r.Err()
	}
	byLife := map[time.Duration][]string{}
	for i := 0; i+1 < len(lanes); i += 2 {
		if lanes[i] == MapLane {
			continue
		}
		life := LaneLife(lanes[i], silent)
		byLife[life] = append(byLife[life], lanes[i:i+2]...)
	}
	for life, lanes := range byLife {
		for page := range slices.Chunk(lanes, 2*MaxBatch) { // a hash in its small encoding comes all at once
			args := appendTexts([]any{millis(life)}, page)
			if _, err := redisconn.Do(ctx, s.driver,
				redisconn.Call{Script: removeStaleScript, Keys: []string{s.keys.lanes}, Args: args}); err != nil {
				return cursor, err
			}
		}
	}
	return next, nil
}

// Load returns how many jobs wait in the queues or are claimed from them by any worker.
func (s *Store) Load(ctx context.Context, queues []string) (int, error) {
	waiting := make([]string, len(queues))
	for i, queue := range queues {
		waiting[i] = s.keys.queue(queue).queue
	}
	total, err := s.lengths(ctx, waiting)
	if err != nil || total > 0 {
		return total, err
	}
	if total, err = s.lined(ctx, queues); err != nil || total > 0 {
		return total, err
	}
	registered, dead, err := s.Workers(ctx)
	if err != nil {
		return 0, err
	}
	return s.lengths(ctx, s.inProcess(append(registered, dead...), queues))
}

// inProcess are the in-process lists that workers may have of queues.
func (s *Store) inProcess(workers, queues []string) (lists []string) {
	for _, id := range workers {
		worker := s.keys.worker(id)
		for _, queue := range queues {
			lists = append(lists, worker.inprocess(queue))
		}
	}
	return lists
}

// lengths adds the lengths of lists up.
func (s *Store) lengths(ctx context.Context, lists []string) (int, error) {
	calls := make([]redisconn.Call, len(lists))
	for i, key := range lists {
		calls[i] = redisconn.Call{Command: "LLEN", Args: []any{key}}
	}
	numbers, err := s.numbers(ctx, calls)
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total, err
}
