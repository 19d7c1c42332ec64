package jobargs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/jobargs"
)

// encodedByJSON is what encoding/json makes of a value, without escaping HTML.
func encodedByJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}

var errSecret = errors.New("4111 1111 1111 1111")

type broken struct{ panics bool }

func (b broken) MarshalJSON() ([]byte, error) {
	if b.panics {
		panic(errSecret)
	}
	return nil, errSecret
}

func TestAnArgumentThatDoesNotEncodeIsRefusedWithoutAQuote(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		arg  any
		want string
	}{
		"a channel": {make(chan int), "argument 2 of job \"a\" is a chan int that does not encode as JSON (JSON has " +
			"no such type as chan int): pass a value that encoding/json can encode"},
		"its method fails":  {broken{}, "whose text may quote it"},
		"its method panics": {broken{panics: true}, "its encoding panicked with a *errors.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jobargs.EncodeAll(nil, "a", []any{1, row.arg}, 1<<20)
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, row.want)
			assert.NotContains(t, err.Error(), "4111")
		})
	}
}

func TestTextThatIsNotUTF8IsRefusedByItsArgumentAndField(t *testing.T) {
	t.Parallel()
	type file struct{ Name string }
	type batch struct{ Files []file }
	const odd = "file-\xe9"
	const why = " is not UTF-8, which JSON cannot hold: encode it, for example as base64"
	for name, row := range map[string]struct {
		arg  any
		want string
	}{
		"a string":              {odd, `argument 2 of job "a"` + why},
		"a field":               {batch{[]file{{}, {}, {odd}}}, `argument 2 of job "a" (args[1].Files[2].Name)` + why},
		"JSON":                  {json.RawMessage(`"` + odd + `"`), `argument 2 of job "a"` + why},
		"JSON within a list":    {[]json.RawMessage{nil, json.RawMessage(`"` + odd + `"`)}, `(args[1][1])` + why},
		"JSON that is not":      {json.RawMessage(`{"a":`), "a json.RawMessage that does not encode as JSON"},
		"JSON that is not text": {json.RawMessage{}, "a json.RawMessage that does not encode as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jobargs.EncodeAll(nil, "a", []any{1, row.arg}, 1<<20)
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func FuzzArgs(f *testing.F) {
	f.Add("text", int64(1), 0.5, []byte("bytes"), true)
	f.Add("<\x80\u2028\"\\\n>", int64(math.MinInt64), math.MaxFloat64, []byte{}, false)
	f.Fuzz(func(t *testing.T, text string, n int64, fraction float64, bytes []byte, yes bool) {
		if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
			return
		}
		args := []any{text, n, int(n), fraction, bytes, yes, nil, []any{text}}
		got, err := jobargs.EncodeAll(nil, "a", args, 1<<20)
		if !utf8.ValidString(text) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, encodedByJSON(t, args), string(got))
	})
}

// BenchmarkEncode is what the args of a job cost that leave the short way of plain words and integers, and what those
// cost that take it.
func BenchmarkEncode(b *testing.B) {
	type mail struct {
		To, Subject string
		Lines       []string
		Headers     map[string]string
	}
	message := mail{To: "ann@example.org", Subject: "größer", Lines: slices.Repeat([]string{"a line of text"}, 20),
		Headers: map[string]string{"From": "bob@example.org", "Reply-To": "<nobody>"}}
	stored := json.RawMessage(`{"text":"` + strings.Repeat("a text of some words, ", 400) + `"}`)
	for name, args := range map[string][]any{
		"plain":        {1234567890123456, "some text", true},
		"words":        {"größer", `a "quoted" word`},
		"a struct":     {message},
		"a RawMessage": {stored},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var room []byte
			for b.Loop() {
				var err error
				if room, err = jobargs.EncodeAll(room[:0], "a", args, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
