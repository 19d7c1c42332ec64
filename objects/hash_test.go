package objects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheHashIsThatOfTheContent(t *testing.T) {
	t.Parallel()
	// From FIPS 180-2, appendix B.1.
	assert.Equal(t, Hash("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), Of([]byte("abc")))
}

func TestParseHash(t *testing.T) {
	t.Parallel()
	good := string(Of([]byte("abc")))
	for name, row := range map[string]struct {
		text string
		ok   bool
	}{
		"a hash":      {good, true},
		"empty":       {"", false},
		"too short":   {good[1:], false},
		"too long":    {good + "0", false},
		"upper case":  {strings.ToUpper(good), false},
		"no digit":    {"g" + good[1:], false},
		"a path":      {"../" + good[3:], false},
		"a key":       {good[:60] + ":job", false},
		"a long text": {strings.Repeat("x", 10_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hash, err := ParseHash(row.text)
			if row.ok {
				require.NoError(t, err)
				assert.Equal(t, Hash(row.text), hash)
				return
			}
			var wrong *HashError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, row.text, wrong.Text)
			assert.Less(t, len(err.Error()), 400)
			assert.Empty(t, hash)
		})
	}
}
