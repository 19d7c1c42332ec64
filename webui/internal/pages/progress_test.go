package pages

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestProgressIsDrawnWhereItIsUnderstood(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]*progressBar{
		`0.25`:                              {Percent: 25, Text: "25 %"},
		`1`:                                 {Percent: 100, Text: "100 %"},
		`{"pages": 1250, "of": 4000}`:       {Percent: 31.25, Text: "31 %, 1,250 pages of 4,000"},
		`{"Total": 8, "done": 2}`:           {Percent: 25, Text: "25 %, 2 done of 8"},
		`{"percent": 42, "file": "a"}`:      {Percent: 42, Text: "42 %", More: true},
		`{"done": 5, "of": 4}`:              nil,
		`{"done": -1, "of": 4}`:             nil,
		`{"done": 0, "of": 0}`:              nil,
		`{"a": 1, "b": 2}`:                  nil,
		`{"done": 1, "of": 4, "failed": 1}`: nil,
		`{"done": null, "of": 4}`:           nil,
		`7`:                                 nil,
		`-0.5`:                              nil,
		`"half"`:                            nil,
		`[1, 2]`:                            nil,
		`1e999`:                             nil,
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, progressOf(json.RawMessage(raw)))
		})
	}
}
