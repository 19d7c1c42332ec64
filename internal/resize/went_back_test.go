package resize_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// namesAt are names whose home is a partition.
func namesAt(m *partition.Map, at, many int) (names []string) {
	for i := 0; len(names) < many; i++ {
		if name := fmt.Sprintf("lim%d", i); m.At(partition.BucketOfName(name)) == at {
			names = append(names, name)
		}
	}
	return names
}

// records counts in how many partitions each job has a record.
func (s *town) records(t *testing.T) map[string]int {
	t.Helper()
	require.NoError(t, s.directory.Refresh(context.Background()))
	counts := map[string]int{}
	for i := range s.directory.Map().Len() {
		for id := range s.hash(t, i, "jobs") {
			counts[id]++
		}
	}
	return counts
}

// A failover of the source takes the number of its last batch back: no other batch passes for the one that was stored.
func TestTheNumberOfABatchGoesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		names := namesAt(s.directory.Map(), 1, 2)
		for i := range 5 {
			s.store(t, rdb.NewJob{Queue: names[0], ID: fmt.Sprintf("a%d", i)})
			s.store(t, rdb.NewJob{Queue: names[1], ID: fmt.Sprintf("b%d", i)})
		}
		before := s.records(t)
		require.NoError(t, resize.Bind(ctx, s.directory, names[0]))
		require.NotEmpty(t, s.hash(t, 0, "frozen")[""])
		s.cmd(t, 0, "HDEL", "frozen", "")
		require.NoError(t, resize.Bind(ctx, s.directory, names[1]))
		assert.Equal(t, before, s.records(t))
	})
}

// What went to the front goes there too when another mover delivers it.
func TestAnotherMoverDeliversToTheFront(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx := context.Background()
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		name := namesAt(s.directory.Map(), 1, 1)[0]
		s.store(t, rdb.NewJob{Queue: name, ID: "first"})
		lead := rdb.Lead{Token: "dead", Life: time.Minute}
		leads, err := s.directory.Store(0).TakeLead(ctx, lead)
		require.NoError(t, err)
		require.True(t, leads)
		_, err = s.directory.Store(0).Freeze(ctx, lead, rdb.Target{Partition: 1, Front: true},
			[]rdb.MoveItem{{Kind: rdb.MoveBound, ID: "first", Queue: name}})
		require.NoError(t, err)
		require.NoError(t, s.directory.Store(0).GiveUpLead(ctx, lead))
		s.cmd(t, 1, "LPUSH", "queue:"+name, "second")
		_, err = resize.Settle(ctx, s.directory, 0)
		require.NoError(t, err)
		assert.Equal(t, []string{"second", "first"}, s.texts(t, s.cmd(t, 1, "LRANGE", "queue:"+name, 0, -1)))
	})
}
