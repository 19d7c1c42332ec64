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

// Running returns the claimed jobs without their items, the latest first.
func (f *Feed) Running(ctx context.Context) ([]Claimed, error) {
	ids, err := f.list(ctx, f.running)
	if err != nil {
		return nil, err
	}
	jobs := make([]Claimed, 0, len(ids))
	for page := range slices.Chunk(ids, rdb.MaxBatch) {
		args := make([]any, len(page))
		for i, id := range page {
			args[i] = id
		}
		values, err := f.look(ctx, redisconn.Call{Command: "HMGET", Keys: []string{f.claimed}, Args: args},
			redisconn.Call{Command: "HMGET", Keys: []string{f.cancelled}, Args: args})
		if err != nil {
			return nil, err
		}
		times, counts := redisconn.Read("HMGET", values[0]), redisconn.Read("HMGET", values[1])
		for _, id := range page {
			jobs = append(jobs, Claimed{Entry{ID: id}, times.Text(), int(counts.Number())})
		}
		if err := firstOf(times.Err(), counts.Err()); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

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
	candidates, err := f.list(ctx, f.running)
	if err != nil {
		return nil, nil, err
	}
	claimed, err := redisconn.Do(ctx, f.store.driver, redisconn.Call{Command: "HKEYS", Keys: []string{f.claimed}})
	if err != nil {
		return nil, nil, err
	}
	more, err := texts("HKEYS", claimed)
	if err != nil {
		return nil, nil, err
	}
	candidates = append(candidates, more...)
	slices.Sort(candidates)
	for page := range slices.Chunk(slices.Compact(candidates), rdb.MaxBatch) {
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
		Keys:   []string{f.store.feeds(), f.config, f.ids, f.items, f.running, f.claimed, f.cancelled, f.stalled},
		Args:   args,
	})
	if err != nil {
		return nil, nil, err
	}
	r := redisconn.Read(reclaimOverdueScript.Name, value)
	return r.Texts(), r.Texts(), r.Err()
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
