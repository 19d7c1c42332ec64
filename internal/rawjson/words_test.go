package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

// Whatever stands at whichever place of a longer text is seen, though up to 32 bytes are looked at together.
func TestEachByteOfALongStringIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, special := range []string{`"`, `\`, `\n`, `\"`, `\\`, `\\\"`, `\\"`, `\\\\`, `\u00e9`,
		`\u00e`, "\x1f", "\x00", "\x7f", "\x80", "\xff", "é", "\u2028", "a", " ", "!", "#", "[", "]"} {
		for at := range 72 {
			text := `"` + strings.Repeat("x", at) + special + strings.Repeat("y", 71-at) + `"`
			var want string
			err := json.Unmarshal([]byte(text), &want)
			assert.Equal(t, err == nil, rawjson.Whole([]byte(text)), "%q", text)
			if got, simple := rawjson.String([]byte(text)); simple {
				require.NoError(t, err, "%q", text)
				assert.Equal(t, want, got)
			} else {
				assert.True(t, err != nil || strings.Contains(text, `\`) || !utf8.ValidString(text),
					"%q is simple", text)
			}
			if err == nil {
				array := "[1," + text + "," + text + "]"
				pieces, ok := rawjson.Split(nil, []byte(array))
				require.True(t, ok, "%q", array)
				assert.Equal(t, [][]byte{[]byte("1"), []byte(text), []byte(text)}, pieces)
			}
		}
	}
}

func TestMembersOfAnObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "", `{"a":1}`: "a=1;", `{"":null}`: "=null;",
		`{"a":1,"b":[1,{"c":2}],"a":"x"}`: `a=1;b=[1,{"c":2}];a="x";`,
	} {
		got := ""
		assert.True(t, rawjson.Object([]byte(text), func(name, value []byte) bool {
			got += string(name) + "=" + string(value) + ";"
			return true
		}), text)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1}x`, `{ "a":1}`,
		`{"a" :1}`, `{"a":01}`, `{"\u0061":1}`, `{a:1}`, `[]`, `{}x`, `{,}`, `{"a":1 }`} {
		assert.False(t, rawjson.Object([]byte(text), func(_, _ []byte) bool { return true }), text)
	}
	assert.False(t, rawjson.Object([]byte(`{"a":1}`), func(_, _ []byte) bool { return false }), "it was not taken")
}
