package thoonk_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

func TestAFeedIsCreatedByWhoOpensItFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		events := k.listen(k.client, thoonk.Watch{Registry: true})
		const openers = 8
		var all sync.WaitGroup
		for range openers {
			all.Go(func() {
				queue, err := thoonk.OpenQueue[string](k.ctx(), k.client, "q", nil, thoonk.OrCreate(thoonk.Config{}))
				if assert.NoError(t, err) {
					_, err = queue.Put(k.ctx(), "one")
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		event := k.next(events)
		assert.Equal(t, thoonk.Created, event.What)
		assert.True(t, event.Own)
		feed, err := k.client.Open(k.ctx(), "q")
		require.NoError(t, err)
		assert.Equal(t, thoonk.KindQueue, feed.Kind(), "the kind that it was opened as")
		n, err := feed.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, openers, n)
		require.NoError(t, k.client.Create(k.ctx(), "last", thoonk.Config{}))
		assert.Equal(t, "last", k.next(events).Feed, "it was created once")
	})
}

func TestOrCreateKeepsTheConfigThatIsThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		kept := thoonk.Config{Kind: thoonk.KindLeaf, MaxLength: 3}
		k.create("leaf", kept)
		_, err := thoonk.OpenLeaf[string](k.ctx(), k.client, "leaf", nil, thoonk.OrCreate(thoonk.Config{MaxLength: 9}))
		require.NoError(t, err)
		_, err = k.client.Open(k.ctx(), "leaf", thoonk.OrCreate(thoonk.Config{Kind: thoonk.KindJob}))
		require.NoError(t, err)
		config, err := k.client.Config(k.ctx(), "leaf")
		require.NoError(t, err)
		assert.Equal(t, kept, config)
	})
}

func TestOrCreateRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("leaf", thoonk.Config{})
		open := func(name string, config thoonk.Config) error {
			_, err := thoonk.OpenQueue[string](k.ctx(), k.client, name, nil, thoonk.OrCreate(config))
			return err
		}
		var kind *thoonk.KindError
		require.ErrorAs(t, open("leaf", thoonk.Config{}), &kind)
		assert.Equal(t, thoonk.KindError{Want: thoonk.KindQueue, Have: thoonk.KindLeaf}, *kind)
		require.ErrorAs(t, open("new", thoonk.Config{Kind: thoonk.KindJob}), &kind)
		assert.ErrorContains(t, open("new", thoonk.Config{MaxLength: 3}), "only a leaf has a limit")
		exists, err := k.client.Exists(k.ctx(), "new")
		require.NoError(t, err)
		assert.False(t, exists, "nothing was created")
	})
}

// pictures is a kind of a program's own: a queue with a method more.
type pictures struct{ *thoonk.Queue[string] }

func (p pictures) Double(ctx context.Context, path string) error {
	for range 2 {
		if _, err := p.Put(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func openPictures(ctx context.Context, c *thoonk.Client, name string) (thoonk.Feed, error) {
	queue, err := thoonk.OpenQueue[string](ctx, c, name, nil)
	return pictures{queue}, err
}

func TestAKindOfTheProgramsOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		knowing := k.open(k.server.DSN(), thoonk.WithKind("pictures", thoonk.KindQueue, openPictures),
			thoonk.WithKind("sights", thoonk.KindLeaf, nil))
		require.NoError(t, knowing.Create(k.ctx(), "p", thoonk.Config{Kind: "pictures"}))
		feed, err := knowing.Open(k.ctx(), "p")
		require.NoError(t, err)
		assert.Equal(t, thoonk.Kind("pictures"), feed.Kind())
		require.NoError(t, feed.(pictures).Double(k.ctx(), "cat.png"))
		n, err := feed.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 2, n)

		sights, err := thoonk.OpenLeaf[string](k.ctx(), knowing, "s", nil,
			thoonk.OrCreate(thoonk.Config{Kind: "sights", MaxLength: 1}))
		require.NoError(t, err)
		for _, sight := range []string{"a", "b"} {
			_, _, err = sights.Publish(k.ctx(), sight)
			require.NoError(t, err)
		}
		n, err = sights.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 1, n, "it has the limit of a leaf")
		plain, err := knowing.Open(k.ctx(), "s")
		require.NoError(t, err)
		assert.IsType(t, &thoonk.Leaf[[]byte]{}, plain)

		_, err = thoonk.OpenLeaf[string](k.ctx(), knowing, "p", nil)
		var kind *thoonk.KindError
		require.ErrorAs(t, err, &kind)
		_, err = k.client.Open(k.ctx(), "p")
		assert.ErrorAs(t, err, &kind, "another client was not told of the kind")
		err = k.client.Create(k.ctx(), "p2", thoonk.Config{Kind: "pictures"})
		assert.ErrorContains(t, err, `kind "pictures" is unknown`)
	})
}

func TestAKindThatCannotBeAdded(t *testing.T) {
	t.Parallel()
	refused := map[string]thoonk.Option{
		"has a meaning already": thoonk.WithKind(thoonk.KindJob, thoonk.KindQueue, nil),
		`"leaf" has a meaning`:  thoonk.WithKind("leaf", thoonk.KindQueue, nil),
		"cannot be kept as":     thoonk.WithKind("own", "other", nil),
		"is given twice": func(c *thoonk.Client) error {
			own := thoonk.WithKind("own", thoonk.KindJob, nil)
			return errors.Join(own(c), own(c))
		},
	}
	for words, option := range refused {
		_, err := thoonk.Open("memory://thoonk-kinds", option)
		assert.ErrorContains(t, err, words)
	}
}
