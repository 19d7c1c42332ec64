package rdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	orphanScript = Load("orphan")
	sweepScript  = Load("sweep")
	retireScript = Load("retire")
)

// Holding is one entry of the index of claims.
type Holding struct {
	ID     string
	Worker string
	Queue  string
	Since  time.Time
	Number string
	raw    string
}

// Element is the holding's element in its worker's in-process list.
func (h Holding) Element() string { return h.Number + ":" + h.ID }

// Holdings reads a part of the index of claims. Begin with cursor "0"; it is "0" again after the last part.
func (s *Store) Holdings(ctx context.Context, cursor string) (next string, page []Holding, err error) {
	value, err := Do(ctx, s.driver, Call{Command: "HSCAN", Args: []any{s.keys.claimed, cursor, "COUNT", MaxBatch}})
	if err != nil {
		return "", nil, err
	}
	r := Read("HSCAN", value)
	next = r.Text()
	fields := r.Texts()
	for i := 0; i+1 < len(fields); i += 2 {
		page = append(page, parseHolding(fields[i], fields[i+1]))
	}
	return next, page, r.err
}

// parseHolding reads "worker n ms queue"; what cannot be read has no worker, so that it counts as an orphan, and no queue.
func parseHolding(id, raw string) Holding {
	h := Holding{ID: id, raw: raw}
	parts := strings.SplitN(raw, " ", 4)
	if len(parts) == 4 {
		ms, _ := strconv.ParseInt(parts[2], 10, 64)
		h.Worker, h.Number, h.Since, h.Queue = parts[0], parts[1], fromMillis(ms), parts[3]
	}
	return h
}

// Orphan gives the job back if its claim still reads as it did and nobody holds it: its worker is neither registered
// nor being taken apart, or has no such element. It returns true if the claim was removed. A holding without Queue is
// refused: the caller finds the name in the job's record.
func (s *Store) Orphan(ctx context.Context, h Holding) (bool, error) {
	if h.Queue == "" {
		return false, fmt.Errorf("the claim of job %q reads %q, which names no queue: set Queue to the name in its record", h.ID, h.raw)
	}
	k := s.keys
	of, worker := k.queue(h.Queue), k.worker(h.Worker)
	value, err := Do(ctx, s.driver, Call{
		Script: orphanScript,
		Keys: []string{
			k.claimed, k.workers, k.dead, k.jobs, k.ready, worker.inprocess(h.Queue), of.queue, of.wake,
			k.scheduled, k.retry, k.morgue, k.stalled, of.running,
		},
		Args: []any{h.ID, h.raw, h.Worker, h.Element(), h.Queue},
	})
	if err != nil {
		return false, err
	}
	n, _ := value.(int64)
	return n > 0, nil
}

// Sweep removes outcomes whose retention has passed, and returns how many; call again while it is [MaxBatch].
func (s *Store) Sweep(ctx context.Context) (int, error) {
	k := s.keys
	value, err := Do(ctx, s.driver, Call{
		Script: sweepScript, Keys: []string{k.outcomes, k.outcomesUntil}, Args: []any{MaxBatch},
	})
	if err != nil {
		return 0, err
	}
	n, _ := value.(int64)
	return int(n), nil
}

// RetireLanes removes the lanes of enqueuers that were not used for that long, reading all lanes in parts.
func (s *Store) RetireLanes(ctx context.Context, silent time.Duration) error {
	for cursor := "0"; ; {
		value, err := Do(ctx, s.driver, Call{Command: "HSCAN", Args: []any{s.keys.lanes, cursor, "COUNT", MaxBatch}})
		if err != nil {
			return err
		}
		r := Read("HSCAN", value)
		cursor = r.Text()
		args := []any{millis(silent)}
		for _, text := range r.Texts() {
			args = append(args, text)
		}
		if r.err != nil {
			return r.err
		}
		if len(args) > 1 {
			if _, err := Do(ctx, s.driver, Call{Script: retireScript, Keys: []string{s.keys.lanes}, Args: args}); err != nil {
				return err
			}
		}
		if cursor == "0" {
			return nil
		}
	}
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
	registered, dead, err := s.Workers(ctx)
	if err != nil {
		return 0, err
	}
	var lists []string
	for _, id := range append(registered, dead...) {
		worker := s.keys.worker(id)
		for _, queue := range queues {
			lists = append(lists, worker.inprocess(queue))
		}
	}
	return s.lengths(ctx, lists)
}

// lengths adds the lengths of lists up, 64 to a pipeline.
func (s *Store) lengths(ctx context.Context, lists []string) (int, error) {
	total := 0
	for len(lists) > 0 {
		n := min(len(lists), 64)
		calls := make([]Call, n)
		for i, key := range lists[:n] {
			calls[i] = Call{Command: "LLEN", Args: []any{key}}
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return 0, err
		}
		for _, reply := range replies {
			if reply.Err != nil {
				return 0, reply.Err
			}
			length, _ := reply.Value.(int64)
			total += int(length)
		}
		lists = lists[n:]
	}
	return total, nil
}
