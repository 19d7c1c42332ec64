package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

func newDirectory(t testing.TB) *directory {
	home, err := Directory(filepath.Join(t.TempDir(), "a", "b"))
	require.NoError(t, err)
	return home.(*directory)
}

// bucket is a home in the memory of the test, whose Put and Delete may be held up.
type bucket struct {
	mu       sync.Mutex
	contents map[Hash][]byte
	before   func(what string, hash Hash) error
}

func (b *bucket) enter(what string, hash Hash) error {
	if b.before == nil {
		return nil
	}
	return b.before(what, hash)
}

func (b *bucket) Put(_ context.Context, hash Hash, content []byte) error {
	if err := b.enter("put", hash); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.contents[hash] = content
	return nil
}

func (b *bucket) Get(_ context.Context, hash Hash) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return shelf(b.contents).Get(context.Background(), hash)
}

func (b *bucket) Delete(_ context.Context, hash Hash) error {
	if err := b.enter("delete", hash); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.contents, hash)
	return nil
}

func (b *bucket) Has(_ context.Context, hash Hash) (int64, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, found := b.contents[hash]
	return int64(len(content)), found, nil
}

func (b *bucket) List(context.Context) iter.Seq2[Hash, error] {
	b.mu.Lock()
	names := maps.Clone(b.contents)
	b.mu.Unlock()
	return func(yield func(Hash, error) bool) {
		for hash := range names {
			if !yield(hash, nil) {
				return
			}
		}
	}
}

// homes are those that every test of a home runs with.
var homes = map[string]func(t testing.TB) Home{
	"directory": func(t testing.TB) Home { return newDirectory(t) },
	"bucket":    func(testing.TB) Home { return &bucket{contents: map[Hash][]byte{}} },
}

func eachHome(t *testing.T, test func(t *testing.T, k *kit, home Home)) {
	t.Helper()
	for name, open := range homes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				home := open(t)
				k.Store = k.open(k.server.DSN(), Options{Home: home})
				test(t, k, home)
			})
		})
	}
}

func TestAnObjectLivesInItsHome(t *testing.T) {
	t.Parallel()
	eachHome(t, func(t *testing.T, k *kit, home Home) {
		hash := k.put([]byte("prices"))
		assert.Equal(t, []string{"objects"}, k.keys(), "its content is not in Redis")
		got, err := k.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(got))
		k.do("HSET", "jobs", "job", "{}")
		require.NoError(t, k.Refer(t.Context(), hash, "job"))
		sum, err := k.Statistics(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Statistics{Count: 1, Bytes: 6, References: 1}, sum)

		k.age(hash)
		assert.Zero(t, k.collect(), "a job refers to it")
		require.NoError(t, k.Unrefer(t.Context(), hash, "job"))
		assert.Equal(t, Collected{Objects: 1}, k.collect())
		assert.Equal(t, []string{"jobs"}, k.keys())
		_, err = k.Get(t.Context(), hash)
		var vanished *VanishedError
		require.ErrorAs(t, err, &vanished)
		_, found, err := home.Has(t.Context(), hash)
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, hash, k.put([]byte("prices")), "and it can be put again")
	})
}

// What a home must do, whatever it is.
func TestHomesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	for name, open := range homes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, ctx := open(t), t.Context()
			for range 2 {
				require.NoError(t, home.Put(ctx, Of([]byte("a")), []byte("a")), "Put may be repeated")
			}
			require.NoError(t, home.Put(ctx, Of(nil), nil))
			got, err := home.Get(ctx, Of([]byte("a")))
			require.NoError(t, err)
			assert.Equal(t, "a", string(got))
			size, found, err := home.Has(ctx, Of(nil))
			require.NoError(t, err)
			assert.True(t, found)
			assert.Zero(t, size)
			assert.ElementsMatch(t, []Hash{Of(nil), Of([]byte("a"))}, listed(t, home))
			for _, err := range home.List(ctx) {
				require.NoError(t, err)
				break // a List may be left
			}
			for range 2 {
				require.NoError(t, home.Delete(ctx, Of(nil)), "Delete may be repeated")
			}
			_, found, err = home.Has(ctx, Of(nil))
			require.NoError(t, err)
			assert.False(t, found)
			_, err = home.Get(ctx, Of(nil))
			var vanished *VanishedError
			require.ErrorAs(t, err, &vanished)
		})
	}
}

