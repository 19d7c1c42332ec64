package rawjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

func TestSetPutsAValueIntoAnObject(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ object, name, want string }{
		"in the middle":     {`{"a":1,"args":[1, 2],"z":{"args":3}}`, "args", `{"a":1,"args":NEW,"z":{"args":3}}`},
		"spaces stay":       {"{ \"a\" : 1 ,\n\"args\" : [ ] }", "args", "{ \"a\" : 1 ,\n\"args\" : NEW }"},
		"absent":            {`{"a":1}`, "at", `{"a":1,"at":NEW}`},
		"absent of nothing": {`{}`, "at", `{"at":NEW}`},
		"last of two":       {`{"at":1,"at":2}`, "at", `{"at":1,"at":NEW}`},
		"as it is read":     {`{"at":1,"AT":2}`, "at", `{"at":1,"AT":NEW}`},
		"nested is another": {`{"x":{"at":1}}`, "at", `{"x":{"at":1},"at":NEW}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rawjson.Set([]byte(tt.object), tt.name, []byte("NEW"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
	for _, broken := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":x}`} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			got, err := rawjson.Set([]byte(broken), "a", []byte("1"))
			if err == nil {
				assert.False(t, json.Valid(got), "what was broken is not mended by chance: %s", got)
			}
		})
	}
}

// FuzzSet: what was set is what encoding/json reads, and nothing else has changed.
func FuzzSet(f *testing.F) {
	for _, object := range []string{`{}`, `{"at":1}`, `{"At":1,"at":2,"AT":3}`, ` { "x" : [1, {}] } `, `[]`,
		`{"at":`, `null`} {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object string) {
		type fields struct {
			At    json.RawMessage `json:"at"`
			Other string          `json:"other"`
		}
		var before, after fields
		set, err := rawjson.Set([]byte(object), "at", []byte("7"))
		if err != nil || json.Unmarshal([]byte(object), &before) != nil {
			return
		}
		require.NoError(t, json.Unmarshal(set, &after), "%s", set)
		assert.Equal(t, "7", string(after.At))
		assert.Equal(t, before.Other, after.Other)
	})
}
