package jobargs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/objects"
)

// long is a text whose JSON has that many bytes.
func long(bytes int) string { return strings.Repeat("x", bytes-len(`""`)) }

// The record holds 1 MiB, all args 64 MiB, and MaxArgsSize bounds both.
func TestHowLargeArgsMayBe(t *testing.T) {
	t.Parallel()
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
			limits := jobargs.NewLimits(row.most, 0)
			_, _, err := limits.Encode(nil, "a", row.args)
			if row.text == "" {
				require.NoError(t, err)
				return
			}
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, err.Error(), row.text)
		})
	}
}

func TestWhatIsSetApartComesBack(t *testing.T) {
	t.Parallel()
	args := []any{long(9000), 7, nil, long(9000), long(9001), long(100)}
	whole, err := jobargs.EncodeAll(nil, "a", args, jobargs.Most)
	require.NoError(t, err)
	left, apart, err := jobargs.NewLimits(0, 0).Encode(nil, "a", args)
	require.NoError(t, err)
	assert.Equal(t, `[null,7,null,null,null,"`+strings.Repeat("x", 98)+`"]`, string(left))
	assert.Len(t, apart.Contents, 2, "what is the same is there once")
	assert.Equal(t, string(whole), string(apart.Whole(left)))
	get := func(hash objects.Hash) ([]byte, error) { return apart.Contents[string(hash)], nil }
	gathered, missing := jobargs.Gather(left, apart.At, get)
	require.Nil(t, missing)
	assert.Equal(t, string(whole), string(gathered))

	known := map[string][]byte{}
	jobargs.Share(apart.Contents, known)
	assert.Equal(t, apart.Contents, known)
	_, other, err := jobargs.NewLimits(0, 0).Encode(nil, "b", args)
	require.NoError(t, err)
	jobargs.Share(other.Contents, known)
	for hash, content := range other.Contents {
		assert.Same(t, &known[hash][0], &content[0])
	}
}

func TestWhatCannotBeGathered(t *testing.T) {
	t.Parallel()
	none := func(objects.Hash) ([]byte, error) { return nil, errSecret }
	whole, missing := jobargs.Gather([]byte(`{}`), map[int]string{0: "a"}, none)
	assert.Nil(t, missing)
	assert.Equal(t, `{}`, string(whole), "its handler refuses it")
	whole, missing = jobargs.Gather([]byte(`[{"sha256":"a"}]`), map[int]string{0: "a"}, none)
	assert.Nil(t, missing)
	assert.Equal(t, `[{"sha256":"a"}]`, string(whole), "a reference of the program's")
	_, missing = jobargs.Gather([]byte(`[1,null]`), map[int]string{1: "a"}, none)
	assert.Equal(t, &jobargs.Missing{Position: 1, Hash: "a", Err: errSecret}, missing)
	for _, at := range []int{-1, 2} {
		_, missing = jobargs.Gather([]byte(`[1,null]`), map[int]string{at: "a"}, none)
		require.NotNil(t, missing)
		assert.True(t, missing.Beyond)
		assert.EqualError(t, missing.Err, "the record has 2 arguments")
	}
}
