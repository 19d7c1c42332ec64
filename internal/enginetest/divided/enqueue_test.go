package divided_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/sharedhome"
	"github.com/265d0351/work/objects"
)

func TestJobsAreInAllPartitions(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		told := map[string]bool{}
		for range 40 {
			receipt, err := s.Enqueue(t.Context(), "a", 1)
			require.NoError(t, err)
			told[receipt.ID] = true
		}
		receipts, err := s.EnqueueMany(t.Context(), make2000())
		require.NoError(t, err)
		for _, receipt := range receipts {
			told[receipt.ID] = true
		}
		at, per := s.places()
		assert.Len(t, told, 2040)
		assert.Len(t, at, 2040)
		for id, where := range at {
			named, _ := ids.PartitionOf(id)
			require.Equal(t, []int{named}, where, "the id names it, and it is nowhere else")
			require.True(t, told[id])
			require.Equal(t, id, s.record(named, id)["jid"])
		}
		for _, jobs := range per {
			assert.InDelta(t, 510, jobs, 2)
		}
	})
}

func make2000() []work.Entry {
	entries := make([]work.Entry, 2000)
	for i := range entries {
		entries[i] = work.Entry{Name: "a", Args: []any{i}}
	}
	return entries
}

func TestBoundJobsAreAtHome(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		s.change(func(m *partition.Map) { m.Bound = []string{"limited"} })
		home := s.m.At(partition.BucketOfName("limited"))
		var entries []work.Entry
		for i := range 60 {
			entries = append(entries, work.Entry{Name: "limited", Args: []any{i}},
				work.Entry{Name: "unique", Args: []any{i / 2}, Options: []work.EnqueueOption{
					work.Unique(work.UniqueOptions{})}},
				work.Entry{Name: "given", Options: []work.EnqueueOption{work.ID(fmt.Sprint("id-", i/2))}},
				work.Entry{Name: "once", Options: []work.EnqueueOption{work.Once(fmt.Sprint(i/2), time.Hour)}})
		}
		receipts, err := s.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		at, _ := s.places()
		assert.Len(t, at, 60+3*30)
		for i, receipt := range receipts {
			require.Len(t, at[receipt.ID], 1, "%+v", receipt)
			assert.Equal(t, i%4 > 0 && i/4%2 == 1, receipt.Duplicate, "%d %+v", i, receipt)
			switch where := at[receipt.ID][0]; receipt.Name {
			case "limited":
				assert.Equal(t, home, where)
			case "given":
				assert.Equal(t, s.m.At(partition.BucketOfID(receipt.ID)), where)
				assert.Equal(t, true, s.record(where, receipt.ID)["given"])
			}
		}
		// order within the name, in its one partition
		var line []string
		values, _ := s.do(home, "LRANGE", "queue:limited", 0, -1).([]any)
		for _, value := range values {
			line = append([]string{string(value.([]byte))}, line...)
		}
		var wanted []string
		for i := 0; i < len(receipts); i += 4 {
			wanted = append(wanted, receipts[i].ID)
		}
		assert.Equal(t, wanted, line)
	})
}

func TestOnceAndALimitCannotHoldTogether(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, s *shop) {
		s.change(func(m *partition.Map) { m.Bound = []string{"limited"} })
		once := s.With(work.Once("key", time.Hour))
		for range 2 { // the second one is told by the map that the first one has brought
			_, err := once.Enqueue(t.Context(), "limited")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.Contains(t, err.Error(), "Once")
			assert.Contains(t, err.Error(), "limit")
			var failed *work.EnqueueError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, []int{0}, failed.NotStored)
		}
		_, err := once.Enqueue(t.Context(), "free")
		require.NoError(t, err)
	})
}

func TestAPartitionThatIsDownStopsOnlyWhatIsBoundToIt(t *testing.T) {
	t.Parallel()
	onEach(t, 4, func(t *testing.T, s *shop) {
		_, err := s.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		s.outages.Set(2, partitiontest.Down)
		for range 30 {
			_, err := s.Enqueue(soon(t, 5*time.Second), "a")
			require.NoError(t, err)
		}
		_, err = s.With(work.ID(s.givenIn(2, "x"))).Enqueue(soon(t, 300*time.Millisecond), "a")
		var away *work.PartitionError
		require.ErrorAs(t, err, &away)
		assert.Equal(t, 2, away.Partition)
		assert.Contains(t, err.Error(), "partition 2")
		entries := []work.Entry{{Name: "a"}, {Name: "a", Options: []work.EnqueueOption{work.ID(s.givenIn(2, "y"))}},
			{Name: "a", Options: []work.EnqueueOption{work.ID(s.givenIn(1, "z"))}}}
		receipts, err := s.EnqueueMany(soon(t, 300*time.Millisecond), entries)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0, 2}, failed.Stored)
		assert.Equal(t, []int{1}, failed.NotStored)
		require.ErrorAs(t, err, &away)
		assert.NotEmpty(t, receipts[0].ID)
		s.outages.Up(2)
		_, per := s.places()
		assert.Equal(t, 33, per[0]+per[1]+per[2]+per[3])
		_, err = s.With(work.ID(s.givenIn(2, "x"))).Enqueue(t.Context(), "a")
		require.NoError(t, err)
	})
}

func TestAPartitionThatRefusesIsGoneAround(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, s *shop) {
		s.outages.Set(1, partitiontest.Loading)
		for range 10 {
			_, err := s.Enqueue(soon(t, 5*time.Second), "a")
			require.NoError(t, err)
		}
		_, per := s.places()
		assert.Equal(t, []int{10, 0}, per)
	})
}

