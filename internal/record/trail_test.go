package record_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

func TestATrailKeepsTheLastTenFailures(t *testing.T) {
	t.Parallel()
	trail := record.Trail{Releases: 3}
	assert.Empty(t, trail.LastError())
	for i := range 12 {
		trail = trail.Failed(record.Failure{Attempt: i + 1, Error: fmt.Sprint("failure ", i+1)})
	}
	assert.Equal(t, 12, trail.Fails)
	assert.Zero(t, trail.Releases, "they are counted in a row")
	require.Len(t, trail.Errors, 10)
	assert.Equal(t, 3, trail.Errors[0].Attempt)
	assert.Equal(t, "failure 12", trail.LastError())
	assert.Equal(t, trail, record.DecodeTrail(trail.Encode()))
}

func TestAFailureDoesNotChangeTheTrailBefore(t *testing.T) {
	t.Parallel()
	before := record.Trail{}.Failed(record.Failure{Error: "first"})
	before.Errors = append(make([]record.Failure, 0, 8), before.Errors...)
	second, third := before.Failed(record.Failure{Error: "second"}), before.Failed(record.Failure{Error: "third"})
	assert.Equal(t, "second", second.LastError())
	assert.Equal(t, "third", third.LastError())
	assert.Len(t, before.Errors, 1)
}

func TestTheTextsOfAFailureAreBounded(t *testing.T) {
	t.Parallel()
	trail := record.Trail{}.Failed(record.Failure{Error: strings.Repeat("e", 1<<20), Stack: strings.Repeat("s", 1<<20)})
	assert.LessOrEqual(t, len(trail.Errors[0].Error), 1<<10)
	assert.LessOrEqual(t, len(trail.Errors[0].Stack), 4<<10)
}

func TestATrailAsItIsStored(t *testing.T) {
	t.Parallel()
	trail := record.Trail{Fails: 1, Log: true, Raw: []byte("as it was")}
	assert.Equal(t, `{"fails":1,"log":true}`, string(trail.Encode()), "what was read is not written again")
	assert.Equal(t, record.Trail{}, record.DecodeTrail(nil))
	for text, want := range map[string]int{`{"fails":9223372036854775807}`: 1 << 30, `{"fails":-5}`: 0} {
		assert.Equal(t, want, record.DecodeTrail([]byte(text)).Fails, text)
	}
	for _, text := range []string{"{", "[1]", `{"fails":"3"}`, `{"fails":1.5}`} {
		anew := record.DecodeTrail([]byte(text))
		assert.Contains(t, anew.LastError(), "its earlier trail could not be read: ", text)
	}
}
