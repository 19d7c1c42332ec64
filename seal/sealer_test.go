package seal_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/seal"
)

func key(of string) []byte { return bytes.Repeat([]byte(of), 32) }

func sealer(t testing.TB, keys seal.Keys) *seal.Sealer {
	t.Helper()
	s, err := seal.New(keys)
	require.NoError(t, err)
	return s
}

func TestWhatWasSealedOpens(t *testing.T) {
	t.Parallel()
	old := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}})
	rotated := sealer(t, seal.Keys{Seal: "k2", Known: map[string][]byte{"k1": key("1"), "k2": key("2")}})
	for name, open := range map[string][]byte{"nothing": {}, "args": []byte(`["a",1]`), "large": make([]byte, 1<<20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, id, err := old.Encode("args of a", open)
			require.NoError(t, err)
			assert.Equal(t, "k1", id)
			assert.Len(t, stored, len(open)+28, "a nonce and a tag")
			got, err := rotated.Decode("args of a", stored, id)
			require.NoError(t, err)
			assert.Equal(t, string(open), string(got))
			_, id, err = rotated.Encode("args of a", open)
			require.NoError(t, err)
			assert.Equal(t, "k2", id)
		})
	}
}

func TestWhatDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1"), "k2": key("1")}})
	stored, _, err := s.Encode("args of a", []byte(`["secret"]`))
	require.NoError(t, err)
	flipped := func(i int) []byte {
		b := bytes.Clone(stored)
		b[i] ^= 1
		return b
	}
	for name, row := range map[string]struct {
		use, key string
		stored   []byte
	}{
		"of another job":           {"args of b", "k1", stored},
		"of another use":           {"result of a", "k1", stored},
		"said to be of another id": {"args of a", "k2", stored},
		"a flipped nonce":          {"args of a", "k1", flipped(0)},
		"a flipped byte":           {"args of a", "k1", flipped(13)},
		"a flipped tag":            {"args of a", "k1", flipped(len(stored) - 1)},
		"cut":                      {"args of a", "k1", stored[:len(stored)-1]},
		"cut to its nonce":         {"args of a", "k1", stored[:12]},
		"nothing":                  {"args of a", "k1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Decode(row.use, row.stored, row.key)
			require.ErrorContains(t, err, "it does not open")
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	_, err = s.Decode("args of a", stored, "k3")
	assert.ErrorIs(t, err, work.ErrUnknownKey)
}

// Random ones, of which so few as these never have two alike: a counter that begins anew, or a constant, would.
func TestANonceIsNeverUsedTwice(t *testing.T) {
	t.Parallel()
	const each, many = 5_000, 4
	seen, mu := map[string]bool{}, sync.Mutex{}
	var all sync.WaitGroup
	for range many {
		s := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}}) // as after a restart
		all.Go(func() {
			for range each {
				stored, _, err := s.Encode("args of a", []byte(`[]`))
				assert.NoError(t, err)
				mu.Lock()
				seen[string(stored[:12])] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	assert.Len(t, seen, each*many)
}

func TestADigestIsTheSameForAllKeysThatSeal(t *testing.T) {
	t.Parallel()
	one := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}, Locks: key("l")})
	two := sealer(t, seal.Keys{Seal: "k2", Known: map[string][]byte{"k2": key("2")}, Locks: key("l")})
	other := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}, Locks: key("m")})
	without := sealer(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}})
	assert.Equal(t, one.Hash([]byte("a")), two.Hash([]byte("a")))
	assert.NotEqual(t, one.Hash([]byte("a")), one.Hash([]byte("b")))
	assert.NotEqual(t, one.Hash([]byte("a")), other.Hash([]byte("a")))
	assert.Nil(t, without.Hash([]byte("a")))
}

func TestWithoutAKeyToSealWithItOnlyOpens(t *testing.T) {
	t.Parallel()
	s := sealer(t, seal.Keys{Known: map[string][]byte{"k1": key("1")}})
	stored, _, err := s.Encode("args of a", []byte(`[]`))
	require.NoError(t, err)
	assert.Nil(t, stored)
}

func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		keys seal.Keys
		text string
	}{
		"none":       {seal.Keys{}, "Keys.Known is empty"},
		"short":      {seal.Keys{Known: map[string][]byte{"k1": key("1")[:16]}}, `key "k1" is 16 bytes long`},
		"without id": {seal.Keys{Known: map[string][]byte{"": key("1")}}, `id of a key is ""`},
		"odd id":     {seal.Keys{Known: map[string][]byte{"a\x00": key("1")}}, `id of a key is "a\x00"`},
		"seals":      {seal.Keys{Seal: "k2", Known: map[string][]byte{"k1": key("1")}}, `Keys.Seal is "k2"`},
		"short locks": {seal.Keys{Known: map[string][]byte{"k1": key("1")}, Locks: []byte("1")},
			"Keys.Locks is 1 bytes"},
		"no id, large": {seal.Keys{Known: map[string][]byte{string(make([]byte, 65)): key("1")}}, "id of a key is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := seal.New(row.keys)
			var refused *work.InvalidError
			require.ErrorAs(t, err, &refused)
			assert.ErrorContains(t, err, row.text)
		})
	}
}

func TestAFileOfKeys(t *testing.T) {
	t.Parallel()
	one := base64.StdEncoding.EncodeToString(key("1"))
	write := func(t *testing.T, text string) string {
		name := filepath.Join(t.TempDir(), "keys.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	keys, err := seal.ReadKeys(write(t, `{"seal": "k1", "keys": {"k1": "`+one+`"}, "locks": "`+one+`"}`))
	require.NoError(t, err)
	assert.Equal(t, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}, Locks: key("1")}, keys)
	for name, text := range map[string]string{
		"no JSON":      `k1=topsecret`,
		"another form": `{"k1": "topsecret"}`,
		"no base64":    `{"keys": {"k1": "topsecret!"}}`,
		"locks":        `{"keys": {}, "locks": "topsecret!"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := seal.ReadKeys(write(t, text))
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "topsecret")
		})
	}
	_, err = seal.ReadKeys(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Nothing that somebody writes into Redis opens, but what was sealed for that use.
func FuzzOpen(f *testing.F) {
	s := sealer(f, seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": key("1")}})
	stored, _, err := s.Encode("args of a", []byte(`["a"]`))
	require.NoError(f, err)
	random := make([]byte, 40)
	_, _ = rand.Read(random)
	f.Add(stored, "args of a", "k1")
	f.Add(stored[:12], "args of a", "k1")
	f.Add(random, "", "k2")
	f.Fuzz(func(t *testing.T, text []byte, use, id string) {
		open, err := s.Decode(use, text, id)
		// each process of a fuzzer seals the seed anew
		if err == nil && (use != "args of a" || id != "k1" || string(open) != `["a"]`) {
			t.Fatalf("%q opened as %q", text, open)
		}
	})
}
