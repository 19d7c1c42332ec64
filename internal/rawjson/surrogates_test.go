package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

func TestHalvesOfPairsAreFoundAndStayDifferent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`""`: `""`, `"\u00e9"`: `"\u00e9"`, `"\ud83d\ude00"`: `"\ud83d\ude00"`, `"\\ud800"`: `"\\ud800"`, `"\`: `"\`,
		`"\ud8`: `"\ud8`, `"\ufffd"`: `"\ufffd"`,
		`"\ud800"`: "\"\U0010F800\"", `"\uDFFF"`: "\"\U0010FFFF\"", `"a\ud800\n"`: "\"a\U0010F800\\n\"",
		`"\ud800\ud83d\ude00\udce9"`: "\"\U0010F800" + `\ud83d\ude00` + "\U0010FCE9\"",
		`"\\\ud800"`:                 `"\\` + "\U0010F800\"", `"\ud800`: "\"\U0010F800",
		`["\udce9",{"\udce8":1}]`: "[\"\U0010FCE9\",{\"\U0010FCE8\":1}]",
	} {
		assert.Equal(t, want, string(rawjson.Distinct([]byte(text))), text)
		assert.Equal(t, want != text, rawjson.HasLone([]byte(text)), text)
	}
}

// FuzzDistinct: halves are found where encoding/json reads a U+FFFD that is not written, and nothing else changes.
func FuzzDistinct(f *testing.F) {
	for _, text := range []string{`"\ud800"`, `"\ud83d\ude00"`, `["\\ud800\udc00","\udc00\ud800"]`, `"\n\ud800\\"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.Contains(strings.ToLower(text), `\ufffd`) ||
			strings.Contains(strings.ToValidUTF8(text, "\ufffd"), "\ufffd") {
			return
		}
		read := func(text []byte) string {
			var value any
			require.NoError(t, json.Unmarshal(text, &value), "%q", text)
			again, err := json.Marshal(value)
			require.NoError(t, err)
			return string(again)
		}
		plain := read([]byte(text))
		require.Equal(t, strings.Contains(plain, "\ufffd"), rawjson.HasLone([]byte(text)), "%q", text)
		require.NotContains(t, read(rawjson.Distinct([]byte(text))), "\ufffd", "%q", text)
	})
}
