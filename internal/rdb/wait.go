package rdb

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	awaitScript       = redisconn.Load("result/await")
	stopWaitingScript = redisconn.Load("result/stop_waiting")
)

// Done is the channel on which the ids of jobs come that somebody waits for, as they end.
func (s *Store) Done() string { return s.keys.done }

// WaitState is what has become of a job that somebody waits for.
type WaitState string

// The states.
const (
	WaitPending  WaitState = "waiting" // it has not ended, and its end will be told
	WaitEnded    WaitState = "ended"   // it has, and its outcome is kept
	WaitDead     WaitState = "dead"    // it is in the morgue
	WaitGone     WaitState = "gone"    // nothing is kept of it, or there never was such a job
	WaitAskAgain WaitState = "later"   // it has ended, and its outcome did not go into this answer: ask again
)

// Awaited is what is known of one job.
type Awaited struct {
	State WaitState
	Kept  []byte // the outcome of one that has ended, the trail of one that is dead; may be nil
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
		var calls []redisconn.Call
		for len(ids) > 0 && len(calls) < awaitCalls {
			n := min(len(ids), MaxBatch)
			args := append(make([]any, 0, 2+n), millis(life), awaitBytes)
			for _, id := range ids[:n] {
				args = append(args, id)
			}
			calls, ids = append(calls, redisconn.Call{Script: awaitScript, Keys: keys, Args: args}), ids[n:]
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

func appendAwaited(all []Awaited, reply redisconn.Reply, wanted int) ([]Awaited, error) {
	if reply.Err != nil {
		return nil, reply.Err
	}
	r := redisconn.Read("result/await", reply.Value)
	for range wanted {
		all = append(all, Awaited{State: WaitState(r.Text()), Kept: r.Bytes()})
	}
	return all, r.Err()
}

// ForgetWaiters reads a part of the notes of those who wait, beginning at that cursor ("" or "0" the first time), and
// removes those of who has ceased to. It returns where the next call begins: "0" after the last part, and the same
// cursor with an error.
func (s *Store) ForgetWaiters(ctx context.Context, cursor string) (next string, err error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HSCAN", Args: []any{s.keys.waited, cmp.Or(cursor, "0"), "COUNT", MaxBatch}})
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
		if _, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Script: stopWaitingScript, Keys: []string{s.keys.waited}, Args: args}); err != nil {
			return cursor, err
		}
	}
	return next, nil
}

var collectScript = redisconn.Load("result/collect")

// Collected is one entry of a completion queue. The zero value is none.
type Collected struct{ State, ID string }

// Collect takes the oldest entry out of a completion queue. lane is the reader's, which makes one call at a time;
// number is that of the call, and a call that was not answered is made again with the same one: it answers the same. A
// call that took nothing needs no new number.
func (s *Store) Collect(ctx context.Context, completion, lane string, number int64) (Collected, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: collectScript, Keys: []string{s.keys.lanes, s.keys.completion(completion)}, Args: []any{lane, number},
	})
	if err != nil || value == nil {
		return Collected{}, err
	}
	state, id, found := strings.Cut(Word(value), " ")
	if !found {
		return Collected{}, &redisconn.UnexpectedReplyError{Script: collectScript.Name, Reply: value}
	}
	return Collected{State: state, ID: id}, nil
}

// WaitForCompletion waits until a completion queue has an entry, and takes none: it moves the oldest one from where it
// is to the same place. on is the caller's own connection. It returns without one after the timeout, of at least
// [ShortestBlock].
func (s *Store) WaitForCompletion(ctx context.Context, on redisconn.Conn, completion string,
	timeout time.Duration) error {
	list := s.keys.completion(completion)
	_, err := redisconn.Do(ctx, on, redisconn.Call{
		Command: "BLMOVE", Keys: []string{list, list}, Args: []any{"RIGHT", "RIGHT", redisconn.BlockFor(timeout)},
		Block: timeout,
	})
	return err
}
