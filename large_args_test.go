package work

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// long is a text whose JSON has that many bytes.
func long(bytes int) string { return strings.Repeat("x", bytes-len(`""`)) }

// stored reads the record of a job, which must be there.
func (k *kit) stored(id string) record {
	k.t.Helper()
	r, err := decodeRecord([]byte(k.text("HGET", "jobs", id)))
	require.NoError(k.t, err)
	return r
}

func TestALargeArgumentIsAnObject(t *testing.T) {
	t.Parallel()
	hash := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return string(objects.Of(text))
	}
	at, above := long(defaultLargeArgs), long(defaultLargeArgs+1)
	escaped := strings.Repeat("<&>\u2028\"", 2000)
	rows := []struct {
		name  string
		args  []any
		left  string
		apart map[int]string
	}{
		{"nothing large", []any{1, "a", nil}, `[1,"a",null]`, nil},
		{"at the threshold", []any{at}, `["` + at + `"]`, nil},
		{"above it", []any{above}, `[null]`, map[int]string{0: hash(above)}},
		{"among others", []any{7, above, nil, "b"}, `[7,null,null,"b"]`, map[int]string{1: hash(above)}},
		{"twice", []any{above, 1, above}, `[null,1,null]`, map[int]string{0: hash(above), 2: hash(above)}},
		{"a struct", []any{report{Notes: map[string]string{"a": above}}}, `[null]`,
			map[int]string{0: hash(report{Notes: map[string]string{"a": above}})}},
		{"many that are small", []any{at, at, at}, `["` + at + `","` + at + `","` + at + `"]`, nil},
		{"without escapes of HTML", []any{escaped}, `[null]`,
			map[int]string{0: string(objects.Of(plainJSON(t, escaped)))}},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				k := newKit(t, s)
				receipt := k.enqueue("a", row.args...)
				kept := k.stored(receipt.ID)
				assert.Equal(t, row.left, string(kept.Args))
				assert.Equal(t, row.apart, kept.Objects)
				distinct := map[string]bool{}
				for _, sha := range row.apart {
					distinct[sha] = true
					assert.Equal(t, 1, k.number("SISMEMBER", "object:"+sha+":jobs", receipt.ID))
					assert.Equal(t, sha, string(objects.Of([]byte(k.text("GET", "object:"+sha)))))
				}
				assert.Equal(t, len(distinct), k.number("ZCARD", "objects"))
			})
		}
	})
}

func plainJSON(t *testing.T, v any) []byte {
	t.Helper()
	encoded, err := encodeArgs(nil, "a", []any{v}, maxMaxArgsSize)
	require.NoError(t, err)
	return encoded[1 : len(encoded)-1]
}

func TestLargeArgsHasAnOption(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for large, left := range map[int]string{100: `[null]`, 102: `["` + long(101) + `"]`, -1: `["` + long(101) +
			`"]`} {
			t.Run(fmt.Sprint(large), func(t *testing.T) {
				k := newKit(t, s)
				enq, err := NewEnqueuer(s.DSN(), Namespace(k.namespace), LargeArgs(large))
				require.NoError(t, err)
				defer enq.Close()
				receipt, err := enq.Enqueue(k.ctx(), "a", long(101))
				require.NoError(t, err)
				assert.Equal(t, left, string(k.stored(receipt.ID).Args))

				options := k.options()
				options.LargeArgs = large
				receipt, err = NewWorkerPool(nil, 1, options).Job("a", func(string) error { return nil }).Enqueuer().
					Enqueue(k.ctx(), "a", long(101))
				require.NoError(t, err)
				assert.Equal(t, left, string(k.stored(receipt.ID).Args), "the pool's")
			})
		}
	})
}

// The record holds 1 MiB, all args 64 MiB, and MaxArgsSize bounds both.
func TestHowLargeArgsMayBe(t *testing.T) {
	t.Parallel()
	enq := newEnqueuer(nil, 0, 0, nil)
	rows := []struct {
		name string
		most int
		args []any
		text string // of the refusal
	}{
		{"one that is an object", 0, []any{long(2 << 20)}, ""},
		{"as many as fit into objects", 0, []any{long(objects.MaxSize - 10)}, ""},
		{"all together too large", 0, []any{long(40 << 20), long(objects.MaxSize - 40<<20)},
			"is 67108867 bytes long: at most 67108864 are allowed"},
		{"the record too large", 0, slices.Repeat([]any{long(8000)}, 132),
			"is 1056133 bytes long: at most 1048576 are allowed"},
		{"more objects than a job may have", 0, slices.Repeat([]any{long(10_000)}, 64+104), ""},
		{"so many more that the record has no room", 0, slices.Repeat([]any{long(10_000)}, 64+105),
			"bytes long: at most 1048576 are allowed"},
		{"MaxArgsSize counts objects", 10_000, []any{long(9000), 1, long(996)},
			"is 10001 bytes long: at most 10000 are allowed"},
		{"and is enough for itself", 10_000, []any{long(9000), 1, long(995)}, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			limits := newArgsLimits(row.most, 0)
			_, _, err := limits.encode(nil, "a", row.args)
			if row.text == "" {
				require.NoError(t, err)
				return
			}
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.Contains(t, err.Error(), row.text)
		})
	}
	assert.Equal(t, newArgsLimits(0, 0), enq.core.limits)
}

