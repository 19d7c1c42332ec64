package unquoted

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errOwn = errors.New("own 4111")

type own struct{}

func (*own) UnmarshalJSON([]byte) error { return fmt.Errorf("%w", errOwn) }

func TestAnErrorSaysWhatIsWrongAndQuotesNothing(t *testing.T) {
	t.Parallel()
	type order struct {
		Lines []struct{ Price int8 } `json:"lines"`
		N     int                    `json:",string"`
	}
	for name, row := range map[string]struct {
		into any
		text string
		want string
	}{
		"a number": {new(int8), `4111`, "a JSON number does not fit the type int8"},
		"a string": {new(int8), `"4111"`, "a JSON string does not fit the type int8"},
		"a key":    {new(map[int]int), `{"x4111":1}`, "a JSON number does not fit the type int"},
		"a field": {new(order), `{"lines":[{"Price":4111}]}`,
			"a JSON number does not fit the type int8 of its field lines.Price"},
		"no JSON":     {new(int), `[x4111]`, "it is not JSON from byte 2 on"},
		"cut off":     {new(int), `[4111`, "it is not JSON from byte 5 on"},
		"base64":      {new([]byte), `"4111?"`, "it is not base64 from byte 4 on"},
		"an own one":  {new(own), `4111`, "it was refused with a *fmt.wrapError, whose text may quote it"},
		"of a string": {new(order), `{"N":"x4111"}`, "it was refused with a *fmt.wrapError, whose text may quote it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verbatim := json.Unmarshal([]byte(row.text), row.into)
			require.Error(t, verbatim)
			err := Error(verbatim)
			if name != "of a string" { // its type is none of ours to promise
				assert.EqualError(t, err, row.want)
			}
			assert.NotContains(t, err.Error(), "4111")
			assert.NoError(t, errors.Unwrap(err), "what walks the chain finds no other text")
			assert.Equal(t, Error(err), err, "once is enough")
			var problem *Problem
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, verbatim, problem.Verbatim())
		})
	}
	assert.NoError(t, Error(nil))
}

func TestWhatItWasMadeOfIsFound(t *testing.T) {
	t.Parallel()
	err := Error(json.Unmarshal([]byte(`1`), new(own)))
	assert.ErrorIs(t, err, errOwn)
	var mismatch *json.UnmarshalTypeError
	require.ErrorAs(t, Error(json.Unmarshal([]byte(`1`), new(string))), &mismatch)
	assert.Equal(t, "number", mismatch.Value)
}

func TestWhatDoesNotEncode(t *testing.T) {
	t.Parallel()
	circle := map[string]any{}
	circle["4111"] = circle
	for want, value := range map[string]any{
		"JSON has no such type as chan int":                     make(chan int),
		"JSON has no such value as one that contains itself":    circle,
		"the encoding of its json.RawMessage failed: it is not": json.RawMessage("{4111"),
	} {
		_, err := json.Marshal(value)
		require.Error(t, err)
		assert.ErrorContains(t, Error(err), want)
		assert.NotContains(t, Error(err).Error(), "4111")
	}
}
