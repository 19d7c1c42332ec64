package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/codec"
)

// named is a codec that puts its name and the use around a value.
type named struct {
	name, key string
	leaves    bool // values as they are
	err       error
	panics    bool
}

func (n named) Name() string { return n.name }

func (n named) Encode(use string, open []byte) ([]byte, string, error) {
	if n.panics {
		panic("secret")
	}
	if n.leaves {
		return nil, "", n.err
	}
	return []byte(n.name + "|" + use + "|" + string(open)), n.key, n.err
}

func (n named) Decode(use string, stored []byte, key string) ([]byte, error) {
	open, ours := bytes.CutPrefix(stored, []byte(n.name+"|"+use+"|"))
	if !ours || key != n.key {
		return nil, errors.New("not ours")
	}
	return open, n.err
}

func chain(t testing.TB, codecs ...codec.Codec) *codec.Chain {
	t.Helper()
	c, err := codec.New("option Codecs", codecs)
	require.NoError(t, err)
	return c
}

func TestCodecsAreAppliedInTurn(t *testing.T) {
	t.Parallel()
	c := chain(t, named{name: "small", leaves: true}, named{name: "short"}, named{name: "seal", key: "k:2"})
	stored, err := c.Encode("args of a", []byte(`["b"]`))
	require.NoError(t, err)
	assert.True(t, json.Valid(stored))
	info, encoded := codec.InfoOf(stored)
	require.True(t, encoded)
	assert.Equal(t, codec.Info{Layers: []codec.Layer{{Codec: "short"}, {Codec: "seal", Key: "k:2"}}, Bytes: 36}, info)
	assert.Equal(t, "sealed with key k:2, 36 bytes", info.String())
	open, err := c.Open("args of a", stored)
	require.NoError(t, err)
	assert.Equal(t, `["b"]`, string(open))
	_, err = c.Open("args of b", stored)
	require.EqualError(t, err, `codec "seal", key "k:2": not ours`)
}

func TestAValueThatLooksLikeAnEnvelopeIsNone(t *testing.T) {
	t.Parallel()
	value := []byte(`{"$codec":["seal:k2"],"data":"aGVsbG8="}`)
	leaving := chain(t, named{name: "a", leaves: true})
	for name, c := range map[string]*codec.Chain{"no codecs": nil, "one that leaves it": leaving} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, err := c.Encode("result of 1", value)
			require.NoError(t, err)
			_, encoded := codec.InfoOf(stored)
			assert.False(t, encoded)
			open, err := c.Open("result of 1", stored)
			require.NoError(t, err)
			assert.Equal(t, string(value), string(open))
			same, err := c.Encode("result of 1", []byte(`{"a":1}`))
			require.NoError(t, err)
			assert.Equal(t, `{"a":1}`, string(same))
		})
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	c := chain(t, named{name: "a", err: errors.New("broken")})
	for stored, text := range map[string]string{
		`{"$codec":["b:k1"],"data":""}`:                 `codec "b", key "k1": this program has no such codec`,
		`{"$codec":["a"],"data":"YXx1fA=="}`:            `codec "a": broken`,
		`{"$codec":["a","a","a","a","a"],"data":""}`:    `5 layers are more`,
		`{"$codec":[7],"data":"c2VjcmV0"}`:              `codec "unreadable"`,
		`{"$codec":["a"],"data":"secret*"}`:             `codec "unreadable"`,
		`{"$codec":["a"`:                                `codec "unreadable"`,
		"\n {\"$codec\":[\"b\"],\"data\":\"c2VjcmV0\"}": `codec "b": this program has no such codec`,
	} {
		_, err := c.Open("u", []byte(stored))
		require.ErrorContains(t, err, text, stored)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := c.Encode("u", []byte("1"))
	require.EqualError(t, err, `codec "a": broken`)
	_, err = chain(t, named{name: "p", panics: true}).Encode("u", []byte("1"))
	require.EqualError(t, err, `codec "p": it panicked with a string`)
}

func TestCodecsThatCannotBeEncodeNothing(t *testing.T) {
	t.Parallel()
	for text, codecs := range map[string][]codec.Codec{
		"option Codecs is nil at index 1":        {named{name: "a"}, nil},
		`option Codecs is two codecs called "a"`: {named{name: "a"}, named{name: "a"}},
		`option Codecs is a codec called "a:b"`:  {named{name: "a:b"}},
		"option Codecs is 5 codecs: give at most 4": {named{name: "a"}, named{name: "b"}, named{name: "c"},
			named{name: "d"}, named{name: "e"}},
	} {
		c, err := codec.New("option Codecs", codecs)
		require.ErrorContains(t, err, text)
		_, failed := c.Encode("u", []byte("1"))
		require.ErrorIs(t, failed, err)
	}
	c, err := codec.New("option Codecs", nil)
	require.NoError(t, err)
	assert.False(t, c.Encodes())
}

func TestTheCodecsOfAJobBeatThoseOfItsPool(t *testing.T) {
	t.Parallel()
	job, pool := chain(t, named{name: "job"}), chain(t, named{name: "pool"})
	of, err := pool.Encode("u", []byte("1"))
	require.NoError(t, err)
	both := job.Or(pool)
	stored, err := both.Encode("u", []byte("2"))
	require.NoError(t, err)
	info, _ := codec.InfoOf(stored)
	assert.Equal(t, "encoded by job, 7 bytes", info.String())
	open, err := both.Open("u", of)
	require.NoError(t, err)
	assert.Equal(t, "1", string(open))
	assert.Same(t, pool, (*codec.Chain)(nil).Or(pool))
	assert.Same(t, job, job.Or(nil))
	reader := (*codec.Chain)(nil).Knowing(job)
	assert.False(t, reader.Encodes())
	open, err = reader.Open("u", stored)
	require.NoError(t, err)
	assert.Equal(t, "2", string(open))
}

// What anybody may have written into Redis is opened without a panic, and a value always comes back as it was.
func FuzzOpen(f *testing.F) {
	c := chain(f, named{name: "a"}, named{name: "b", key: "k"})
	f.Add([]byte(`{"$codec":["a","b:k"],"data":"YQ=="}`))
	f.Add([]byte(`["a"]`))
	f.Add([]byte(`{"$codec":[],"data":"YQ==","more":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = c.Open("u", text)
		_, _ = codec.InfoOf(text)
		for _, by := range []*codec.Chain{nil, c} {
			stored, err := by.Encode("u", text)
			require.NoError(t, err)
			open, err := by.Open("u", stored)
			require.NoError(t, err)
			require.True(t, bytes.Equal(text, open))
		}
	})
}
