package record_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/record"
)

func TestOutcomeEncodesAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]record.Outcome{
		"with a result":    {State: record.Succeeded, EndedAt: 1732100000000, Result: json.RawMessage(`["<a>",1]`)},
		"without a result": {State: record.Discarded, EndedAt: -1},
		"odd":              {State: "a\"b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, encodedByJSON(t, o), string(o.Encode()))
		})
	}
}

func TestTheStateOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{
		`{"state":"done","ended":1}`: "succeeded", `{"state":"cancelled"}`: "cancelled",
		`{"state":"deleted"}`:            "deleted",
		`{"state":"of another version"}`: "of another version", "no JSON": "succeeded", "": "succeeded",
	} {
		assert.Equal(t, want, record.EndedAs([]byte(stored)), stored)
	}
	_, err := record.DecodeOutcome([]byte("no JSON"))
	assert.Error(t, err)
}
