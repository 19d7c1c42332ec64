package partition_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// site is a namespace in partitions that may fail.
type site struct {
	*partitiontest.Outages
	namespace string
}

// onEach runs the test on the embedded Redis and on a real one.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		driver, err := redisconn.Open(server.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		namespace := redistest.Namespace(t)
		test(t, &site{partitiontest.NewOutages(driver, namespace), namespace})
	})
}

func (s *site) directory() *partition.Directory { return partition.NewDirectory(s, s.namespace) }

// version is that of the map which a partition has, 0 where it has none.
func (s *site) version(t *testing.T, at int) int64 {
	t.Helper()
	text, err := rdb.NewStore(s.Outages.Driver, partition.Namespace(s.namespace, at)).ReadMap(t.Context())
	require.NoError(t, err)
	if text == nil {
		return 0
	}
	m, err := partition.Decode(text)
	require.NoError(t, err)
	return m.Version
}

func TestAnUndividedNamespaceHasNoMap(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		d := s.directory()
		require.NoError(t, d.Refresh(t.Context()))
		assert.Equal(t, &partition.Map{}, d.Map())
		assert.Equal(t, 1, s.Sent(0))
		assert.Zero(t, s.Sent(1))

		s.Set(0, partitiontest.Down)
		var away *redisconn.DialError
		err := d.Refresh(t.Context())
		require.ErrorAs(t, err, &away)
		assert.NotContains(t, err.Error(), "\n", "what is said is about the one that is known")
		assert.Equal(t, s.Sent(1), 1, "others may be there, of which nobody here knows")
	})
}

// Whoever reads the map goes by the newest, and those that are behind are given it.
func TestTheNewestMapCountsAndIsPassedOn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(7, 2))
		newer := partitiontest.Divided(9, 4)
		_, err := s.directory().Store(1).WriteMap(t.Context(), 9, newer.Encode(), -1)
		require.NoError(t, err)

		d := s.directory()
		changed := d.Changed()
		require.NoError(t, d.Refresh(t.Context()))
		assert.Equal(t, newer, d.Map())
		select {
		case <-changed:
		default:
			assert.Fail(t, "who waits for a change is not told")
		}
		for i := range 4 {
			assert.Equal(t, int64(9), s.version(t, i), "partition %d", i)
		}
		assert.Zero(t, s.version(t, 4))

		told := s.directory()
		s.Set(0, partitiontest.Down)
		require.NoError(t, told.RefreshFrom(t.Context(), 1), "who was told by one partition asks that one")
		assert.Equal(t, newer, told.Map())
		var away *partition.Error
		require.ErrorAs(t, told.RefreshFrom(t.Context(), 0), &away)
		assert.Equal(t, 0, away.Partition)

		d.Learn(partitiontest.Divided(8, 2))
		assert.Equal(t, newer, d.Map(), "an older one is not learnt")
	})
}

// A replica that takes over has an older map, or none; callers do not go by that.
func TestAPartitionThatWentBackIsGivenTheMap(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(7, 3))
		d := s.directory()
		require.NoError(t, d.Refresh(t.Context()))
		for at, keys := range map[int][]any{0: {"map"}, 2: {"map", "lanes"}} {
			for _, key := range keys {
				replies, err := s.Pipeline(t.Context(), redisconn.Call{Command: "UNLINK",
					Args: []any{"{" + partition.Namespace(s.namespace, at) + "}:" + key.(string)}})
				require.NoError(t, err)
				require.NoError(t, replies[0].Err)
			}
		}
		require.NoError(t, d.Refresh(t.Context()))
		assert.Equal(t, int64(7), d.Map().Version)
		assert.Equal(t, int64(7), s.version(t, 2))
		fresh := s.directory()
		require.NoError(t, fresh.Refresh(t.Context()))
		assert.Equal(t, int64(7), fresh.Map().Version, "also where its version was still known")
	})
}

func TestWhoStartsFindsTheMapWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, fault := range []partitiontest.Fault{partitiontest.Down, partitiontest.Loading, partitiontest.Mute} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(7, 4))
				for i := range 3 {
					s.Set(i, fault)
				}
				d := s.directory()
				require.NoError(t, d.Refresh(t.Context()), "the last one has it")
				assert.Equal(t, 4, d.Map().Len())

				s.Set(3, fault)
				err := d.Refresh(t.Context())
				require.Error(t, err, "all are away")
				for i, name := range []string{"partition 0: ", "partition 1: ", "partition 2: ", "partition 3: "} {
					require.ErrorContains(t, err, name, i)
				}
				assert.Equal(t, 4, d.Map().Len(), "what was known stays")
			})
		})
	}
}

// One that hangs keeps nobody from the others.
func TestAPartitionThatHangsIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	for _, hangs := range []int{0, 2} {
		onEach(t, func(t *testing.T, s *site) {
			partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(7, 3))
			s.Set(hangs, partitiontest.Deaf)
			d := s.directory()
			d.SetPatience(time.Millisecond)
			require.NoError(t, d.Refresh(t.Context()))
			assert.Equal(t, int64(7), d.Map().Version)
		})
	}
}

// Who finds a look under way waits for it, unless the other one's time is over.
func TestTwoWhoRefreshAtOnceLookOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(7, 2))
		d := s.directory()
		require.NoError(t, d.Refresh(t.Context()))
		looked := s.Sent(0)
		s.Set(0, partitiontest.Deaf)
		s.Set(1, partitiontest.Deaf)
		first, giveUp := context.WithCancel(t.Context())
		var refreshing sync.WaitGroup
		errs := make([]error, 2)
		refreshing.Go(func() { errs[0] = d.Refresh(first) })
		for s.Sent(0) == looked || s.Sent(1) == looked {
			runtime.Gosched() // until it has asked both, which is a matter of microseconds
		}
		second := make(chan struct{})
		refreshing.Go(func() {
			close(second)
			errs[1] = d.Refresh(t.Context())
		})
		<-second
		giveUp()
		s.Up(0)
		s.Up(1)
		refreshing.Wait()
		require.NoError(t, errs[1], "it had time")
		assert.LessOrEqual(t, s.Sent(0), looked+2, "at most one look each")
	})
}

func TestStoresAreOfTheirPartition(t *testing.T) {
	t.Parallel()
	d := partition.NewDirectory(nil, "shop")
	assert.Equal(t, "shop", d.Store(0).Namespace())
	assert.Equal(t, "shop/3", d.Store(3).Namespace())
	assert.Same(t, d.Store(3), d.Store(3))
	assert.Same(t, d.Guarded(3), d.Guarded(3))
	assert.NotSame(t, d.Store(3), d.Guarded(3))
	assert.Equal(t, "shop/3", d.Guarded(3).Namespace())
}

// Writers of a map decide in partition 0, and one that got no reply may send it again.
func TestMapsAreDecidedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		partitiontest.WriteMap(t, s, s.namespace, partitiontest.Divided(1, 2))
		const writers, steps = 4, 5
		var writing sync.WaitGroup
		won := make([][]int64, writers)
		for w := range writers {
			writing.Go(func() {
				d := s.directory()
				for range steps {
					for {
						if !assert.NoError(t, d.Refresh(t.Context())) {
							return
						}
						next := d.Map().Clone()
						next.Version, next.Wanted = next.Version+1, w+1
						// as if the first reply was lost
						_, _ = d.Store(0).WriteMap(t.Context(), next.Version, next.Encode(), next.Version-1)
						_, err := d.Store(0).WriteMap(t.Context(), next.Version, next.Encode(), next.Version-1)
						if err == nil {
							won[w] = append(won[w], next.Version)
							break
						}
						var route *rdb.RouteError
						if !assert.ErrorAs(t, err, &route) {
							return
						}
					}
				}
			})
		}
		writing.Wait()
		seen := map[int64]bool{}
		for _, versions := range won {
			for _, version := range versions {
				assert.False(t, seen[version], "version %d was decided twice", version)
				seen[version] = true
			}
		}
		assert.Len(t, seen, writers*steps)
		assert.GreaterOrEqual(t, s.version(t, 0), int64(writers*steps+1))
	})
}
