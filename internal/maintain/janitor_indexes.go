package maintain

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
	UnseenName     = 30 * 24 * time.Hour // after which the name of a queue is forgotten
	joblessParts   = 20                  // of 100 entries, in one turn
	joblessWorkers = 64                  // whose check-ins are looked at together
)

// AgreeIndexes makes the set of ready queues agree with the queues, renews the names that have jobs or workers, and
// forgets those that had neither for long.
func (j *Janitor) AgreeIndexes(ctx context.Context) error {
	store := j.env.Store
	registered, _, err := store.Workers(ctx)
	if err != nil {
		return err
	}
	served, err := store.ServedBy(ctx, registered)
	if err != nil {
		return err
	}
	ready, err := store.Members(ctx, "ready")
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, name := range ready {
		names[name] = true
	}
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
		if _, err := mender.AgreeIndexes(ctx, page, func(name string) bool { return served[name] > 0 },
			UnseenName); err != nil {
			return err
		}
	}
	return nil
}

// removeRecordless goes on with the walks over what is kept of jobs, and over their mailboxes, and removes what belongs
// to none.
func (j *Janitor) removeRecordless(ctx context.Context) error {
	err := walk(ctx, &j.mail, joblessParts, func(ctx context.Context, cursor string) (string, error) {
		next, _, err := j.env.Store.RemoveJoblessMail(ctx, cursor)
		return next, err
	})
	if err != nil {
		return err
	}
	for range joblessParts {
		if _, err := j.env.Store.RemoveRecordless(ctx, j.cursors); err != nil {
			return err
		}
		if len(j.cursors) == 0 {
			return nil
		}
	}
	return nil
}

// RemoveJoblessCheckIns removes check-ins of jobs that their worker does not hold any more: the beat that was to do it
// was lost. It goes on behind the last worker that it came to, so that it gets to all of them where one turn is not
// enough, or fails.
func (j *Janitor) RemoveJoblessCheckIns(ctx context.Context) error {
	registered, _, err := j.env.Store.Workers(ctx)
	if err != nil {
		return err
	}
	slices.Sort(registered)
	at, found := slices.BinarySearch(registered, j.checkedIn)
	if found {
		at++
	}
	for batch := range slices.Chunk(registered[at:], joblessWorkers) {
		j.checkedIn = batch[len(batch)-1]
		if err := j.removeJoblessCheckInsOf(ctx, batch); err != nil {
			return err
		}
	}
	j.checkedIn = ""
	there := map[string]bool{}
	for _, id := range registered {
		there[j.env.Store.CheckIns(id)] = true
	}
	maps.DeleteFunc(j.checkIns, func(key, _ string) bool { return !there[key] })
	return nil
}

func (j *Janitor) removeJoblessCheckInsOf(ctx context.Context, workers []string) error {
	store := j.env.Store
	workers = slices.Clone(workers)
	for range joblessParts {
		if _, err := store.RemoveJoblessCheckIns(ctx, workers, j.checkIns); err != nil {
			return err
		}
		workers = slices.DeleteFunc(workers, func(id string) bool { return j.checkIns[store.CheckIns(id)] == "" })
		if len(workers) == 0 {
			return nil
		}
	}
	return nil
}
