package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// What the janitor does about indexes and leftovers. In good order there is nothing to do: it is for what a foreign
// cleanup, a restored backup or an older version has left.
const (
	unseenName = 30 * 24 * time.Hour // after which the name of a queue is forgotten
	shedParts  = 20                  // of 100 entries, in one turn
)

// renewQueues makes the set of ready queues agree with the queues, renews the names that have jobs or workers, and
// forgets those that had neither for long.
func (j *janitor) renewQueues(ctx context.Context) error {
	store := j.worker.store
	served, err := servedNames(ctx, store)
	if err != nil {
		return err
	}
	ready, err := store.Members(ctx, "ready")
	if err != nil {
		return err
	}
	names := setOf(ready)
	err = store.Walk(ctx, rdb.Key{Name: "queues", Type: "zset"}, func(page []rdb.Field) error {
		for _, field := range page {
			names[field.Name] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	mender := rdb.Mender{Store: store, Mend: true}
	for page := range slices.Chunk(slices.Sorted(maps.Keys(names)), rdb.MaxBatch/2) {
		if _, err := mender.Renew(ctx, page, func(name string) bool { return served[name] }, unseenName); err != nil {
			return err
		}
	}
	return nil
}

// servedNames are the names that any registered worker serves.
func servedNames(ctx context.Context, store *rdb.Store) (map[string]bool, error) {
	registered, _, err := store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	served := map[string]bool{}
	for _, id := range registered {
		names, err := store.Worker(id).Queues(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			served[name] = true
		}
	}
	return served, nil
}

// shedRecordless goes on with the walk over what is kept of jobs, and removes what belongs to none.
func (j *janitor) shedRecordless(ctx context.Context) error {
	for range shedParts {
		if _, err := j.worker.store.ShedRecordless(ctx, j.cursors); err != nil {
			return err
		}
		if len(j.cursors) == 0 {
			return nil
		}
	}
	return nil
}

// shedCheckIns removes check-ins of jobs that their worker does not hold any more: the beat that was to do it was lost.
func (j *janitor) shedCheckIns(ctx context.Context) error {
	registered, _, err := j.worker.store.Workers(ctx)
	if err != nil {
		return err
	}
	cursors := map[string]string{}
	for _, id := range registered {
		for part := 0; part == 0 || part < shedParts && len(cursors) > 0; part++ {
			if _, err := j.worker.store.ShedCheckIns(ctx, id, cursors); err != nil {
				return err
			}
		}
		clear(cursors)
	}
	return nil
}
