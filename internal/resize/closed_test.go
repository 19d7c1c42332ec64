package resize_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// shelve puts a job that lives anywhere on the shelf of those that are tried again.
func (s *town) shelve(t *testing.T, i int, id string) {
	t.Helper()
	s.cmd(t, i, "HSET", "jobs", id, `{"jid":"`+id+`","name":"plain","args":[],"t":1}`)
	s.cmd(t, i, "HSET", "names", id, "plain")
	s.cmd(t, i, "ZADD", "retry", "9999999999999", id)
}

// leaveFrozen freezes a job for another partition, as a mover that died then.
func (s *town) leaveFrozen(t *testing.T, from, to int, id string) {
	t.Helper()
	lead := rdb.Lead{Token: "dead", Life: time.Minute}
	leads, err := s.directory.Store(from).TakeLead(context.Background(), lead)
	require.NoError(t, err)
	require.True(t, leads)
	f, err := s.directory.Store(from).Freeze(context.Background(), lead, rdb.Target{Partition: to},
		[]rdb.MoveItem{{Kind: rdb.MoveLoose, ID: id, Queue: "plain"}})
	require.NoError(t, err)
	require.Len(t, f.Moved, 1)
	require.NoError(t, s.directory.Store(from).GiveUpLead(context.Background(), lead))
}

// No partition closes while something is frozen for it, and none that is on its way out takes what lives anywhere.
func TestWhatIsFrozenForOneThatGoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, resize.To(ctx, s.directory, 3, nil))
		s.cmd(t, 2, "HSET", "jobs", "waits", `{"jid":"waits","name":"plain","args":[],"t":1}`)
		require.NoError(t, resize.Begin(ctx, s.directory, 2, nil))
		s.shelve(t, 2, "retrying")
		s.leaveFrozen(t, 2, 1, "retrying")
		require.NoError(t, resize.Begin(ctx, s.directory, 1, nil))
		assert.Equal(t, partition.Draining, s.directory.Map().State(1), "something may still come")
		s.cmd(t, 2, "HDEL", "jobs", "waits") // it was worked off
		require.NoError(t, resize.To(ctx, s.directory, 1, nil))
		assert.Equal(t, map[string]int{"retrying": 1}, s.records(t))
		assert.Contains(t, s.hash(t, 0, "jobs"), "retrying")
		assert.Equal(t, []string{"retrying"}, s.texts(t, s.cmd(t, 0, "ZRANGE", "retry", 0, -1)))
	})
}

// What is frozen for a partition that is closed goes back to where it was, also if the mover that takes it back dies.
func TestWhatIsFrozenForOneThatIsClosed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, d := range redistest.SomeOn(server, []*dying{{}, {named: "partition/thaw", at: 1},
			{named: "partition/thaw", at: 1, after: true},
			{named: "partition/receive", at: 1}, {named: "partition/receive", at: 1, after: true},
			{named: "partition/hand_over", at: 1}, {named: "partition/hand_over", at: 1, after: true}}) {
			t.Run(d.named, func(t *testing.T) {
				s := newTown(t, server)
				s.namespace += d.named + map[bool]string{true: "after"}[d.after]
				s.directory = s.another(s.driver)
				ctx, die := context.WithCancel(context.Background())
				defer die()
				require.NoError(t, resize.To(ctx, s.directory, 3, nil))
				require.NoError(t, resize.To(ctx, s.directory, 2, nil))
				s.shelve(t, 0, "retrying")
				s.leaveFrozen(t, 0, 2, "retrying")
				killed := &dying{Driver: s.driver, named: d.named, at: d.at, after: d.after, die: die}
				other := s.another(killed)
				require.NoError(t, other.Refresh(ctx))
				_, err := resize.Settle(ctx, other, 0)
				assert.Equal(t, d.at > 0, err != nil, "%v", err)
				s.cmd(t, 0, "UNLINK", "mover")
				// who begins to use it again must not find it there as well
				require.NoError(t, resize.To(context.Background(), s.directory, 3, nil))
				_, err = resize.Settle(context.Background(), s.directory, 0)
				require.NoError(t, err)
				assert.Equal(t, map[string]int{"retrying": 1}, s.records(t))
				for i := range 3 {
					assert.Len(t, s.texts(t, s.cmd(t, i, "ZRANGE", "retry", 0, -1)), len(s.hash(t, i, "jobs")))
				}
			})
		}
	})
}

// Who stores by an older map is refused, reads the newer one and goes by that.
func TestAMoverThatKnowsAnOlderMap(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, resize.To(ctx, s.directory, 3, nil))
		late := s.another(s.driver)
		require.NoError(t, late.Refresh(ctx))
		s.shelve(t, 1, "retrying")
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		s.leaveFrozen(t, 1, 2, "retrying")
		_, err := resize.Settle(ctx, late, 1)
		require.NoError(t, err)
		assert.Contains(t, s.hash(t, 1, "jobs"), "retrying")
		assert.Empty(t, s.hash(t, 2, "jobs"))
	})
}
