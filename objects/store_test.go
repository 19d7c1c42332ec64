package objects

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhatIsPutIsRead(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{
		"nothing": 0, "one byte": 1, "a piece but one byte": rdb.ObjectPiece - 1, "a piece": rdb.ObjectPiece,
		"a piece and one byte": rdb.ObjectPiece + 1, "five pieces": 5 * rdb.ObjectPiece,
		"six and a bit": 6*rdb.ObjectPiece + 17,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				want := content(size)
				hash := k.put(want)
				assert.Equal(t, Of(want), hash)
				got, err := k.Get(t.Context(), hash)
				require.NoError(t, err)
				assert.Equal(t, Of(want), Of(got))
				assert.Len(t, got, size)
				assert.ElementsMatch(t, []string{"objects", "object:" + string(hash)}, k.keys(), "nothing else is left")
				assert.Equal(t, int64(-1), k.do("PTTL", "object:"+string(hash)), "it has no time to live")
			})
		})
	}
}

func TestARoundTripOf64MiB(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		redistest.SkipUnderRace(t, "64 MiB take it a minute, and go through one goroutine")
		want := content(MaxSize)
		hash := k.put(want)
		got, err := k.Get(t.Context(), hash)
		require.NoError(t, err)
		require.Len(t, got, MaxSize)
		assert.Equal(t, hash, Of(got))

		_, err = k.Put(t.Context(), append(want, 'x'))
		var tooLarge *TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		assert.Equal(t, &TooLargeError{What: "content", Size: MaxSize + 1, Limit: MaxSize}, tooLarge)
		assert.ErrorContains(t, err, "67108865 bytes, more than the 67108864")
		k.do("UNLINK", "object:"+string(hash)) // the server is shared
	})
}

func TestTheSameContentIsStoredOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		first := k.put([]byte("prices"))
		k.age(first)
		assert.Equal(t, first, k.put([]byte("prices")))
		sum, err := k.Statistics(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Statistics{Count: 1, Bytes: 6, Unused: 1}, sum)
		for info, err := range k.All(t.Context()) {
			require.NoError(t, err)
			assert.Greater(t, info.LastUse, time.UnixMilli(1), "the use is noted")
		}
	})
}

func TestUploadersOfTheSameContentDoNoHarm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		want := content(2*rdb.ObjectPiece + 5)
		var uploads sync.WaitGroup
		for range 8 {
			uploads.Go(func() {
				hash, err := k.Put(t.Context(), want)
				assert.NoError(t, err)
				got, err := k.Get(t.Context(), hash)
				assert.NoError(t, err)
				assert.Equal(t, hash, Of(got))
			})
		}
		uploads.Wait()
		assert.ElementsMatch(t, []string{"objects", "object:" + string(Of(want))}, k.keys(), "no upload is left")
	})
}

func TestWhatIsNotThereHasVanished(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := Of([]byte("never put"))
		_, err := k.Get(t.Context(), hash)
		var vanished *VanishedError
		require.ErrorAs(t, err, &vanished)
		assert.Equal(t, hash, vanished.Hash)

		_, err = k.Get(t.Context(), "no hash")
		var wrong *HashError
		require.ErrorAs(t, err, &wrong)
	})
}

func TestTamperedContentIsFound(t *testing.T) {
	t.Parallel()
	original := content(3 * rdb.ObjectPiece)
	for name, row := range map[string]struct {
		tamper func(k *kit, key string)
		healed bool // by another Put
	}{
		"one byte changed": {func(k *kit, key string) { k.do("SETRANGE", key, 2*rdb.ObjectPiece, "X") }, false},
		"cut short":        {func(k *kit, key string) { k.do("SET", key, original[:rdb.ObjectPiece]) }, true},
		"made longer":      {func(k *kit, key string) { k.do("APPEND", key, "more") }, true},
		"made empty":       {func(k *kit, key string) { k.do("SET", key, "") }, true},
		"made enormous":    {func(k *kit, key string) { k.do("SETRANGE", key, MaxSize, "X") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				hash := k.put(original)
				row.tamper(k, "object:"+string(hash))
				_, err := k.Get(t.Context(), hash)
				var mismatch *MismatchError
				require.ErrorAs(t, err, &mismatch)
				assert.Equal(t, hash, mismatch.Hash)

				k.put(original)
				got, err := k.Get(t.Context(), hash)
				if row.healed {
					require.NoError(t, err)
					assert.Equal(t, hash, Of(got))
				} else {
					require.ErrorAs(t, err, &mismatch)
				}
			})
		})
	}
}

func TestAKeyOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		hash := Of([]byte("prices"))
		k.do("RPUSH", "object:"+string(hash), "a list")
		_, err := k.Put(t.Context(), []byte("prices"))
		var refused *redisconn.ServerError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "BADKEY", refused.Code)
		assert.ErrorContains(t, err, k.key("object:"+string(hash)))
		assert.Equal(t, []string{"object:" + string(hash)}, k.keys(), "nothing was written")
	})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options Options
		says    string
	}{
		"braces": {Options{Namespace: "a{b}"},
			`Namespace "a{b}" of the store of objects cannot be used: use one without { and }`},
		"too long":  {Options{Namespace: strings.Repeat("n", 101)}, "use at most 100 bytes"},
		"control":   {Options{Namespace: "a\nb"}, "without control characters"},
		"not UTF-8": {Options{Namespace: "a\xff"}, "use valid UTF-8"},
		"grace": {Options{Grace: -time.Second},
			"Grace -1s of the store of objects cannot be used: use a millisecond or more"},
		"grace in µs": {Options{Grace: time.Microsecond}, "use a millisecond or more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open("redis://localhost:1/0", row.options)
			var wrong *OptionError
			require.ErrorAs(t, err, &wrong)
			assert.ErrorContains(t, err, row.says)
		})
	}
	t.Run("dsn", func(t *testing.T) {
		t.Parallel()
		_, err := Open("http://localhost", Options{})
		require.ErrorContains(t, err, "use one of")
	})
}

func TestAStoreOnTheConnectionOfAnother(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		s, err := New(rdb.NewStore(k.driver, k.namespace), Options{Namespace: "{ignored}"})
		require.NoError(t, err)
		hash, err := s.Put(t.Context(), []byte("prices"))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		got, err := s.Get(t.Context(), hash)
		require.NoError(t, err, "the connection is still open")
		assert.Equal(t, "prices", string(got))
	})
}

func TestStatisticsOfManyObjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		var bytes int64
		for i := range 250 { // more than one part of the walk
			text := fmt.Sprintf("object %d", i)
			bytes += int64(len(text))
			hash := k.put([]byte(text))
			if i%5 == 0 {
				require.NoError(t, k.Refer(t.Context(), hash, "job", fmt.Sprint(i)))
			}
		}
		sum, err := k.Statistics(t.Context())
		require.NoError(t, err)
		assert.Equal(t, Statistics{Count: 250, Bytes: bytes, References: 100, Unused: 200}, sum)
	})
}