func listed(t testing.TB, home Home) []Hash {
	var all []Hash
	for hash, err := range home.List(t.Context()) {
		require.NoError(t, err)
		all = append(all, hash)
	}
	return all
}

func TestContentsThatRedisForgotAreCollectedAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	eachHome(t, func(t *testing.T, k *kit, home Home) {
		hash := k.put([]byte("prices"))
		k.do("UNLINK", "objects") // it lost its data, or a collector died in the middle
		assert.Zero(t, k.collect(), "it is noted anew, so that whoever still wants it can refer to it")
		require.NoError(t, k.Refer(t.Context(), hash, "job"))
		require.NoError(t, k.Unrefer(t.Context(), hash, "job"))
		k.age(hash)
		assert.Equal(t, Collected{Objects: 1}, k.collect())
		assert.Empty(t, listed(t, home))
	})
}

// While a collector takes a content out, whoever puts the same content waits, and then stores it again.
func TestPutWaitsForACollectorThatTakesItOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		deleting, goOn := make(chan struct{}), make(chan struct{})
		home := &bucket{contents: map[Hash][]byte{}}
		k.Store = k.open(k.server.DSN(), Options{Home: home})
		hash := k.put([]byte("prices"))
		k.age(hash)
		home.before = func(what string, _ Hash) error {
			if what == "delete" {
				close(deleting)
				<-goOn
			}
			return nil
		}
		collected := make(chan Collected, 1)
		go func() {
			did, err := k.Collect(t.Context())
			assert.NoError(t, err)
			collected <- did
		}()
		<-deleting
		var vanished *VanishedError
		require.ErrorAs(t, k.Refer(t.Context(), hash, "job"), &vanished, "nobody can refer to it now")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := k.Put(ctx, []byte("prices"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		put := make(chan error, 1)
		go func() {
			_, err := k.Put(t.Context(), []byte("prices"))
			put <- err
		}()
		close(goOn)
		assert.Equal(t, Collected{Objects: 1}, <-collected)
		require.NoError(t, <-put)
		got, err := k.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(got))
		assert.Equal(t, []string{"objects"}, k.keys(), "the mark is gone")
	})
}

// An upload that took longer than the grace period may have been collected in the middle: Put sees it and stores it
// again.
func TestPutStoresAgainWhatWasCollectedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		home := &bucket{contents: map[Hash][]byte{}}
		k.Store = k.open(k.server.DSN(), Options{Home: home})
		puts := 0
		home.before = func(what string, hash Hash) error {
			if what == "put" {
				if puts++; puts == 1 {
					k.do("ZREM", "objects", string(hash))
				}
			}
			return nil
		}
		hash := k.put([]byte("prices"))
		assert.Equal(t, 2, puts)
		require.NoError(t, k.Refer(t.Context(), hash, "job"))
	})
}

func TestAHomeThatFailsIsReported(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		full := errors.New("the disk is full")
		home := &bucket{contents: map[Hash][]byte{}}
		k.Store = k.open(k.server.DSN(), Options{Home: home})
		hash := k.put([]byte("prices"))
		k.age(hash)
		home.before = func(string, Hash) error { return full }
		_, err := k.Put(t.Context(), []byte("more"))
		require.ErrorIs(t, err, full)
		_, err = k.Collect(t.Context())
		require.ErrorIs(t, err, full)
		home.before = nil
		k.do("UNLINK", "object:"+string(hash)+":leaving") // as after a minute
		k.collect()
		k.age(hash)
		assert.Equal(t, Collected{Objects: 1}, k.collect(), "a later collector does it")
		assert.NotContains(t, home.contents, hash)
	})
}

