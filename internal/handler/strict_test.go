package handler_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

type strictOrder struct {
	ID    int64 `json:"id"`
	Items []struct{ Name string }
	promotes
	Any any
}

type promotes struct{ Paid bool }

// lenient decides for itself which fields it takes.
type lenient struct{ N int }

func (l *lenient) UnmarshalJSON(b []byte) error {
	type plain lenient
	return json.Unmarshal(b, (*plain)(l))
}

func TestAStrictHandlerRefusesFieldsThatItsTypesDoNotHave(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fn   any
		args string
		want string // empty where it is taken
	}{
		"all known": {func(strictOrder) error { return nil },
			`[{"id":7,"Items":[{"Name":"a"}],"Paid":true}]`, ""},
		"some missing":    {func(strictOrder) error { return nil }, `[{}]`, ""},
		"in another case": {func(strictOrder) error { return nil }, `[{"ID":7}]`, ""},
		"unknown": {func(strictOrder) error { return nil }, `[{"id":7,"total":9}]`,
			`it has the field "total", which is unknown there`},
		"unknown deeper":       {func(strictOrder) error { return nil }, `[{"Items":[{"Price":9}]}]`, `"Price"`},
		"through a pointer":    {func(*strictOrder) error { return nil }, `[{"total":9}]`, `"total"`},
		"in a list":            {func([]strictOrder) error { return nil }, `[[{},{"total":9}]]`, `"total"`},
		"in the second":        {func(int, strictOrder) error { return nil }, `[1,{"total":9}]`, `argument 2`},
		"in the tail":          {func(...strictOrder) error { return nil }, `[{},{"total":9}]`, `argument 2`},
		"in an any":            {func(strictOrder) error { return nil }, `[{"Any":{"total":9}}]`, ""},
		"beside a long number": {func(strictOrder) error { return nil }, `[{"Any":9007199254740993,"total":9}]`, `"total"`},
		"of a map":             {func(map[string]int) error { return nil }, `[{"total":9}]`, ""},
		"own UnmarshalJSON":    {func(lenient) error { return nil }, `[{"N":1,"total":9}]`, ""},
		"a value that misfits": {func(strictOrder) error { return nil }, `[{"id":"x"}]`,
			`does not fit the type int64 of its field id`},
		"a name that is quoted": {func(strictOrder) error { return nil }, `[{"a\"b\n":1}]`,
			`it has the field "a\"b\n", which is unknown there`},
		"no struct": {func(int, time.Time, string) error { return nil }, `[1,"2024-01-01T00:00:00Z","a"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, c := compiled(t, nil, row.fn)
			_, _, err := run(t.Context(), h.Strict(), c, &Job{Args: json.RawMessage(row.args)})
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			var refused *handler.ArgumentError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, row.want)
			_, _, err = run(t.Context(), h, c, &Job{Args: json.RawMessage(row.args)})
			if name != "a value that misfits" {
				assert.NoError(t, err, "the handler that is not strict stays as it is")
			}
		})
	}
}

// TestAStrictHandlerRoundsNothing: an any in a strict struct is what it is in another one.
func TestAStrictHandlerRoundsNothing(t *testing.T) {
	t.Parallel()
	var got strictOrder
	h, c := compiled(t, nil, func(o strictOrder) error { got = o; return nil })
	_, _, err := run(t.Context(), h.Strict(), c, &Job{Args: json.RawMessage(`[{"Any":9007199254740993}]`)})
	require.NoError(t, err)
	assert.Equal(t, int64(9007199254740993), got.Any)
}
