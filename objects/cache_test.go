package objects

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// gated is a source that answers when it is told to.
type gated struct {
	Source
	open    chan struct{}
	reads   atomic.Int64
	entered chan context.Context
}

func newGated(source Source) *gated {
	return &gated{Source: source, open: make(chan struct{}), entered: make(chan context.Context, 100)}
}

func (g *gated) Get(ctx context.Context, hash Hash) ([]byte, error) {
	g.reads.Add(1)
	g.entered <- ctx
	select {
	case <-g.open:
		return g.Source.Get(ctx, hash)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shelf is a source without Redis.
type shelf map[Hash][]byte

func (s shelf) Get(_ context.Context, hash Hash) ([]byte, error) {
	content, found := s[hash]
	if !found {
		return nil, &VanishedError{Hash: hash}
	}
	return content, nil
}

func (s shelf) put(content []byte) Hash {
	hash := Of(content)
	s[hash] = content
	return hash
}

// failing is a source that does whatever it is.
type failing func(ctx context.Context, hash Hash) ([]byte, error)

func (f failing) Get(ctx context.Context, hash Hash) ([]byte, error) { return f(ctx, hash) }

func newTestCache(t testing.TB, source Source, bytes int64) *Cache {
	c := NewCache(source, bytes)
	t.Cleanup(c.Close)
	return c
}

// joined waits until so many readers have joined a download.
func joined(t *testing.T, c *Cache, readers int64) {
	t.Helper()
	require.Eventually(t, func() bool { return c.Statistics().Shared == readers }, time.Minute, time.Millisecond)
}

func TestAThousandReadersOfOneObjectCauseOneDownload(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		text := content(3 << 20)
		hash := k.put(text)
		source := newGated(k.Store)
		c := newTestCache(t, source, 16<<20)
		var readers sync.WaitGroup
		for range 1000 {
			readers.Go(func() {
				got, err := c.Get(t.Context(), hash)
				assert.NoError(t, err)
				assert.Len(t, got, len(text))
			})
		}
		joined(t, c, 999)
		close(source.open)
		readers.Wait()
		assert.Equal(t, int64(1), source.reads.Load())
		got, err := c.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, hash, Of(got))
		assert.Equal(t, CacheStatistics{Count: 1, Bytes: int64(len(text)) + entryOverhead, Hits: 1, Shared: 999,
			Downloads: 1}, c.Statistics())
	})
}

func TestAReaderThatGivesUpDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("the first one: %v", first), func(t *testing.T) {
			t.Parallel()
			from := shelf{}
			hash := from.put([]byte("prices"))
			source := newGated(from)
			c := newTestCache(t, source, 1<<20)
			gone := errors.New("the reader has gone")
			leaving, leave := context.WithCancelCause(t.Context())
			leaver, stayer := leaving, t.Context()
			type answer struct {
				content []byte
				err     error
			}
			left, stayed := make(chan answer, 1), make(chan answer, 1)
			read := func(ctx context.Context, to chan answer) {
				content, err := c.Get(ctx, hash)
				to <- answer{content, err}
			}
			if first {
				go read(leaver, left)
				<-source.entered
				go read(stayer, stayed)
			} else {
				go read(stayer, stayed)
				<-source.entered
				go read(leaver, left)
			}
			joined(t, c, 1)
			leave(gone)
			require.ErrorIs(t, (<-left).err, gone)
			close(source.open)
			got := <-stayed
			require.NoError(t, got.err)
			assert.Equal(t, "prices", string(got.content))
			assert.Equal(t, int64(1), source.reads.Load())
		})
	}
}

