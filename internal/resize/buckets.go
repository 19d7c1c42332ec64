package resize

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// moveBuckets brings those buckets of one partition to where they are to be, one after the other.
func (r *resizing) moveBuckets(ctx context.Context, source int, buckets []int, plan []int) error {
	m, err := r.lead(ctx, r.directory, source)
	if err != nil {
		return err
	}
	if m == nil {
		return at(source, rdb.ErrLed)
	}
	defer m.close(ctx)
	m.moved = r.count
	if err := m.finish(ctx); err != nil {
		return err
	}
	found, err := find(ctx, m.store, r.directory.Map(), func(b int) bool { return slices.Contains(buckets, b) })
	if err != nil {
		return at(source, err)
	}
	for _, bucket := range buckets {
		if err := m.moveBucket(ctx, found, bucket, plan[bucket]); err != nil {
			return err
		}
		r.progress.Moved++
		r.tell()
	}
	return nil
}

// moveBucket brings one bucket to the target. While it is on its way nothing of it is stored.
func (m *mover) moveBucket(ctx context.Context, found *leavers, bucket, target int) error {
	if to, moving := m.directory.Map().Moving[bucket]; moving {
		target = to
	}
	foreign, err := m.foreigners(ctx, target, func(job rdb.Absent) bool {
		return homeOfItem(m.directory.Map(), boundItem(job)).Bucket == bucket
	})
	defer foreign.close(ctx)
	if err != nil {
		return err
	}
	err = decide(ctx, m.directory, func(next *partition.Map) bool {
		if next.At(bucket) != m.source {
			return false
		}
		if to, moving := next.Moving[bucket]; moving {
			target = to
			return false
		}
		next.Moving[bucket] = target
		return true
	})
	if err != nil || m.directory.Map().At(bucket) != m.source {
		return err
	}
	if err := m.empty(ctx, found, foreign, way{bucket, target}); err != nil {
		return err
	}
	err = decide(ctx, m.directory, func(next *partition.Map) bool {
		if next.At(bucket) != m.source {
			return false
		}
		next.Buckets[bucket] = target
		delete(next.Moving, bucket)
		return true
	})
	if err != nil {
		return err
	}
	if m.held {
		if err := m.holdKeys(ctx); err != nil {
			return err
		}
	}
	for _, i := range []int{target, m.source} {
		if len(boundTo(m.directory.Map(), bucket)) > 0 {
			if _, err := settleRules(ctx, m.directory, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// way is where a bucket is brought.
type way struct{ bucket, target int }

// empty brings all that is in a bucket to its target, now that nothing is stored in it.
func (m *mover) empty(ctx context.Context, found *leavers, foreign *foreigners, to way) error {
	if err := found.track(ctx, m.store, m.lead); err != nil {
		return at(m.source, err)
	}
	names := boundTo(m.directory.Map(), to.bucket)
	if slices.ContainsFunc(names, func(name string) bool { return !found.m.Limited(name) }) {
		// its jobs were brought here since the walk
		again, err := find(ctx, m.store, m.directory.Map(), func(b int) bool { return b == to.bucket })
		if err != nil {
			return at(m.source, err)
		}
		found.byBucket[to.bucket] = append(found.byBucket[to.bucket], again.byBucket[to.bucket]...)
	}
	isKeyed := func(item rdb.MoveItem) bool { return item.Key != "" }
	if len(names) > 0 || slices.ContainsFunc(found.byBucket[to.bucket], isKeyed) {
		if err := m.holdKeys(ctx); err != nil {
			return err
		}
	}
	if err := m.carryRules(ctx, to.target, names); err != nil {
		return err
	}
	err := m.carryKeys(ctx, to.target, func(of rdb.KeyRuleOf) bool {
		return partition.BucketOfKey(of.Queue, of.Key) == to.bucket || slices.Contains(names, of.Queue)
	})
	if err != nil {
		return err
	}
	if err := m.moveWaiting(ctx, to.target, names); err != nil {
		return err
	}
	home, err := foreign.redirect(ctx, to.target)
	if err != nil {
		return err
	}
	found.byBucket[to.bucket] = append(found.byBucket[to.bucket], home...)
	items := found.take(m.directory.Map(), to.bucket)
	if err := m.byTurns(ctx, items); err != nil {
		return at(m.source, err)
	}
	return m.transfer(ctx, to.target, items, false)
}

// boundTo are the names that live in a bucket.
func boundTo(m *partition.Map, bucket int) (names []string) {
	for _, name := range slices.Concat(m.Bound, m.Binding) {
		if partition.BucketOfName(name) == bucket {
			names = append(names, name)
		}
	}
	return names
}
