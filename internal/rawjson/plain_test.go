package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

func TestIsPlain(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"": true, "a b~": true, `a"`: false, `\`: false, "\x7f": false,
		"é": false} {
		assert.Equal(t, want, rawjson.IsPlain(word), "%q", word)
	}
}

func TestKindSaysHowJSONBegins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "missing", " \n": "missing", ` {"a":1}`: "a JSON object",
		"[": "a JSON array", `"x`: "a JSON string", "-1": "a JSON number", "7": "a JSON number",
		"true": "a JSON boolean", "false": "a JSON boolean", "null": "null", "hello": "no JSON"} {
		assert.Equal(t, want, rawjson.Kind([]byte(text)), "%q", text)
	}
}

func TestSoundIsJSONWhateverWasThere(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"": "", "[1, 2]": "[1, 2]", "a\xff<": `"a\ufffd<"`, "{": `"{"`,
		"[\"a\xff<\"]": "[\"a\ufffd<\"]"} {
		assert.Equal(t, want, string(rawjson.Sound(json.RawMessage(raw))), "%q", raw)
	}
}

// FuzzPlain: what the functions for simple values take is what encoding/json reads.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"0", "-0", "01", "9223372036854775808", "18446744073709551615", "1.50", "-1.", "1e3",
		`"a"`, `"a\"b"`, "\"\x80\"", `"é"`, "true", "false", "null", `"`, `""`, "-"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, ok := rawjson.Int(text); ok {
			requireSame(t, text, got)
		}
		if got, ok := rawjson.Uint(text); ok {
			requireSame(t, text, got)
		}
		if got, ok := rawjson.Float(text, 64); ok {
			requireSame(t, text, got)
		}
		if got, ok := rawjson.String(text); ok {
			requireSame(t, text, got)
		}
		if got, ok := rawjson.Bool(text); ok {
			requireSame(t, text, got)
		}
	})
}

func requireSame[T any](t *testing.T, text []byte, got T) {
	t.Helper()
	var want T
	require.NoError(t, json.Unmarshal(text, &want), "%q", text)
	require.Equal(t, want, got, "%q", text)
}
