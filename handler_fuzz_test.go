package work

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var argumentSeeds = []string{
	``, ` `, `null`, ` null `, `[]`, ` [ ] `, `[1]`, `[ 1 , "a" , true ]`, `["a\"b","\\","é","\u00e9"]`,
	`[[1,[2]],{"a":[1,"]"]}]`,
	`[1,]`, `[,1]`, `[1 2]`, `[`, `[1`, `["`, `["\`, `]`, `[]]`, `[] x`, `["a",`, `[1 `, `[{"a`, `[{"a":[1`, `{}`, `1`,
	`"a"`, `[{]}`, `[nul]`, `[null,null]`, `[-]`, `[01]`, `[1.]`,
	`[1e5,-0,0.10,1E+2]`, `[9007199254740993,9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709551615]`,
	`[128,-129,256,-1,3.5e38,1e400,0x10,1_000,inf,NaN]`, "[\"\xff\"]", "[\"\x01\"]", "[\t1\r\n]", "[\x001]",
	`["2024-01-01T00:00:00Z"]`, `[tru,fals]`,
}

// The splitter with what validates each piece accepts what encoding/json accepts, and cuts where it cuts.
func FuzzSplitArray(f *testing.F) {
	for _, seed := range argumentSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pieces, ok := splitArray(nil, data)
		for _, piece := range pieces {
			ok = ok && json.Valid(piece)
		}
		var want []json.RawMessage
		err := json.Unmarshal(data, &want)
		if len(data) == 0 {
			err = nil // missing arguments are none
		}
		require.Equal(t, err == nil, ok, "encoding/json says %v", err)
		if !ok {
			return
		}
		require.Len(t, pieces, len(want))
		for i := range want {
			require.True(t, bytes.Equal(want[i], pieces[i]), "piece %d is %q, encoding/json has %q", i, pieces[i],
				want[i])
		}
	})
}

// Each type takes exactly the pieces that encoding/json takes for it, with the same value; only null may be refused.
func FuzzArgument(f *testing.F) {
	for _, seed := range argumentSeeds {
		pieces, _ := splitArray(nil, []byte(seed))
		for _, piece := range pieces {
			f.Add([]byte(piece))
		}
	}
	type userID int32
	types := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](), reflect.TypeFor[uint](),
		reflect.TypeFor[uint8](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[bool](),
		reflect.TypeFor[userID](),
		reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any](),
		reflect.TypeFor[*int64](), reflect.TypeFor[shapeOrder](),
		reflect.TypeFor[[]string](), reflect.TypeFor[uintptr](),
	}
	f.Fuzz(func(t *testing.T, piece []byte) {
		piece = bytes.Trim(piece, " \t\r\n") // as the splitter hands it over
		for _, of := range types {
			a := newArgument(of)
			got, want := reflect.New(of).Elem(), reflect.New(of).Elem()
			err := json.Unmarshal(piece, want.Addr().Interface())
			gotErr := a.decode(got, piece)
			if string(piece) == "null" && !a.null {
				require.ErrorIs(t, gotErr, errNullArgument)
				continue
			}
			if err != nil {
				require.EqualError(t, gotErr, err.Error(), "%s", of)
				continue
			}
			require.NoError(t, gotErr, "%s", of)
			if rounded, is := want.Interface().(float64); is && of == reflect.TypeFor[any]() &&
				got.Interface() != any(rounded) {
				require.Equal(t, string(piece), fmt.Sprint(got.Interface()), "an integer that is not rounded")
				continue
			}
			require.Equal(t, want.Interface(), got.Interface(), "%s", of)
		}
	})
}

// Whatever is in Redis, a handler takes it or refuses it with an *ArgumentError that is fit to print.
func FuzzHandlerArguments(f *testing.F) {
	for _, seed := range argumentSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fn := range []any{
			func() error { return nil }, func(int8, string) error { return nil }, func(shapeOrder) error { return nil },
			func(...*float32) error { return nil },
		} {
			h, p := compiled(t, nil, fn)
			_, _, err := h.run(context.Background(), p.instance(), &Job{Args: data})
			if err == nil {
				continue
			}
			var wrong *ArgumentError
			require.ErrorAs(t, err, &wrong)
			assert.LessOrEqual(t, len(wrong.Excerpt()), maxArgumentExcerpt)
		}
	})
}
