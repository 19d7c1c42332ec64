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

// The reply of a target that has taken a batch is lost, the mover is dead, and then the target is to go: the batch is
// finished, and not taken back, as the target has it. Where it has not it is taken back. Also if who finishes it dies.
func TestATargetThatHasABatchIsToGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, took := range []bool{true, false} {
			for _, d := range redistest.SomeOn(server, []*dying{{}, {named: "partition/receive", at: 1},
				{named: "partition/receive", at: 1, after: true}, {named: "partition/hand_over", at: 1},
				{named: "partition/hand_over", at: 1, after: true}}) {
				t.Run(fmt.Sprint(took, d.named, d.after), func(t *testing.T) {
					s := newTown(t, server)
					s.namespace = fmt.Sprint(s.namespace, took, d.named, d.after)
					s.directory = s.another(s.driver)
					s.leaveForOneThatGoes(t, took)
					ctx, die := context.WithCancel(context.Background())
					defer die()
					killed := &dying{Driver: s.driver, named: d.named, at: d.at, after: d.after, die: die}
					other := s.another(killed)
					require.NoError(t, other.Refresh(ctx))
					_, err := resize.Settle(ctx, other, 0)
					assert.Equal(t, d.at > 0, err != nil, "%v", err)
					if d.at == 0 {
						assert.Equal(t, map[string]int{"retrying": 1}, s.records(t))
						assert.Equal(t, took, len(s.hash(t, 1, "jobs")) > 0)
					}
					s.cmd(t, 0, "UNLINK", "mover")
					s.settleAll(t)
					assert.Equal(t, map[string]int{"retrying": 1}, s.records(t))
					assert.Equal(t, partition.Closed, s.directory.Map().State(1))
					assert.Equal(t, []string{"retrying"}, s.texts(t, s.cmd(t, 0, "ZRANGE", "retry", 0, -1)))
				})
			}
		}
	})
}

// leaveForOneThatGoes freezes a job that lives anywhere for a partition, which may take it, and then that is to go.
func (s *town) leaveForOneThatGoes(t *testing.T, took bool) {
	t.Helper()
	ctx, die := context.WithCancel(context.Background())
	defer die()
	require.NoError(t, resize.To(ctx, s.directory, 2, nil))
	s.shelve(t, 0, "retrying")
	s.leaveFrozen(t, 0, 1, "retrying")
	if took {
		lost := &dying{Driver: s.driver, named: "partition/receive", at: 1, after: true, die: die}
		other := s.another(lost)
		require.NoError(t, other.Refresh(ctx))
		_, err := resize.Settle(ctx, other, 0)
		require.Error(t, err)
		require.NotEmpty(t, s.hash(t, 1, "jobs"))
		s.cmd(t, 0, "UNLINK", "mover")
	}
	next := s.directory.Map().Clone()
	for bucket := range next.Buckets {
		next.Buckets[bucket] = 0
	}
	next.States[1], next.Version = partition.Draining, next.Version+1
	_, err := s.directory.Store(0).WriteMap(context.Background(), next.Version, next.Encode(), -1)
	require.NoError(t, err) // the other one does not know it yet
	require.NoError(t, s.directory.RefreshFrom(context.Background(), 0))
}
