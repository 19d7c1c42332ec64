package resize_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// settleAll is what the maintenance of all partitions does, until nothing is left that it waits for.
func (s *town) settleAll(t *testing.T) {
	t.Helper()
	for range 5 {
		left := 0
		for i := range s.directory.Map().Len() {
			n, err := resize.Settle(context.Background(), s.directory, i)
			require.NoError(t, err)
			left += n
		}
		if left == 0 {
			return
		}
	}
	t.Fatal("something is left for ever")
}

// spreadOut stores jobs of a name in each of two partitions, and schedules of it.
func (s *town) spreadOut(t *testing.T, name string) {
	t.Helper()
	for i := range 12 {
		s.calls++
		id := fmt.Sprintf("s%02d", i)
		_, err := s.directory.Store(i%2).EnqueueIn(context.Background(), rdb.LaneCall{Lane: "lane", Number: s.calls,
			Map: s.directory.Map().Version}, []rdb.NewJob{{Place: rdb.Back, Queue: name, ID: id,
			Record: fmt.Appendf(nil, `{"jid":%q,"name":%q,"args":[],"t":1}`, id, name)}})
		require.NoError(t, err)
	}
	for i := range 8 {
		id := fmt.Sprintf("nightly%d", i)
		at := s.directory.Map().OfSchedule(id, partition.Job{Name: name}).Partition
		s.cmd(t, at, "HSET", "schedules", id, fmt.Sprintf(`{"spec":"@daily","name":%q,"args":[]}`, name))
	}
}

// A name whose binder died at any of its scripts is brought home by the maintenance: nobody else comes.
func TestABindingThatSomebodyLeftBehind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, named := range redistest.SomeOn(server, []string{"partition/write_map", "partition/freeze",
			"partition/receive", "partition/hand_over", ""}) {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprint(named, after), func(t *testing.T) {
					s := newTown(t, server)
					s.namespace = fmt.Sprint(s.namespace, named, after)
					s.directory = s.another(s.driver)
					ctx := context.Background()
					require.NoError(t, resize.To(ctx, s.directory, 2, nil))
					name := namesAt(s.directory.Map(), 0, 1)[0]
					s.spreadOut(t, name)
					mortal, die := context.WithCancel(ctx)
					defer die()
					killed := &dying{Driver: s.driver, named: named, after: after, die: die}
					if named != "" {
						killed.at = 1
					}
					err := resize.Bind(mortal, s.another(killed), name)
					assert.Equal(t, named != "", err != nil, "%v", err)
					s.cmd(t, 1, "UNLINK", "mover") // its time is over
					require.NoError(t, s.directory.Refresh(ctx))
					s.settleAll(t)
					m := s.directory.Map()
					assert.Empty(t, m.Binding)
					bound := len(m.Bound) > 0
					assert.True(t, bound || named == "partition/write_map") // it may not have begun
					if bound {
						assert.Len(t, s.hash(t, 0, "jobs"), 12)
						assert.Len(t, s.hash(t, 0, "schedules"), 8)
						assert.Empty(t, s.hash(t, 1, "jobs"))
						assert.Empty(t, s.hash(t, 1, "schedules"))
					}
				})
			}
		}
	})
}
