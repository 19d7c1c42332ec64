package divided_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
)

// The jobs of a key are in one partition, whatever else they have; those of another name with the same key may be in
// another one. Who is unique is so beside those of its key.
func TestJobsWithKeysAreAtHome(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		s.change(func(m *partition.Map) { m.Bound = []string{"limited"} })
		key := func(i int) string { return fmt.Sprint("customer-", i%20) }
		var entries []work.Entry
		for i := range 40 {
			for name, more := range map[string]work.EnqueueOption{"sync": nil, "mail": nil, "limited": nil,
				"own": work.ID(fmt.Sprint("id-", i)), "unique": work.Unique(work.UniqueOptions{Key: "same"}),
				"timed": work.Unique(work.UniqueOptions{Key: "same", For: time.Hour})} {
				options := []work.EnqueueOption{work.Key(key(i))}
				if more != nil {
					options = append(options, more)
				}
				entries = append(entries, work.Entry{Name: name, Args: []any{i}, Options: options})
			}
		}
		receipts, err := s.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		at, per := s.places()
		duplicates, homes := 0, map[int]bool{}
		for i, receipt := range receipts {
			home := partition.BucketOfKey(receipt.Name, key(entries[i].Args[0].(int)))
			if receipt.Name == "limited" {
				home = partition.BucketOfName("limited")
			}
			require.Equal(t, []int{s.m.At(home)}, at[receipt.ID], "%+v", receipt)
			if receipt.Duplicate {
				duplicates++
			}
			if receipt.Name == "sync" {
				homes[s.m.At(home)] = true
			}
		}
		assert.Equal(t, 2*20, duplicates, "the second one of each key that is unique")
		assert.Len(t, homes, 4)
		assert.Equal(t, 4*40+2*20, per[0]+per[1]+per[2]+per[3])
	})
}

// The lock of a request is one for all keys, and these are in several partitions.
func TestOnceAndAKeyCannotHoldTogether(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, s *shop) {
		once := s.With(work.Once("request", time.Hour))
		for range 2 { // the second one is told by the map that the first one has brought
			_, err := once.With(work.Key("customer-42")).Enqueue(t.Context(), "sync")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, `job "sync" is given Once beside Key "customer-42"`)
			var failed *work.EnqueueError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, []int{0}, failed.NotStored)
		}
		_, err := once.Enqueue(t.Context(), "sync")
		require.NoError(t, err)
	})
	onEach(t, 1, func(t *testing.T, s *shop) {
		once := s.With(work.Once("request", time.Hour))
		first, err := once.With(work.Key("customer-42")).Enqueue(t.Context(), "sync")
		require.NoError(t, err)
		second, err := once.With(work.Key("customer-7")).Enqueue(t.Context(), "sync")
		require.NoError(t, err)
		assert.Equal(t, first.ID, second.ID, "one partition has all keys, and a request is one for all of them")
	})
}

// While the bucket of a key is on its way who enqueues waits, and goes where it is then.
func TestAKeyThatIsOnItsWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, s *shop) {
		bucket := partition.BucketOfKey("sync", "customer-42")
		from := s.m.At(bucket)
		s.change(func(m *partition.Map) { m.Moving = map[int]int{bucket: 1 - from} })
		keyed := s.With(work.Key("customer-42"))
		_, err := s.With(work.Key("customer-42")).Enqueue(soon(t, 300*time.Millisecond), "sync")
		require.ErrorContains(t, err, fmt.Sprintf("job \"sync\" is bound to bucket %d, since it has a key, which is "+
			"being moved from partition %d to %d", bucket, from, 1-from))
		s.change(func(m *partition.Map) { m.Moving, m.Buckets[bucket] = nil, 1-from })
		receipt, err := keyed.Enqueue(t.Context(), "sync")
		require.NoError(t, err)
		assert.Equal(t, 1-from, s.home(receipt.ID))
	})
}
