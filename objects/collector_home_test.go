package objects

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// countingHome counts what a listing has yielded.
type countingHome struct {
	Home
	yielded int
}

func (h *countingHome) List(ctx context.Context) iter.Seq2[Hash, error] {
	return func(yield func(Hash, error) bool) {
		for hash, err := range h.Home.List(ctx) {
			if h.yielded++; !yield(hash, err) {
				return
			}
		}
	}
}

// A home is listed in bounded steps that go on, each with a ctx of its own, so that the time of one step is enough
// however many contents there are; and all that nobody needs goes in the end.
func TestAHomeOfManyContentsIsCollectedInSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		home := &countingHome{Home: newDirectory(t)}
		store := k.open(s.DSN(), Options{Namespace: k.namespace, Home: home, Grace: minGrace})
		const contents = adoptBatch + 60
		for i := range contents {
			content := fmt.Append(nil, i)
			require.NoError(t, home.Put(t.Context(), Of(content), content)) // nobody has noted it in Redis
		}
		collector, removed := store.Collector(), 0
		for walks := 0; removed < contents && walks < 20; { // the cursors of the embedded Redis pass some by
			before := home.yielded
			ctx, cancel := context.WithCancel(t.Context())
			did, done, err := collector.Step(ctx)
			cancel()
			require.NoError(t, err)
			require.LessOrEqual(t, home.yielded-before, adoptBatch)
			removed += did.Objects
			if done {
				walks++
				k.pass(2 * minGrace)
			}
		}
		assert.Equal(t, contents, removed)

		content := []byte("one more")
		require.NoError(t, home.Put(t.Context(), Of(content), content))
		_, _, err := collector.Step(t.Context())
		require.NoError(t, err)
		collector.Close() // in the middle of a listing
	})
}

// The collector of one namespace would remove the contents of another one: nothing tells it that they are needed.
func TestAHomeBelongsToOneNamespace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, other := newKit(t, s), newKit(t, s)
		home := newDirectory(t)
		mine, theirs := k.open(s.DSN(), Options{Home: home, Grace: minGrace}),
			other.open(s.DSN(), Options{Home: home, Grace: minGrace})
		hash, err := mine.Put(t.Context(), []byte("prices"))
		require.NoError(t, err)
		for range 2 {
			_, err = theirs.Collect(t.Context())
			var refused *OptionError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, "Home", refused.Option)
			assert.ErrorContains(t, err, k.namespace)
			_, err = theirs.Put(t.Context(), []byte("names"))
			require.ErrorAs(t, err, &refused)
			other.pass(2 * minGrace)
		}
		content, err := mine.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(content))
		again := k.open(s.DSN(), Options{Home: home, Grace: minGrace})
		_, err = again.Put(t.Context(), []byte("more"))
		require.NoError(t, err)
	})
}

// The namespace of another Redis is another one, whatever its name: jobs here and there do not know of each other.
func TestAHomeBelongsToOneRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		home := newDirectory(t)
		mine := k.open(s.DSN(), Options{Home: home, Grace: minGrace})
		hash, err := mine.Put(t.Context(), []byte("prices"))
		require.NoError(t, err)

		theirs := k.open(redistest.Embedded(t).DSN(), Options{Home: home, Grace: minGrace})
		for range 2 {
			_, err = theirs.Collect(t.Context())
			var refused *OptionError
			require.ErrorAs(t, err, &refused)
			assert.ErrorContains(t, err, "if Redis has lost its data, remove .owner")
			_, err = theirs.Put(t.Context(), []byte("names"))
			require.ErrorAs(t, err, &refused)
		}
		content, err := mine.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(content))
		again := k.open(s.DSN(), Options{Home: home, Grace: minGrace})
		_, err = again.Put(t.Context(), []byte("more"))
		require.NoError(t, err)
	})
}
