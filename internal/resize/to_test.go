package resize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// All that is bound is where the map says, once, whatever number of partitions there is; order and limits are kept.
func TestATownGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		s.settle(t, 40)
		for _, n := range []int{4, redistest.Volume(16, 5), 3} {
			ctx, stop := context.WithCancel(context.Background())
			seen := resize.Progress{}
			err := resize.To(ctx, s.directory, n, func(p resize.Progress) {
				seen = p
				if p.Left > 0 && p.Waiting == nil {
					stop() // nobody works
				}
			})
			stop()
			if seen.Left == 0 {
				require.NoError(t, err)
			}
			m := s.directory.Map()
			require.Len(t, m.Open(), n)
			counts := map[int]int{}
			for b := range partition.Buckets {
				counts[m.At(b)]++
			}
			for i, c := range counts {
				assert.LessOrEqual(t, c, partition.Buckets/n+1, "partition %d", i)
			}
			s.check(t)
			home := m.Home(partition.Job{Name: "limited"})
			require.True(t, home.Bound)
			ids := s.texts(t, s.cmd(t, home.Partition, "LRANGE", "queue:limited", 0, -1))
			require.Len(t, ids, 40)
			assert.Equal(t, "l0000", ids[39], "its order is kept")
			assert.IsDecreasing(t, ids)
			assert.Equal(t, "0 2 - - - operator 2 - -", s.hash(t, home.Partition, "limits")["limited"])
			noted := m.At(partition.BucketOfID("noted-c"))
			assert.Equal(t, `{"fails":1,"log":true,"state":true}`, s.hash(t, noted, "trail")["noted-c"])
			assert.Equal(t, "9999999999999", s.hash(t, noted, "waited")["noted-c"])
			assert.Equal(t, []string{"# 2 2 1 w 1", "1 {}"}, s.texts(t, s.cmd(t, noted, "LRANGE", "log:noted-c", 0,
				-1)))
			assert.Equal(t, `{"state":1}`, string(s.cmd(t, noted, "GET", "state:noted-c").([]byte)))
			assert.Equal(t, "done 1 2 int\n3", string(s.cmd(t, noted, "HGET", "steps:noted-c", "charge").([]byte)))
			assert.Equal(t, "5 approval\x001", string(s.cmd(t, noted, "LINDEX", "mail:noted-c", 1).([]byte)))
			assert.Equal(t, int64(1), s.cmd(t, noted, "HEXISTS", "mailed", "noted-c"))
		}
	})
}