// What was executed and not answered stays where it is: it is told as unknown, or stored once when the partition
// answers again.
func TestAReplyThatIsLostStoresNothingElsewhere(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		for range 6 { // all have been asked for their layout
			_, err := s.Enqueue(t.Context(), "a")
			require.NoError(t, err)
		}
		_, before := s.places()
		s.outages.Set(1, partitiontest.Mute)
		var callers sync.WaitGroup
		var mu sync.Mutex
		stored, unknown := 6, 0
		for range 20 {
			callers.Go(func() {
				_, err := s.Enqueue(soon(t, 400*time.Millisecond), "a")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					stored++
					return
				}
				var failed *work.EnqueueError
				if assert.ErrorAs(t, err, &failed) && assert.Equal(t, []int{0}, failed.Unknown) {
					unknown++
				}
			})
		}
		callers.Wait()
		s.outages.Up(1)
		_, per := s.places()
		assert.Equal(t, stored+unknown, per[0]+per[1]+per[2], "each once")
		assert.Equal(t, unknown, per[1]-before[1])
		assert.Positive(t, unknown)
	})
}

func TestTheMapChangesWhileManyEnqueue(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, s *shop) {
		var callers sync.WaitGroup
		var mu sync.Mutex
		told, jobs := map[string]int{}, 0
		turn := make(chan struct{}, 100*20)
		for n := range 100 {
			callers.Go(func() {
				for i := range 20 {
					entries := []work.Entry{{Name: "a"}}
					switch n % 4 {
					case 1:
						entries[0].Options = []work.EnqueueOption{work.ID(fmt.Sprintf("id-%d-%d", n, i))}
					case 2:
						entries[0].Args = []any{n, i}
						entries[0].Options = []work.EnqueueOption{work.Unique(work.UniqueOptions{})}
					case 3:
						entries = make2000()[:7]
					}
					receipts, err := s.EnqueueMany(t.Context(), entries)
					if !assert.NoError(t, err) {
						return
					}
					mu.Lock()
					for _, receipt := range receipts {
						told[receipt.ID]++
						jobs++
						assert.False(t, receipt.Duplicate)
					}
					mu.Unlock()
					turn <- struct{}{}
				}
			})
		}
		s.m = &partition.Map{}
		for n := 1; n <= 12; n++ {
			for range 100 {
				<-turn
			}
			m := partitiontest.Divided(int64(n), 1+n%5)
			for len(m.States) < s.m.Len() {
				m.States = append(m.States, partition.Closed)
			}
			s.write(m)
		}
		callers.Wait()
		at, _ := s.places()
		assert.Len(t, told, jobs)
		assert.Len(t, at, jobs)
		for id, where := range at {
			assert.Len(t, where, 1, id)
			assert.Equal(t, 1, told[id], id)
		}
	})
}

func TestLargeArgsAreWhereTheirJobsAre(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, s *shop) {
		large := make([]byte, 50_000)
		for range 9 {
			receipt, err := s.Enqueue(t.Context(), "a", string(large))
			require.NoError(t, err)
			at := s.home(receipt.ID)
			objects, _ := s.do(at, "ZCARD", "objects").(int64)
			assert.Equal(t, int64(1), objects)
		}
		_, per := s.places()
		assert.Equal(t, []int{3, 3, 3}, per)
	})
}

func TestContentsInAHomeOfTheirOwnAreForAllPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		dir := t.TempDir()
		home, err := objects.Directory(dir)
		require.NoError(t, err)
		s := open(t, server, 3, work.ObjectHome(home))
		for n := range 9 {
			_, err := s.Enqueue(t.Context(), "a", strings.Repeat(strconv.Itoa(n), 50_000))
			require.NoError(t, err)
		}
		_, per := s.places()
		assert.Equal(t, []int{3, 3, 3}, per)
		stored := 0
		for _, err := range home.List(t.Context()) {
			require.NoError(t, err)
			stored++
		}
		assert.Equal(t, 9, stored)
		for number := range 3 { // whoever collects in one partition knows nothing of the others
			shared := sharedhome.Of(home, s.parts, number)
			for hash, err := range home.List(t.Context()) {
				require.NoError(t, err)
				require.NoError(t, shared.Delete(t.Context(), hash))
				_, found, err := shared.Has(t.Context(), hash)
				require.NoError(t, err)
				assert.True(t, found)
			}
			for hash, err := range shared.List(t.Context()) {
				t.Error("what others need is told as a leftover", hash, err)
			}
		}
	})
}

// A program that does not know yet that there are several partitions asks before it removes a content.
func TestAContentStaysWhereTheMapWasNotKnown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		home, err := objects.Directory(t.TempDir())
		require.NoError(t, err)
		s := open(t, server, 3)
		old := partition.NewDirectory(s.parts.Driver(), s.parts.Namespace())
		require.True(t, old.Map().Single())
		content := []byte("content")
		hash := objects.Of(content)
		require.NoError(t, home.Put(t.Context(), hash, content))
		require.NoError(t, sharedhome.Of(home, old, 0).Delete(t.Context(), hash))
		_, found, err := home.Has(t.Context(), hash)
		require.NoError(t, err)
		assert.True(t, found)

		alone := partition.NewDirectory(s.parts.Driver(), redistest.Namespace(t))
		require.NoError(t, sharedhome.Of(home, alone, 0).Delete(t.Context(), hash))
		_, found, err = home.Has(t.Context(), hash)
		require.NoError(t, err)
		assert.False(t, found, "with one partition it goes")
	})
}
