package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

func TestAScannerTakesAKnownShapeApart(t *testing.T) {
	t.Parallel()
	s := rawjson.NewScanner([]byte(`{"id":"a","name":"größe","args":[1,{"x":"]"}],"n":-12,"meta":{"k":"v","l":""}}`))
	assert.Equal(t, "a", s.Known(`{"id":"`, "a"))
	assert.Equal(t, "größe", s.Known(`,"name":"`, "another"))
	assert.Equal(t, `[1,{"x":"]"}]`, string(s.Array(`,"args":`)))
	assert.Zero(t, s.Optional(`,"absent":`))
	assert.Equal(t, int64(-12), s.Number(`,"n":`))
	assert.True(t, s.Has(`,"meta":{`))
	assert.Equal(t, map[string]string{"k": "v", "l": ""}, s.Texts())
	assert.False(t, s.Done(), "a brace is left")
	assert.True(t, s.Has("}"))
	assert.True(t, s.Done())
}

func TestAScannerGivesUpOnWhatIsNotSimple(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"a\n"`, "\"a\x01\"", "\"\xff\"", `"a`, `x`, ``} {
		s := rawjson.NewScanner([]byte(text))
		s.Text(`"`)
		assert.False(t, s.Done(), "%q as a string", text)
	}
	for _, text := range []string{"", "-", "01", "1-2", "99999999999999999999", "x"} {
		s := rawjson.NewScanner([]byte(text))
		s.Digits()
		assert.False(t, s.Done(), "%q as a number", text)
	}
}

// FuzzScannerArray: an array that is taken is one for encoding/json as well.
func FuzzScannerArray(f *testing.F) {
	for _, text := range arrays {
		f.Add([]byte(text))
	}
	f.Add([]byte(strings.Repeat("[", 70) + strings.Repeat("]", 70)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := rawjson.NewScanner(text)
		array := s.Array("")
		if s.Done() {
			require.True(t, json.Valid(array), "%q", array)
			require.Equal(t, string(text), string(array))
		}
	})
}
