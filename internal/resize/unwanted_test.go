package resize_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// A mover dies while a bucket is on its way to a partition that the next one does not want: the bucket is whole again,
// in one that is wanted, and the other one is closed. Both ways of a batch: its target has it, or it has not.
func TestABucketOnItsWayToOneThatIsNotWanted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, wanted := range []int{1, 2} {
			for _, d := range redistest.SomeOn(server, []*dying{{named: "partition/freeze", after: true, at: 2},
				{named: "partition/receive", at: 1}, {named: "partition/receive", after: true, at: 1},
				{named: "partition/hand_over", after: true, at: 1}}) {
				t.Run(fmt.Sprint(wanted, d.named, d.after), func(t *testing.T) {
					s := newTown(t, server)
					s.namespace = fmt.Sprint(s.namespace, wanted, d.named, d.after)
					s.directory = s.another(s.driver)
					ctx := context.Background()
					s.settle(t, 8)
					require.NoError(t, resize.To(ctx, s.directory, wanted, nil))
					require.Error(t, s.to(d, 3))
					require.NoError(t, s.directory.Refresh(ctx))
					require.NotEmpty(t, s.directory.Map().Moving)
					for i := range 3 {
						s.cmd(t, i, "UNLINK", "mover") // its time is over
					}
					require.NoError(t, resize.Begin(ctx, s.directory, wanted, nil))
					s.settleAll(t)
					require.NoError(t, resize.Begin(ctx, s.directory, wanted, nil))
					m := s.directory.Map()
					assert.Empty(t, m.Moving)
					assert.Zero(t, m.Wanted)
					for i := wanted; i < m.Len(); i++ {
						assert.Equal(t, partition.Closed, m.State(i), "partition %d", i)
					}
					s.check(t)
				})
			}
		}
	})
}
