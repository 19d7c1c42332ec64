// Package hung finds workers whose processors are all held by handlers beyond their time, from what their heartbeats
// tell. It changes nothing.
package hung

import (
	"context"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/loadavg"
	"github.com/265d0351/work/internal/rdb"
)

// Serving is how many workers with a heartbeat serve a queue, and how many of them hang.
type Serving struct{ Workers, Hung int }

// ServingOf returns the workers of each queue.
func ServingOf(ctx context.Context, store *rdb.Store) (map[string]Serving, error) {
	ids, err := store.Registered(ctx)
	if err != nil {
		return nil, err
	}
	alive, err := store.Alive(ctx, ids)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !alive[id] })
	serving, err := store.ServedBy(ctx, ids)
	if err != nil {
		return nil, err
	}
	hanging, err := Among(ctx, store, ids)
	if err != nil {
		return nil, err
	}
	hung, err := store.ServedBy(ctx, slices.Collect(maps.Keys(hanging)))
	byQueue := make(map[string]Serving, len(serving))
	for queue, workers := range serving {
		byQueue[queue] = Serving{Workers: workers, Hung: min(hung[queue], workers)}
	}
	return byQueue, err
}

// Among returns the workers that hang, with how many processors each of them has.
func Among(ctx context.Context, store *rdb.Store, ids []string) (map[string]int, error) {
	told, err := store.Told(ctx, ids, rdb.InfoLoad, "concurrency")
	hanging := map[string]int{}
	for i, of := range told {
		if processors := loadavg.AllHang(of[0], of[1]); processors > 0 {
			hanging[ids[i]] = processors
		}
	}
	return hanging, err
}
