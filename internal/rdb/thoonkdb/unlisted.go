package thoonkdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var adoptScript = redisconn.Load("thoonk/adopt")

const (
	// fewItems is up to how many are always looked through. Beyond that it is done only where there are more of them
	// than ids, which a count tells.
	fewItems = 10_000

	// elements that one call of the script may look at in lists, which takes it about 10 ms
	maxLooks = 1_000_000
)

// Adopt claims for nobody the jobs that stand nowhere, and returns their ids.
func (f *Feed) Adopt(ctx context.Context, known string) ([]string, error) {
	replies, err := f.replies(ctx, of("HLEN", f.items), of("LLEN", f.ids), of("LLEN", f.running),
		of("ZCARD", f.claimed), of("LLEN", f.stalled), of("SCARD", f.stalled))
	if err != nil {
		return nil, err
	}
	var items, listed int64
	for i, reply := range replies {
		value, err := optional(reply)
		if err != nil {
			return nil, err
		}
		n, _ := value.(int64)
		if i == 0 {
			items = n
		} else {
			listed += n
		}
	}
	if items == 0 || items > fewItems && items <= listed {
		return nil, nil
	}
	unlisted, err := f.unlisted(ctx)
	if err != nil {
		return nil, err
	}
	return f.adopt(ctx, known, unlisted, int(max(1, min(rdb.MaxBatch, maxLooks/max(1, listed)))))
}

// unlisted are ids that were nowhere. The lists are read after the items: what is put in meanwhile is in them.
func (f *Feed) unlisted(ctx context.Context) ([]string, error) {
	all, err := f.AllIDs(ctx)
	if err != nil {
		return nil, err
	}
	somewhere := map[string]bool{}
	waiting, err := f.IDs(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := f.candidates(ctx)
	if err != nil {
		return nil, err
	}
	stalled, err := f.Stalled(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Concat(waiting, claims, stalled) {
		somewhere[id] = true
	}
	return slices.DeleteFunc(all, func(id string) bool { return somewhere[id] }), nil
}

// adopt has the script look at ids, so many at a time.
func (f *Feed) adopt(ctx context.Context, known string, ids []string, batch int) (adopted []string, err error) {
	for page := range slices.Chunk(ids, batch) {
		args := []any{f.name, known}
		for _, id := range page {
			args = append(args, id)
		}
		value, err := f.call(ctx, redisconn.Call{
			Script: adoptScript,
			Keys: []string{
				f.store.feeds(), f.config, f.ids, f.items, f.running, f.claimed, f.stalled, f.publishes, f.tokens,
			},
			Args: args,
		})
		if err != nil {
			return adopted, err
		}
		some, err := texts(adoptScript.Name, value)
		if err != nil {
			return adopted, err
		}
		adopted = append(adopted, some...)
	}
	return adopted, nil
}

// lookAtOnce is how many ids are looked for in one round trip.
const lookAtOnce = 60

// ForgetPutTimes drops from the times at which jobs were put those of jobs that others have ended without a word of it.
// It looks at the oldest ones, as long as there are some such among them.
func (f *Feed) ForgetPutTimes(ctx context.Context) error {
	for {
		_, oldest, err := f.lookAt(ctx, f.putTimes, as{"zset", "ZRANGE", []any{0, lookAtOnce - 1}})
		if err != nil || oldest == nil {
			return err
		}
		ids, err := texts("ZRANGE", oldest)
		if err != nil {
			return err
		}
		there, err := f.Have(ctx, ids)
		if err != nil {
			return err
		}
		var gone []any
		for i, id := range ids {
			if !there[i] {
				gone = append(gone, id)
			}
		}
		if len(gone) == 0 {
			return nil
		}
		if _, err := f.call(ctx, of("ZREM", f.putTimes, gone...)); err != nil {
			return err
		}
	}
}
