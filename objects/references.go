package objects

import (
	"context"
	"fmt"
	"slices"

	"github.com/265d0351/work/internal/rdb"
)

// Refer notes that jobs refer to an object, so that it stays. Jobs are counted by their ids: one that is named again is
// not counted again. An object that is not there any more is a *[VanishedError]. The framework does this in the script
// that enqueues; an id that has neither a record nor an outcome in Redis keeps nothing and is forgotten by the
// collector.
func (s *Store) Refer(ctx context.Context, hash Hash, ids ...string) error {
	return s.eachBatch(hash, ids, func(batch []string) error {
		found, err := repeated(ctx, func() (bool, error) {
			_, found, err := s.redis.Refer(ctx, string(hash), batch)
			return found, err
		})
		if err == nil && !found {
			err = &VanishedError{Hash: hash}
		}
		return err
	})
}

// Unrefer notes that jobs refer to an object no more. Ids that did not refer to it are no error.
func (s *Store) Unrefer(ctx context.Context, hash Hash, ids ...string) error {
	return s.eachBatch(hash, ids, func(batch []string) error {
		_, err := repeated(ctx, func() (int, error) { return s.redis.Unrefer(ctx, string(hash), batch) })
		return err
	})
}

func (s *Store) eachBatch(hash Hash, ids []string, do func(batch []string) error) error {
	if err := hash.check(); err != nil {
		return err
	}
	if slices.Contains(ids, "") {
		return fmt.Errorf("an id of the %d jobs that refer to object %s is empty: give the ids of jobs", len(ids), hash)
	}
	for batch := range slices.Chunk(ids, rdb.MaxBatch) {
		if err := do(batch); err != nil {
			return err
		}
	}
	return nil
}

// References returns the ids of the jobs that refer to an object, sorted. All are held in memory. An object that is not
// there has none.
func (s *Store) References(ctx context.Context, hash Hash) ([]string, error) {
	if err := hash.check(); err != nil {
		return nil, err
	}
	ids, err := s.redis.Referring(ctx, string(hash))
	slices.Sort(ids)
	return slices.Compact(ids), err
}
