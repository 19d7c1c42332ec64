package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

func TestACheckinOfTwoPartsIsTakenApartAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ message, progress, text string }{
		"a message":                        {"row 1", "", "row 1"},
		"nothing":                          {"", "", ""},
		"a message with NUL":               {"a\x00b", "", "a\x00b"},
		"a message that begins with NUL":   {"\x00{}\x00b", "", "\x00\x00\x00{}\x00b"},
		"a message that is NUL":            {"\x00", "", "\x00\x00\x00"},
		"a progress":                       {"", `{"a":1}`, "\x00{\"a\":1}\x00"},
		"both":                             {"row 1", "0.5", "\x000.5\x00row 1"},
		"a progress of null":               {"x", "null", "\x00null\x00x"},
		"both, and a message that is like": {"\x001\x00", "2", "\x002\x00\x001\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.text, record.EncodeCheckin(tt.message, tt.progress))
			message, progress := record.DecodeCheckin(tt.text)
			assert.Equal(t, tt.message, message)
			assert.Equal(t, tt.progress, string(progress))
		})
	}
	t.Run("what another program wrote", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{"\x00": "\x00", "\x00no json\x00x": "x", "\x00{}": "\x00{}"} {
			message, progress := record.DecodeCheckin(text)
			assert.Equal(t, want, message)
			assert.Nil(t, progress)
		}
	})
}

func FuzzCheckins(f *testing.F) {
	f.Add("row 1", "{}")
	f.Add("\x00\x00", "")
	f.Fuzz(func(t *testing.T, message, progress string) {
		record.DecodeCheckin(message) // whatever stands there
		if progress != "" && (!json.Valid([]byte(progress)) || strings.Contains(progress, "\x00")) {
			return
		}
		said, value := record.DecodeCheckin(record.EncodeCheckin(message, progress))
		require.Equal(t, message, said)
		require.Equal(t, progress, string(value))
	})
}
