package partitions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// What a program has shared is in the first partition. Members that refer to it have it where they are, and the
// collector leaves it there as long as their flow is known.
func TestMembersHaveWhatTheyReferToWhereTheyAre(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		var stores [3]*objects.Store
		for i := range stores {
			store, err := objects.New(h.directory.Store(i), objects.Options{Grace: time.Millisecond})
			require.NoError(t, err)
			stores[i] = store
		}
		shared, err := objects.Share(h.Ctx(), stores[0], "prices")
		require.NoError(t, err)
		f := flow.New("f")
		first := f.Job(h.names[1], shared)
		f.Job(h.names[2], shared).After(first)
		h.store(f)
		h.home = 1
		assert.Equal(t, flow.Running, h.stateOf("f"))

		collect := func() (gone int) {
			for i, store := range stores {
				_, err := redisconn.Do(h.Ctx(), h.Raw().Driver(), redisconn.Call{Command: "ZADD",
					Args: []any{h.directory.Store(i).Key("objects"), "XX", 1, string(shared.Hash())}}) // long ago
				require.NoError(t, err)
				collected, err := store.Collect(h.Ctx())
				require.NoError(t, err)
				gone += collected.Objects
			}
			return gone
		}
		assert.Equal(t, 1, collect(), "that in the first one, where nobody refers to it")
		for _, store := range stores[1:] {
			_, err := store.Get(h.Ctx(), shared.Hash())
			require.NoError(t, err)
		}
		h.until(flow.Done)
		assert.Equal(t, 2, collect())
	})
}

// An object that is gone is told at once, and nothing is left of the flow that refers to it.
func TestAFlowThatRefersToNothingIsNotStored(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		h := newHands(t, s)
		store, err := objects.New(h.directory.Store(0), objects.Options{})
		require.NoError(t, err)
		shared, err := objects.Share(h.Ctx(), store, "prices")
		require.NoError(t, err)
		for i := range 3 {
			_, err := redisconn.Do(h.Ctx(), h.Raw().Driver(),
				redisconn.Call{Command: "UNLINK", Args: []any{h.directory.Store(i).Key("objects"),
					h.directory.Store(i).Key("object:" + string(shared.Hash()))}})
			require.NoError(t, err)
		}
		for _, name := range h.names {
			f := flow.New("f")
			f.Job(name, shared)
			_, err := flow.Enqueue(h.Ctx(), h.Enq, f)
			var vanished *objects.VanishedError
			require.ErrorAs(t, err, &vanished)
			h.nothingLeft()
		}
	})
}
