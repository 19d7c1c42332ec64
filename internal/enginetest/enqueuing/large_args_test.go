package enqueuing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// long is a text whose JSON has that many bytes.
func long(bytes int) string { return strings.Repeat("x", bytes-len(`""`)) }

// stored reads the record of a job, which must be there.
func (k *kit) stored(id string) record.Record {
	k.T.Helper()
	r, err := record.Decode([]byte(k.Text("HGET", "jobs", id)))
	require.NoError(k.T, err)
	return r
}

func TestALargeArgumentIsAnObject(t *testing.T) {
	t.Parallel()
	hash := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return string(objects.Of(text))
	}
	at, above := long(jobargs.DefaultLarge), long(jobargs.DefaultLarge+1)
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
		{"a struct", []any{pooltest.Report{Notes: map[string]string{"a": above}}}, `[null]`,
			map[int]string{0: hash(pooltest.Report{Notes: map[string]string{"a": above}})}},
		{"many that are small", []any{at, at, at}, `["` + at + `","` + at + `","` + at + `"]`, nil},
		{"without escapes of HTML", []any{escaped}, `[null]`,
			map[int]string{0: string(objects.Of(plainJSON(t, escaped)))}},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				k := newKit(t, s)
				receipt := k.Enqueue("a", row.args...)
				kept := k.stored(receipt.ID)
				assert.Equal(t, row.left, string(kept.Args))
				assert.Equal(t, row.apart, kept.Objects)
				distinct := map[string]bool{}
				for _, sha := range row.apart {
					distinct[sha] = true
					assert.Equal(t, 1, k.Number("SISMEMBER", "object:"+sha+":jobs", receipt.ID))
					assert.Equal(t, sha, string(objects.Of([]byte(k.Text("GET", "object:"+sha)))))
				}
				assert.Equal(t, len(distinct), k.Number("ZCARD", "objects"))
			})
		}
	})
}

func plainJSON(t *testing.T, v any) []byte {
	t.Helper()
	encoded, err := jobargs.EncodeAll(nil, "a", []any{v}, jobargs.Most)
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
				enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.LargeArgs(large))
				require.NoError(t, err)
				defer enq.Close()
				receipt, err := enq.Enqueue(k.Ctx(), "a", long(101))
				require.NoError(t, err)
				assert.Equal(t, left, string(k.stored(receipt.ID).Args))

				options := k.Options()
				options.LargeArgs = large
				receipt, err = work.NewWorkerPool(nil, 1, options).Job("a", func(string) error { return nil }).
					Enqueuer().
					Enqueue(k.Ctx(), "a", long(101))
				require.NoError(t, err)
				assert.Equal(t, left, string(k.stored(receipt.ID).Args), "the pool's")
			})
		}
	})
}

// A check of the pool's enqueuer sees what the handler will see.
func TestThePoolsEnqueuerChecksLargeArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func([]string, int) error { return nil }).Enqueuer()
		_, err := enq.Enqueue(k.Ctx(), "a", slices.Repeat([]string{"abcdefg"}, 2000), 1)
		require.NoError(t, err)
		_, err = enq.Enqueue(k.Ctx(), "a", slices.Repeat([]int{1234567}, 2000), 1)
		var refused *work.ArgumentError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, 1, k.Number("HLEN", "jobs"))
		assert.Equal(t, 1, k.Number("ZCARD", "objects"), "what is refused is not uploaded")
	})
}

func TestTheSameLargeArgumentIsUploadedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver := &scriptCounter{Driver: pooltest.StoreOf(k.Enq).Driver()}
		enq := pooltest.EnqueuerOn(driver, k.Namespace)
		defer enq.Close()
		const many, size = 1000, 4 * jobargs.DefaultLarge // two calls of Redis, and not much to encode
		entries := make([]work.Entry, many)
		for i := range entries {
			entries[i] = work.Entry{Name: "a", Args: []any{i, long(size)}}
		}
		receipts, err := enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		require.Len(t, receipts, many)
		assert.EqualValues(t, 1, driver.count("keep"), "one upload")
		assert.EqualValues(t, 1, driver.count("touch"), "and one look before it")
		_, err = enq.Enqueue(k.Ctx(), "a", -1, long(size))
		require.NoError(t, err)
		assert.EqualValues(t, 1, driver.count("touch"), "a minute long none is needed")

		sha := k.stored(receipts[0].ID).Objects[1]
		assert.Equal(t, many+1, k.Number("SCARD", "object:"+sha+":jobs"))
		assert.Equal(t, size, k.Number("STRLEN", "object:"+sha))
		assert.Equal(t, 1, k.Number("ZCARD", "objects"))
	})
}

// Those who come at once share the upload as well.
func TestCallersShareAnUpload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver := &scriptCounter{Driver: pooltest.StoreOf(k.Enq).Driver()}
		enq := pooltest.EnqueuerOn(driver, k.Namespace)
		defer enq.Close()
		failed := make(chan error)
		for range 32 {
			go func() {
				_, err := enq.Enqueue(k.Ctx(), "a", long(3<<20))
				failed <- err
			}()
		}
		for range 32 {
			require.NoError(t, pooltest.Receive(t, failed))
		}
		assert.EqualValues(t, 1, driver.count("keep"))
		assert.Equal(t, 32, k.Number("HLEN", "jobs"))
	})
}

func TestARefIsReferredToWithoutAnUpload(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := k.objects()
		shared, err := objects.Share(k.Ctx(), store, []int{1, 2, 3})
		require.NoError(t, err)
		driver := &scriptCounter{Driver: pooltest.StoreOf(k.Enq).Driver()}
		enq := pooltest.EnqueuerOn(driver, k.Namespace)
		defer enq.Close()
		receipt, err := enq.Enqueue(k.Ctx(), "a", "b", shared, objects.Ref[int]{}, &shared, (*objects.Ref[int])(nil))
		require.NoError(t, err)
		assert.EqualValues(t, 0, driver.count("touch"))
		sha := string(shared.Hash())
		text := fmt.Sprintf(`{"object":"%s","size":7}`, sha)
		assert.Equal(t, `["b",`+text+`,null,`+text+`,null]`, string(k.stored(receipt.ID).Args))
		assert.Equal(t, map[int]string{1: sha, 3: sha}, k.stored(receipt.ID).Objects)
		assert.Equal(t, 1, k.Number("SCARD", "object:"+sha+":jobs"))

		k.Do("UNLINK", "objects")
		_, err = enq.Enqueue(k.Ctx(), "a", shared)
		var vanished *objects.VanishedError
		require.ErrorAs(t, err, &vanished)
		assert.Equal(t, shared.Hash(), vanished.Hash)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
	})
}