func TestADownloadThatNobodyWaitsForEnds(t *testing.T) {
	t.Parallel()
	from := shelf{}
	hash := from.put([]byte("prices"))
	source := newGated(from)
	c := newTestCache(t, source, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := c.Get(ctx, hash)
		left <- err
	}()
	download := <-source.entered
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	<-download.Done()

	close(source.open)
	got, err := c.Get(t.Context(), hash)
	require.NoError(t, err, "the next reader begins another download")
	assert.Equal(t, "prices", string(got))
	assert.Equal(t, int64(2), source.reads.Load())

	_, err = c.Get(ctx, hash)
	require.ErrorIs(t, err, context.Canceled, "a reader that has gone is not served")
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	from := shelf{}
	c := newTestCache(t, from, 1<<20)
	_, err := c.Get(t.Context(), Of([]byte("prices")))
	var vanished *VanishedError
	require.ErrorAs(t, err, &vanished)
	hash := from.put([]byte("prices"))
	got, err := c.Get(t.Context(), hash)
	require.NoError(t, err)
	assert.Equal(t, "prices", string(got))
}

func TestASourceThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	c := newTestCache(t, failing(func(context.Context, Hash) ([]byte, error) { panic("no more") }), 1<<20)
	_, err := c.Get(t.Context(), "x")
	require.ErrorContains(t, err, "reading object x panicked: no more")
	assert.ErrorContains(t, err, "cache_test.go", "with its stack")
}

func TestTheObjectThatWasNotUsedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	from := shelf{}
	a, b, d, big := from.put(content(1000)), from.put(content(1001)), from.put(content(1002)), from.put(content(4000))
	c := newTestCache(t, from, 3000) // two of the small ones
	read := func(hashes ...Hash) {
		for _, hash := range hashes {
			_, err := c.Get(t.Context(), hash)
			require.NoError(t, err)
		}
	}
	read(a, b, a, d, big) // d drives b out; big does not fit at all
	before := c.Statistics()
	assert.Equal(t, 2, before.Count)
	read(a, d)
	assert.Equal(t, before.Downloads, c.Statistics().Downloads, "both were held")
	read(b, big)
	assert.Equal(t, before.Downloads+2, c.Statistics().Downloads, "neither was held")
}

func TestTheCacheNeverExceedsItsBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 5000).Draw(t, "bound")
		from := shelf{}
		c := NewCache(from, bound)
		defer c.Close()
		var readers sync.WaitGroup
		for range rapid.IntRange(1, 40).Draw(t, "reads") {
			hash := from.put(content(rapid.IntRange(0, 3000).Draw(t, "size")))
			_, err := c.Get(context.Background(), hash)
			require.NoError(t, err)
			now := c.Statistics()
			require.LessOrEqual(t, now.Bytes, bound)
			var held int64
			for element := c.recent.Front(); element != nil; element = element.Next() {
				held += element.Value.(*entry).cost()
			}
			require.Equal(t, held, now.Bytes)
			require.Equal(t, now.Count, len(c.entries))
		}
		for hash := range from {
			readers.Go(func() {
				_, err := c.Get(context.Background(), hash)
				assert.NoError(t, err)
				assert.LessOrEqual(t, c.Statistics().Bytes, bound)
			})
		}
		readers.Wait()
	})
}

func TestCloseEndsDownloadsAndLetsGo(t *testing.T) {
	t.Parallel()
	from := shelf{}
	hash := from.put([]byte("prices"))
	source := newGated(from)
	c := NewCache(source, 1<<20)
	answer := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), hash)
		answer <- err
	}()
	<-source.entered
	c.Close()
	require.ErrorIs(t, <-answer, ErrClosed)
	_, err := c.Get(t.Context(), hash)
	require.ErrorIs(t, err, ErrClosed)
	assert.Zero(t, c.Statistics().Bytes)
	c.Close()
}

func TestTamperedContentIsNotCached(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := k.put([]byte("prices"))
		k.do("SET", "object:"+string(hash), "prizes")
		c := newTestCache(t, k.Store, 1<<20)
		_, err := c.Get(t.Context(), hash)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch)
		k.do("SET", "object:"+string(hash), "prices")
		got, err := c.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(got))
		k.do("SET", "object:"+string(hash), "prizes")
		_, err = c.Get(t.Context(), hash)
		require.NoError(t, err, "what was verified is not asked for again")
	})
}
