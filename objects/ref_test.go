package objects

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type priceList struct {
	Currency string
	Prices   map[string]int64
}

var someList = priceList{Currency: "EUR", Prices: map[string]int64{"tea": 1234567890123456789, "jam": 2}}

func TestAValueIsSharedAndReadByAnotherProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		shared, err := Share(t.Context(), k.Store, someList)
		require.NoError(t, err)
		again, err := Share(t.Context(), k.Store, someList)
		require.NoError(t, err)
		assert.Equal(t, shared, again)
		args, err := json.Marshal([]any{7, shared})
		require.NoError(t, err)
		assert.Equal(t, `[7,{"object":"`+string(shared.Hash())+`","size":63}]`, string(args))
		got, err := shared.Value(t.Context())
		require.NoError(t, err, "it is bound to the store")
		assert.Equal(t, someList, got)

		var parts []json.RawMessage
		require.NoError(t, json.Unmarshal(args, &parts))
		var decoded Ref[priceList]
		require.NoError(t, json.Unmarshal(parts[1], &decoded))
		assert.Equal(t, int64(63), decoded.Size())
		_, err = decoded.Value(t.Context())
		var unbound *UnboundError
		require.ErrorAs(t, err, &unbound)
		assert.Equal(t, shared.Hash(), unbound.Hash)

		cache := newTestCache(t, k.open(k.server.DSN(), Options{}), 1<<20)
		var arg any = &decoded
		arg.(Binder).Bind(cache)
		for range 2 {
			got, err = decoded.Value(t.Context())
			require.NoError(t, err)
			assert.Equal(t, someList, got)
			got.Prices["tea"] = 0 // its own copy
		}
		assert.Equal(t, int64(1), cache.Statistics().Downloads)
	})
}

func TestARefInsideAnotherValueFindsItsSourceInTheContext(t *testing.T) {
	t.Parallel()
	from := shelf{}
	hash := from.put([]byte(`"tea"`))
	var request struct{ Lists []Ref[string] }
	require.NoError(t, json.Unmarshal([]byte(`{"Lists":[{"object":"`+string(hash)+`","size":5}]}`), &request))
	got, err := request.Lists[0].Value(NewContext(t.Context(), from))
	require.NoError(t, err)
	assert.Equal(t, "tea", got)

	other := shelf{}
	request.Lists[0].Bind(other)
	_, err = request.Lists[0].Value(NewContext(t.Context(), from))
	var vanished *VanishedError
	require.ErrorAs(t, err, &vanished, "what it is bound to comes first")
}

func TestAZeroRefRefersToNothing(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Ref[int]{})
	require.NoError(t, err)
	assert.Equal(t, "null", string(text))
	decoded := Ref[int]{hash: "old"}
	require.NoError(t, json.Unmarshal(text, &decoded))
	assert.Empty(t, decoded.Hash())
	decoded.Bind(shelf{})
	_, err = decoded.Value(t.Context())
	var unbound *UnboundError
	require.ErrorAs(t, err, &unbound)
	assert.ErrorContains(t, err, "objects.Share")
}

func TestRefsThatAreRefused(t *testing.T) {
	t.Parallel()
	hash := string(Of([]byte("x")))
	for name, row := range map[string]struct{ text, says string }{
		"a number":     {`7`, "this is no reference to an object"},
		"no hash":      {`{}`, "is no hash of an object"},
		"a short hash": {`{"object":"abc","size":1}`, `"abc" is no hash of an object`},
		"below zero":   {`{"object":"` + hash + `","size":-1}`, "says that it has -1 bytes"},
		"enormous":     {`{"object":"` + hash + `","size":67108865}`, "must be 0 to 67108864"},
		"a fraction":   {`{"object":"` + hash + `","size":1.5}`, "this is no reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Ref[int]
			require.ErrorContains(t, json.Unmarshal([]byte(row.text), &r), row.says)
			assert.Empty(t, r.Hash())
		})
	}
}

func TestValuesThatCannotBeShared(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		_, err := Share(t.Context(), k.Store, make(chan int))
		require.ErrorContains(t, err, "a chan int cannot be shared: ")
		_, err = Share(t.Context(), k.Store, []string{"file-\xe9"})
		require.EqualError(t, err, "a []string cannot be shared: its text at [0] is not UTF-8, which JSON cannot "+
			"hold: encode it, for example as base64")
		_, err = Share(t.Context(), k.Store, strings.Repeat("x", MaxSize))
		var tooLarge *TooLargeError
		require.ErrorAs(t, err, &tooLarge)
		assert.Equal(t, &TooLargeError{What: "JSON of a string", Size: MaxSize + 2, Limit: MaxSize}, tooLarge)
		assert.Empty(t, k.keys())

		shared, err := Share(t.Context(), k.Store, "a text")
		require.NoError(t, err)
		as := Ref[int]{hash: shared.Hash(), source: k.Store}
		value, err := as.Value(t.Context())
		require.ErrorContains(t, err, "cannot be decoded as a int")
		assert.Zero(t, value)
	})
}

func FuzzRef(f *testing.F) {
	f.Add([]byte(`{"object":"` + string(Of([]byte("x"))) + `","size":1}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"object":"..","size":1e9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Ref[string]
		if json.Unmarshal(text, &r) != nil {
			require.Empty(t, r.Hash())
			return
		}
		if r.Hash() != "" {
			require.NoError(t, r.Hash().check())
		}
		again, err := json.Marshal(r)
		require.NoError(t, err)
		var same Ref[string]
		require.NoError(t, json.Unmarshal(again, &same))
		require.Equal(t, r, same)
		_, err = r.Value(context.Background())
		var unbound *UnboundError
		require.ErrorAs(t, err, &unbound)
	})
}

// numbing panics with what is in its JSON, both ways.
type numbing struct{}

func (numbing) MarshalJSON() ([]byte, error) { panic("secret") }
func (*numbing) UnmarshalJSON([]byte) error  { panic("secret") }

func TestAValueWhoseMethodsPanic(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		_, err := Share(t.Context(), k.Store, numbing{})
		require.ErrorContains(t, err, "its encoding panicked with a string")
		assert.NotContains(t, err.Error(), "secret")

		shared, err := Share(t.Context(), k.Store, 7)
		require.NoError(t, err)
		_, err = Ref[numbing]{hash: shared.hash, source: k.Store}.Value(t.Context())
		require.ErrorContains(t, err, "its decoding panicked with a string")
		assert.NotContains(t, err.Error(), "secret")
	})
}

func TestAnAnyThatIsSharedKeepsItsIntegers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		shared, err := Share(t.Context(), k.Store, map[string]any{"id": int64(9007199254740993), "n": 7})
		require.NoError(t, err)
		got, err := shared.Value(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"id": int64(9007199254740993), "n": float64(7)}, got)
	})
}
