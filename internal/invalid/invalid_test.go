package invalid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
)

func TestWordsThatCannotBe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 101)
	for name, row := range map[string]struct{ word, want string }{
		"nothing":           {"", "job name is empty: use 1 to 200 bytes of UTF-8"},
		"too long":          {long, `job name is "` + long[:60] + `"..., which has 202 bytes: use at most 200`},
		"broken UTF-8":      {"a\xff", `job name is "a\xff": use valid UTF-8`},
		"a control":         {"a\nb", `job name is "a\nb": use one without control characters`},
		"a control, beyond": {"a\u0085", `job name is "a\u0085": use one without control characters`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := invalid.JobName(row.word)
			assert.EqualError(t, err, row.want)
			var bad *invalid.Error
			require.ErrorAs(t, err, &bad)
		})
	}
	for _, word := range []string{"a", `with "quotes" and \`, "größe", strings.Repeat("x", 200)} {
		assert.NoError(t, invalid.JobName(word), word)
		assert.NoError(t, invalid.JobID(word), word)
	}
	assert.EqualError(t, invalid.JobID(""), "job id is empty: use 1 to 200 bytes of UTF-8")
}

func TestAnErrorIsShortAndHasItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("no luck")
	long := strings.Repeat("x", 1<<20)
	err := &invalid.Error{What: long, Value: long, Remedy: long, Err: cause}
	assert.ErrorIs(t, err, cause)
	assert.Less(t, len(err.Error()), 8<<10)
}
