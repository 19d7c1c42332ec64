package jobargs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/jobargs"
)

// encodedByJSON is what encoding/json makes of a value, without escaping HTML.
func encodedByJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}

var errSecret = errors.New("4111 1111 1111 1111")

type broken struct{ panics bool }

func (b broken) MarshalJSON() ([]byte, error) {
	if b.panics {
		panic(errSecret)
	}
	return nil, errSecret
}

func TestAnArgumentThatDoesNotEncodeIsRefusedWithoutAQuote(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		arg  any
		want string
	}{
		"a channel": {make(chan int), "argument 2 of job \"a\" is a chan int that does not encode as JSON (JSON has " +
			"no such type as chan int): pass a value that encoding/json can encode"},
		"its method fails":  {broken{}, "whose text may quote it"},
		"its method panics": {broken{panics: true}, "its encoding panicked with a *errors.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := jobargs.EncodeAll(nil, "a", []any{1, row.arg}, 1<<20)
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, row.want)
			assert.NotContains(t, err.Error(), "4111")
		})
	}
}

func FuzzArgs(f *testing.F) {
	f.Add("text", int64(1), 0.5, []byte("bytes"), true)
	f.Add("<\x80\u2028\"\\\n>", int64(math.MinInt64), math.MaxFloat64, []byte{}, false)
	f.Fuzz(func(t *testing.T, text string, n int64, fraction float64, bytes []byte, yes bool) {
		if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
			return
		}
		args := []any{text, n, int(n), fraction, bytes, yes, nil, []any{text}}
		got, err := jobargs.EncodeAll(nil, "a", args, 1<<20)
		require.NoError(t, err)
		assert.Equal(t, encodedByJSON(t, args), string(got))
	})
}
