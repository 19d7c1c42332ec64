package flow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// TestMembersKeepWhatTheirArgsReferTo: the collector comes by while they wait for others, and while they wait in
// their queues.
func TestMembersKeepWhatTheirArgsReferTo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store, err := objects.New(pooltest.StoreOf(k.Enq), objects.Options{Grace: time.Millisecond})
		require.NoError(t, err)
		shared, err := objects.Share(k.Ctx(), store, "prices")
		require.NoError(t, err)
		f := flow.New("f").OnDone("read", shared)
		f.Job("read", shared).Named("second").After(f.Job("read", shared).Named("first"))
		k.stored(f)
		entries := slices.Values([]work.Entry{{Name: "read", Args: []any{shared}}})
		for id, enq := range map[string]*work.Enqueuer{"b": k.Enq, "passed": (&passing{}).enqueuer(k)} {
			_, err = flow.Batch(k.Ctx(), enq, id, entries)
			require.NoError(t, err)
		}

		collect := func() objects.Collected {
			k.Do("ZADD", "objects", 1, string(shared.Hash())) // long ago
			collected, err := store.Collect(k.Ctx())
			require.NoError(t, err)
			return collected
		}
		assert.Equal(t, objects.Collected{}, collect())
		read := make(chan string, 6)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("read", func(ctx context.Context, prices objects.Ref[string]) error {
				value, err := prices.Value(ctx)
				read <- value
				return err
			}).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				err := flow.Add(ctx, job, "added", work.Entry{Name: "read", Args: []any{shared}}, "adds")
				assert.Equal(t, objects.Collected{}, collect())
				return err
			}))
		g := flow.New("g")
		g.Job("adds")
		k.stored(g)
		for range 6 {
			assert.Equal(t, "prices", pooltest.Receive(t, read))
		}
		k.Drained(pool)
		for _, id := range []string{"f", "b", "passed", "g"} {
			assert.Equal(t, flow.Done, k.ended(id).State)
		}
		assert.Equal(t, 1, collect().Objects, "nobody needs it any more")
	})
}

// TestMembersThatRunOnceMoreKeepThemToo: of one that was cancelled nothing referred to its object any more.
func TestMembersThatRunOnceMoreKeepThemToo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store, err := objects.New(pooltest.StoreOf(k.Enq), objects.Options{Grace: time.Millisecond})
		require.NoError(t, err)
		shared, err := objects.Share(k.Ctx(), store, "prices")
		require.NoError(t, err)
		f := flow.New("f")
		f.Job("read", shared, shared)
		k.stored(f)
		set := "object:" + string(shared.Hash()) + ":jobs"
		k.Cancel("f/read")
		assert.Equal(t, flow.DeadEnded, k.stateOf("f"))
		assert.Zero(t, k.Number("SCARD", set))
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []string{"f/read"}, k.Strings("SMEMBERS", set))
	})
}