// The race of the collector with submits, as with contents in Redis.
func TestNoObjectIsDroppedFromItsHomeWhileASubmitIsUnderWay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.Store = k.open(k.server.DSN(), Options{Home: newDirectory(t)})
		text := []byte("prices")
		hash := k.put(text)
		for round := range 50 {
			k.age(hash)
			collector := choosing(t, k.Store)
			id := fmt.Sprint("job ", round)
			var racing sync.WaitGroup
			racing.Go(func() {
				_, err := k.Put(t.Context(), text)
				assert.NoError(t, err)
				assert.NoError(t, k.Refer(t.Context(), hash, id))
			})
			racing.Go(func() {
				_, _, err := collector.Step(t.Context())
				assert.NoError(t, err)
			})
			racing.Wait()
			got, err := k.Get(t.Context(), hash)
			require.NoError(t, err, "round %d", round)
			require.Equal(t, text, got)
			require.NoError(t, k.Unrefer(t.Context(), hash, id))
		}
	})
}

func TestALostReplyOfARemovalFromAHome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		home := &bucket{contents: map[Hash][]byte{}}
		s := k.open(k.server.DSN(), Options{Home: home})
		hash, err := s.Put(t.Context(), []byte("prices"))
		require.NoError(t, err)
		k.age(hash)
		removal := rdb.Removal{Grace: time.Hour, Mark: "mark", Lease: time.Minute}
		for range 2 {
			dropped, err := s.redis.Drop(t.Context(), removal, []string{string(hash)})
			require.NoError(t, err)
			assert.Equal(t, []string{string(hash)}, dropped, "the same answer, so that its content is taken out")
		}
		removal.Mark = "another"
		dropped, err := s.redis.Drop(t.Context(), removal, []string{string(hash)})
		require.NoError(t, err)
		assert.Empty(t, dropped)
		require.NoError(t, s.redis.Gone(t.Context(), string(hash), "another"))
		assert.Contains(t, k.keys(), "object:"+string(hash)+":leaving", "only its own mark")
	})
}

func TestFilesOfADirectory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	home := newDirectory(t)
	hash := Of([]byte("prices"))
	file := filepath.Join(home.path, string(hash[:2]), string(hash))

	t.Run("many writers", func(t *testing.T) {
		var writers sync.WaitGroup
		for range 20 {
			writers.Go(func() { assert.NoError(t, home.Put(ctx, hash, []byte("prices"))) })
		}
		writers.Wait()
		entries, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, entries, 1, "no partial file is left")
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("cut short", func(t *testing.T) {
		require.NoError(t, os.WriteFile(file, []byte("pri"), 0o600))
		require.NoError(t, home.Put(ctx, hash, []byte("prices")))
		got, err := home.Get(ctx, hash)
		require.NoError(t, err)
		assert.Equal(t, "prices", string(got))
	})
	t.Run("what is not ours", func(t *testing.T) {
		fresh, old := filepath.Join(filepath.Dir(file), partial+"1"), filepath.Join(filepath.Dir(file), partial+"2")
		foreign := filepath.Join(home.path, "notes.txt")
		for _, path := range []string{fresh, old, foreign, filepath.Join(home.path, string(hash))} {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		long := time.Now().Add(-2 * partialLife)
		require.NoError(t, os.Chtimes(old, long, long))
		assert.Equal(t, []Hash{hash}, listed(t, home))
		assert.FileExists(t, fresh, "its writer may live")
		assert.NoFileExists(t, old)
		assert.FileExists(t, foreign)
	})
	t.Run("enormous", func(t *testing.T) {
		require.NoError(t, os.Truncate(file, MaxSize+1))
		_, err := home.Get(ctx, hash)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch)
	})
	t.Run("a path for a hash", func(t *testing.T) {
		var wrong *HashError
		require.ErrorAs(t, home.Put(ctx, "../../etc/passwd", nil), &wrong)
		require.ErrorAs(t, home.Delete(ctx, "../../etc/passwd"), &wrong)
		_, err := home.Get(ctx, "../../etc/passwd")
		require.ErrorAs(t, err, &wrong)
		_, _, err = home.Has(ctx, "../../etc/passwd")
		require.ErrorAs(t, err, &wrong)
	})
	t.Run("a ctx that has ended", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, home.Put(ended, hash, nil), context.Canceled)
		for _, err := range home.List(ended) {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func TestDirectoriesThatCannotBe(t *testing.T) {
	t.Parallel()
	_, err := Directory("")
	require.ErrorContains(t, err, "has no path")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Directory(file)
	require.ErrorContains(t, err, "cannot be made")
}
