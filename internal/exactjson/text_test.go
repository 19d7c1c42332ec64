package exactjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/invalid"
)

// The types of the rows below.
type (
	file struct {
		Name   string
		Size   int
		Parent *file
		Hidden string `json:"-"`
		Quoted string `json:",string"`
		quiet  string
	}
	batch struct {
		Files []file
		ByKey map[string]file
		Any   any
		inner
	}
	inner struct{ Promoted string }

	path     string // a TextMarshaler
	byBytes  []byte // a Marshaler that makes text of its bytes
	byField  struct{ name string }
	byMethod struct{ Name string } // a Marshaler on its pointer
	itself   struct {
		Name string
		Next *itself
	}
)

func (p path) MarshalText() ([]byte, error)    { return []byte(p), nil }
func (b byBytes) MarshalJSON() ([]byte, error) { return json.Marshal(string(b)) }
func (b byField) MarshalJSON() ([]byte, error) { return json.Marshal(b.name) }
func (b *byMethod) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"name": b.Name})
}
func (i itself) MarshalJSON() ([]byte, error) { return []byte(`"\ufffd"`), nil }

const odd = "file-\xe9"

func TestTextThatIsNotUTF8IsRefusedByThePathOfItsField(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		value any
		path  string
	}{
		"a string":                 {odd, ""},
		"a field":                  {file{Name: odd}, ".Name"},
		"a string within a string": {file{Quoted: odd}, ".Quoted"},
		"deep": {batch{Files: []file{{}, {}, {Parent: &file{Name: odd}}}},
			".Files[2].Parent.Name"},
		"of an embedded struct":      {batch{inner: inner{odd}}, ".Promoted"},
		"an any":                     {batch{Any: []any{1, odd}}, ".Any[1]"},
		"a value of a map":           {batch{ByKey: map[string]file{"a": {Name: odd}}}, ".ByKey[…].Name"},
		"a key of a map":             {batch{ByKey: map[string]file{odd: {}}}, ".ByKey[a key]"},
		"a list":                     {[]string{"a", odd}, "[1]"},
		"an array":                   {[2]string{"a", odd}, "[1]"},
		"a TextMarshaler":            {[]path{"a", odd}, "[1]"},
		"a TextMarshaler as a key":   {map[path]int{odd: 1}, "[a key]"},
		"a Marshaler of bytes":       {[]any{byBytes(odd)}, "[0]"},
		"a Marshaler with a field":   {[]any{byField{odd}}, "[0]"},
		"a Marshaler on the pointer": {[]byMethod{{}, {odd}}, "[1]"},
		"a RawMessage":               {[]any{json.RawMessage(`"a"`), json.RawMessage(`"` + odd + `"`)}, "[1]"},
		"a pointer that is twice there": {func() any {
			shared := &file{Name: odd}
			return []any{&file{Hidden: odd}, shared, shared}
		}(), "[1].Name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := exactjson.Marshal(row.value)
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			assert.Nil(t, encoded)
			what := strings.TrimSuffix("its text at "+row.path, " at ")
			assert.EqualError(t, err, what+" is not UTF-8, which JSON cannot hold: encode it, for example as base64")
			_, err = exactjson.Encode(row.value)
			assert.EqualError(t, err, refused.Error(), "the same where errors quote nothing")
		})
	}
}

// Whatever a program really has is kept: a U+FFFD of its own, one that it wrote as an escape, half of a pair.
func TestTextThatJSONHoldsIsKept(t *testing.T) {
	t.Parallel()
	circle := &itself{}
	circle.Next = circle
	for name, value := range map[string]any{
		"nothing":                  nil,
		"a U+FFFD":                 "file-\ufffd",
		"a U+FFFD in a struct":     batch{Files: []file{{Name: "\ufffd"}}},
		"an escape in a text":      file{Name: `\ufffd`},
		"an escape in JSON":        json.RawMessage(`{"a":"\ufffd"}`),
		"an escape of a Marshaler": byField{"a"},
		"half of a pair":           json.RawMessage(`"\ud800"`),
		"bytes":                    []byte(odd),
		"what is not encoded":      []any{file{Hidden: odd, quiet: odd}, json.RawMessage(`"\ufffd"`)},
		"a circle that writes it":  circle,
		"a nil pointer":            []any{(*file)(nil), (*byMethod)(nil), json.RawMessage(`"\ufffd"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := json.Marshal(value)
			require.NoError(t, err)
			got, err := exactjson.Marshal(value)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		})
	}
}

func TestWhatDoesNotEncodeIsAnErrorOfEncodingJSON(t *testing.T) {
	t.Parallel()
	_, err := exactjson.Marshal(make(chan int))
	var unsupported *json.UnsupportedTypeError
	assert.True(t, errors.As(err, &unsupported), "%v", err)
}

// FuzzMarshal: what is taken comes back as it was, and what is refused would not.
func FuzzMarshal(f *testing.F) {
	f.Add("a", "\xff")
	f.Add("\ufffd", `\ufffd`)
	f.Fuzz(func(t *testing.T, key, text string) {
		value := map[string]file{key: {Name: text, Quoted: text}}
		encoded, err := exactjson.Marshal(value)
		if err != nil {
			encoded, err = json.Marshal(value)
		}
		require.NoError(t, err)
		var back map[string]file
		require.NoError(t, json.Unmarshal(encoded, &back))
		_, refused := exactjson.Marshal(value)
		assert.Equal(t, refused == nil, assert.ObjectsAreEqual(value, back), "%q %q", key, text)
	})
}