// A check of the pool's enqueuer sees what the handler will see.
func TestThePoolsEnqueuerChecksLargeArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := NewWorkerPool(nil, 1, k.options()).Job("a", func([]string, int) error { return nil }).Enqueuer()
		_, err := enq.Enqueue(k.ctx(), "a", slices.Repeat([]string{"abcdefg"}, 2000), 1)
		require.NoError(t, err)
		_, err = enq.Enqueue(k.ctx(), "a", slices.Repeat([]int{1234567}, 2000), 1)
		var refused *ArgumentError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, 1, k.number("HLEN", "jobs"))
		assert.Equal(t, 1, k.number("ZCARD", "objects"), "what is refused is not uploaded")
	})
}

func TestTheSameLargeArgumentIsUploadedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver := &scriptCounter{Driver: k.enq.core.store.Driver()}
		enq := newEnqueuer(rdb.NewStore(driver, k.namespace), 0, 0, nil)
		defer enq.Close()
		many := 1000
		if redistest.RaceDetector {
			many = 50
		}
		entries := make([]Entry, many)
		for i := range entries {
			entries[i] = Entry{Name: "a", Args: []any{i, long(1 << 20)}}
		}
		receipts, err := enq.EnqueueMany(t.Context(), entries) // encoding and hashing 1 GB takes seconds
		require.NoError(t, err)
		require.Len(t, receipts, many)
		assert.EqualValues(t, 1, driver.count("keep"), "one upload")
		assert.EqualValues(t, 1, driver.count("touch"), "and one look before it")
		_, err = enq.Enqueue(k.ctx(), "a", -1, long(1<<20))
		require.NoError(t, err)
		assert.EqualValues(t, 1, driver.count("touch"), "a minute long none is needed")

		sha := k.stored(receipts[0].ID).Objects[1]
		assert.Equal(t, many+1, k.number("SCARD", "object:"+sha+":jobs"))
		assert.Equal(t, 1<<20, k.number("STRLEN", "object:"+sha))
		assert.Equal(t, 1, k.number("ZCARD", "objects"))
	})
}

// Those who come at once share the upload as well.
func TestCallersShareAnUpload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver := &scriptCounter{Driver: k.enq.core.store.Driver()}
		enq := newEnqueuer(rdb.NewStore(driver, k.namespace), 0, 0, nil)
		defer enq.Close()
		failed := make(chan error)
		for range 32 {
			go func() {
				_, err := enq.Enqueue(k.ctx(), "a", long(3<<20))
				failed <- err
			}()
		}
		for range 32 {
			require.NoError(t, receive(t, failed))
		}
		assert.EqualValues(t, 1, driver.count("keep"))
		assert.Equal(t, 32, k.number("HLEN", "jobs"))
	})
}

func TestARefIsReferredToWithoutAnUpload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := k.objects()
		shared, err := objects.Share(k.ctx(), store, []int{1, 2, 3})
		require.NoError(t, err)
		driver := &scriptCounter{Driver: k.enq.core.store.Driver()}
		enq := newEnqueuer(rdb.NewStore(driver, k.namespace), 0, 0, nil)
		defer enq.Close()
		receipt, err := enq.Enqueue(k.ctx(), "a", "b", shared, objects.Ref[int]{}, &shared, (*objects.Ref[int])(nil))
		require.NoError(t, err)
		assert.EqualValues(t, 0, driver.count("touch"))
		sha := string(shared.Hash())
		text := fmt.Sprintf(`{"object":"%s","size":7}`, sha)
		assert.Equal(t, `["b",`+text+`,null,`+text+`,null]`, string(k.stored(receipt.ID).Args))
		assert.Equal(t, map[int]string{1: sha, 3: sha}, k.stored(receipt.ID).Objects)
		assert.Equal(t, 1, k.number("SCARD", "object:"+sha+":jobs"))

		k.do("UNLINK", "objects")
		_, err = enq.Enqueue(k.ctx(), "a", shared)
		var vanished *objects.VanishedError
		require.ErrorAs(t, err, &vanished)
		assert.Equal(t, shared.Hash(), vanished.Hash)
		var failed *EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
	})
}
