package thoonkdb

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	putScript      = redisconn.Load("thoonk/put")
	takeScript     = redisconn.Load("thoonk/take")
	claimScript    = redisconn.Load("thoonk/claim")
	finishScript   = redisconn.Load("thoonk/finish")
	cancelScript   = redisconn.Load("thoonk/cancel")
	stallScript    = redisconn.Load("thoonk/stall")
	retryScript    = redisconn.Load("thoonk/retry")
	withdrawScript = redisconn.Load("thoonk/withdraw")
)

// Place is where an entry is put.
type Place struct {
	Front bool
	Job   bool // into a job feed, and not into a queue
}

// Put stores an entry in a queue or a job feed, at the back or at the front. It returns false if there is one of that
// id.
func (f *Feed) Put(ctx context.Context, known string, entry Entry, place Place) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: putScript,
		Keys:   []string{f.store.feeds(), f.config, f.ids, f.items, f.published, f.publishes, f.putTimes, f.counts},
		Args:   []any{f.name, known, entry.ID, entry.Item, place.Front, place.Job},
	})
}

// Take takes the entry at the front of a queue. One without an id means that nothing waits.
func (f *Feed) Take(ctx context.Context, known string) (Entry, error) {
	call := redisconn.Call{
		Script: takeScript, Keys: []string{f.store.feeds(), f.config, f.ids, f.items, f.counts},
		Args: []any{f.name, known},
	}
	for {
		value, err := f.call(ctx, call)
		if err != nil {
			return Entry{}, err
		}
		r := redisconn.Read(takeScript.Name, value)
		if !r.More() {
			return Entry{}, r.Err()
		}
		if id := r.Text(); id != "" {
			return Entry{ID: id, Item: r.Bytes()}, r.Err()
		}
	}
}

// Claimed is a job and who has claimed it when.
type Claimed struct {
	Entry
	Time      string // as it is stored: ms of Redis' clock, a point, the token of the claim
	Cancelled int    // how often it was cancelled before
}

// Claim claims the job at the front. One without a time means that nothing waits: an id of another program may be
// empty. The token is of digits, and unique.
func (f *Feed) Claim(ctx context.Context, known, token string) (Claimed, error) {
	call := redisconn.Call{
		Script: claimScript,
		Keys: []string{
			f.store.feeds(), f.config, f.ids, f.items, f.running, f.claimed, f.cancelled, f.publishes, f.tokens,
			f.counts,
		},
		Args: []any{f.name, known, token},
	}
	for {
		value, err := f.call(ctx, call)
		if err != nil {
			return Claimed{}, err
		}
		r := redisconn.Read(claimScript.Name, value)
		if !r.More() {
			return Claimed{}, r.Err()
		}
		if id := r.Text(); r.More() {
			return Claimed{Entry{id, r.Bytes()}, r.Text(), int(r.Number())}, r.Err()
		}
	}
}

// Claim names a claim on a job; without a time, any that there is.
type Claim struct{ ID, Time string }

// Finish ends a claimed job and, if keep is not 0, keeps its result for so long. It returns false if the claim is gone.
func (f *Feed) Finish(ctx context.Context, known string, claim Claim, result []byte, keep time.Duration) (bool, error) {
	ms := int64((keep + time.Millisecond - 1) / time.Millisecond)
	return f.flag(ctx, redisconn.Call{
		Script: finishScript,
		Keys: []string{
			f.store.feeds(), f.config, f.items, f.running, f.claimed, f.cancelled, f.results, f.finished,
			f.result(claim.ID), f.takenResult(claim.ID), f.publishes, f.tokens, f.putTimes, f.finishes,
			f.counts,
		},
		Args: []any{f.name, known, claim.ID, claim.Time, ms, result},
	})
}

// Cancel puts a claimed job back to the end of the queue, and counts it. It returns false if the claim is gone.
func (f *Feed) Cancel(ctx context.Context, known string, claim Claim) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: cancelScript,
		Keys: []string{
			f.store.feeds(), f.config, f.ids, f.items, f.running, f.claimed, f.cancelled, f.publishes, f.tokens,
			f.counts,
		},
		Args: []any{f.name, known, claim.ID, claim.Time},
	})
}

// Stall parks a claimed job. It returns false if the claim is gone.
func (f *Feed) Stall(ctx context.Context, known string, claim Claim) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: stallScript,
		Keys: []string{
			f.store.feeds(), f.config, f.items, f.running, f.claimed, f.stalled, f.cancelled, f.publishes, f.tokens,
			f.putTimes, f.counts,
		},
		Args: []any{f.name, known, claim.ID, claim.Time},
	})
}

// Retry puts a stalled job back to the end of the queue. It returns false if it is not stalled.
func (f *Feed) Retry(ctx context.Context, known, id string) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: retryScript,
		Keys:   []string{f.store.feeds(), f.config, f.ids, f.items, f.stalled, f.cancelled, f.putTimes, f.counts},
		Args:   []any{f.name, known, id},
	})
}

// Withdraw removes a job from wherever it is. It returns false if there is none.
func (f *Feed) Withdraw(ctx context.Context, known, id string) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: withdrawScript,
		Keys: []string{
			f.store.feeds(), f.config, f.ids, f.items, f.running, f.stalled, f.claimed, f.cancelled, f.retracted,
			f.putTimes, f.tokens, f.counts,
		},
		Args: []any{f.name, known, id},
	})
}

// Have tells of each id whether it has an item, wherever its job is. It makes a call for each.
func (f *Feed) Have(ctx context.Context, ids []string) ([]bool, error) {
	calls := make([]redisconn.Call, len(ids))
	for i, id := range ids {
		calls[i] = redisconn.Call{Command: "HEXISTS", Keys: []string{f.items}, Args: []any{id}}
	}
	values, err := f.look(ctx, calls...)
	if err != nil {
		return nil, err
	}
	have := make([]bool, len(values))
	for i, value := range values {
		have[i] = value == int64(1)
	}
	return have, nil
}

// AllIDs returns the ids of all jobs, wherever they are, in no order.
func (f *Feed) AllIDs(ctx context.Context) ([]string, error) {
	_, ids, err := f.lookAt(ctx, f.items, as{"hash", "HKEYS", nil})
	if err != nil || ids == nil {
		return nil, err
	}
	return texts("HKEYS", ids)
}

// Cancels tells how often a job was cancelled; false if there is no such job.
func (f *Feed) Cancels(ctx context.Context, id string) (times int, found bool, err error) {
	replies, err := f.replies(ctx, of("HEXISTS", f.items, id), of("HMGET", f.cancelled, id))
	if err != nil {
		return 0, false, err
	}
	counts, err := optionalTexts(replies[1], 1)
	if err != nil {
		return 0, false, err
	}
	return number(counts[0]), replies[0].Value == int64(1), replies[0].Err
}

// Stalled returns the ids of parked jobs, in the order in which they were; those of a set are sorted.
func (f *Feed) Stalled(ctx context.Context) ([]string, error) {
	typ, value, err := f.lookAt(ctx, f.stalled, as{"list", "LRANGE", []any{0, -1}}, as{"set", "SMEMBERS", nil})
	if err != nil || value == nil {
		return nil, err
	}
	ids, err := texts("stalled", value)
	if typ == "set" {
		slices.Sort(ids)
	}
	return ids, err
}
