package resize_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// A job was brought here by a mover that died before it could say so there, and a worker holds it. Who is to bring it
// back there waits for that batch, which nobody delivers any more: it does so itself.
func TestABatchTheOtherWayThatNobodyDelivers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		require.NoError(t, resize.To(ctx, s.directory, 2, nil))
		name := namesAt(s.directory.Map(), 1, 1)[0]
		_, err := s.directory.Store(1).EnqueueIn(ctx,
			rdb.LaneCall{Lane: "lane", Number: 1, Map: s.directory.Map().Version},
			[]rdb.NewJob{{Place: rdb.Back, Queue: name, ID: "held",
				Record: fmt.Appendf(nil, `{"jid":"held","name":%q,"args":[],"t":1}`, name)}})
		require.NoError(t, err)
		lead := rdb.Lead{Token: "dead", Life: time.Minute}
		leads, err := s.directory.Store(1).TakeLead(ctx, lead)
		require.NoError(t, err)
		require.True(t, leads)
		_, err = s.directory.Store(1).Freeze(ctx, lead, rdb.Target{Partition: 0},
			[]rdb.MoveItem{{Kind: rdb.MoveBound, ID: "held", Queue: name}})
		require.NoError(t, err)
		require.NoError(t, s.directory.Store(1).GiveUpLead(ctx, lead))
		mortal, die := context.WithCancel(ctx)
		defer die()
		killed := s.another(&dying{Driver: s.driver, named: "partition/receive", at: 1, after: true, die: die})
		require.NoError(t, killed.Refresh(ctx))
		_, err = resize.Settle(mortal, killed, 1)
		require.Error(t, err)
		s.cmd(t, 1, "UNLINK", "mover")
		w, claims := s.work(t, 0, name, 1)
		require.Len(t, claims, 1)

		require.NoError(t, resize.Bind(ctx, s.directory, name))
		assert.Contains(t, s.hash(t, 0, "stragglers"), "held")
		assert.Contains(t, s.hash(t, 1, "foreign"), "held")
		_, err = w.Settle(ctx, []redisconn.Call{w.End(claims[0], rdb.Ending{ID: "held", Queue: name, State: "done"})})
		require.NoError(t, err)
		s.settleAll(t)
		assert.Empty(t, s.foreigners(t))
		assert.Empty(t, s.records(t))
	})
}
