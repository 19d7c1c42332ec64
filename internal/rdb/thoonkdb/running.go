package thoonkdb

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	reclaimOverdueScript = redisconn.Load("thoonk/reclaim_overdue")
	removeExpiredScript  = redisconn.Load("thoonk/remove_expired")
)

// FindClaim returns the job whose claim ends with the token: for a caller that never got the answer to its claim. One
// without a time means that there is none.
func (f *Feed) FindClaim(ctx context.Context, token string) (Claimed, error) {
	jobs, err := f.Running(ctx)
	if err != nil {
		return Claimed{}, err
	}
	at := slices.IndexFunc(jobs, func(c Claimed) bool { return strings.HasSuffix(c.Time, "."+token) })
	if at < 0 {
		return Claimed{}, nil
	}
	items, err := f.Items(ctx, []string{jobs[at].ID})
	if err != nil || len(items) != 1 || items[0] == nil {
		return Claimed{}, err
	}
	jobs[at].Item = items[0]
	return jobs[at], nil
}

// Age says when a claim is too old.
type Age struct {
	Max   time.Duration
	Times int // how often a job may be cancelled before it is stalled; negative: any number
}

// ReclaimOverdue cancels or stalls claims that are too old, and returns the ids that wait again and those that are
// stalled.
func (f *Feed) ReclaimOverdue(ctx context.Context, known string, age Age) (waiting, stalled []string, err error) {
	candidates, err := f.candidates(ctx)
	if err != nil {
		return nil, nil, err
	}
	for page := range slices.Chunk(candidates, rdb.MaxBatch) {
		one, two, err := f.reclaimPage(ctx, known, age, page)
		waiting, stalled = append(waiting, one...), append(stalled, two...)
		if err != nil {
			return waiting, stalled, err
		}
	}
	return waiting, stalled, nil
}

func (f *Feed) reclaimPage(ctx context.Context, known string, age Age, ids []string) (waiting, stalled []string,
	err error) {
	args := []any{f.name, known, age.Max.Milliseconds(), ""}
	if age.Times >= 0 {
		args[3] = age.Times
	}
	for _, id := range ids {
		args = append(args, id)
	}
	value, err := f.call(ctx, redisconn.Call{
		Script: reclaimOverdueScript,
		Keys: []string{
			f.store.feeds(), f.config, f.ids, f.items, f.running, f.claimed, f.cancelled, f.stalled, f.publishes,
			f.tokens, f.putTimes, f.counts,
		},
		Args: args,
	})
	if err != nil {
		return nil, nil, err
	}
	r := redisconn.Read(reclaimOverdueScript.Name, value)
	return r.Texts(), r.Texts(), r.Err()
}

// candidates are all ids that are claimed, or of which something of a claim is left, each once: those of the list of
// claims first, from its tail on.
func (f *Feed) candidates(ctx context.Context) ([]string, error) {
	replies, err := f.replies(ctx, of("LRANGE", f.running, 0, -1), of("HKEYS", f.claimed),
		of("ZRANGE", f.claimed, 0, -1), of("HKEYS", f.tokens))
	if err != nil {
		return nil, err
	}
	var ids []string
	seen := map[string]bool{}
	for n, reply := range replies {
		list, err := optional(reply) // the script refuses what fits no form
		if err != nil {
			return nil, err
		}
		if list == nil {
			continue
		}
		some, err := texts("claims", list)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Reverse(some)
		}
		for _, id := range some {
			if !seen[id] {
				ids, seen[id] = append(ids, id), true
			}
		}
	}
	return ids, nil
}

// RemoveExpired removes ids from the set of those with results whose results have expired, and returns how many.
func (f *Feed) RemoveExpired(ctx context.Context) (int, error) {
	value, err := redisconn.Do(ctx, f.store.driver, redisconn.Call{Command: "SMEMBERS", Keys: []string{f.results}})
	if err != nil {
		return 0, err
	}
	ids, err := texts("SMEMBERS", value)
	if err != nil {
		return 0, err
	}
	removed := 0
	for page := range slices.Chunk(ids, rdb.MaxBatch) {
		keys, args := []string{f.results}, []any{}
		for _, id := range page {
			keys, args = append(keys, f.result(id)), append(args, id)
		}
		value, err := f.call(ctx, redisconn.Call{Script: removeExpiredScript, Keys: keys, Args: args})
		if err != nil {
			return removed, err
		}
		n, _ := value.(int64)
		removed += int(n)
	}
	return removed, nil
}
