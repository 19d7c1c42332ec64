package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/rawjson"
)

var argumentSeeds = []string{
	``, ` `, `null`, ` null `, `[]`, ` [ ] `, `[1]`, `[ 1 , "a" , true ]`, `["a\"b","\\","é","\u00e9"]`,
	`[[1,[2]],{"a":[1,"]"]}]`,
	`[1,]`, `[,1]`, `[1 2]`, `[`, `[1`, `["`, `["\`, `]`, `[]]`, `[] x`, `["a",`, `[1 `, `[{"a`, `[{"a":[1`, `{}`, `1`,
	`"a"`, `[{]}`, `[nul]`, `[null,null]`, `[-]`, `[01]`, `[1.]`,
	`[1e5,-0,0.10,1E+2]`, `[9007199254740993,9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709551615]`,
	`[128,-129,256,-1,3.5e38,1e400,0x10,1_000,inf,NaN]`, "[\"\xff\"]", "[\"\x01\"]", "[\t1\r\n]", "[\x001]",
	`["2024-01-01T00:00:00Z"]`, `[tru,fals]`, `["AQID","AQI","AQI=","A\nQI=",""]`,
	`[{"id":7,"Pad":"a text that is longer than eight bytes, é","on":true,"rate":1.5,"own":-3}]`,
	`[{"ID":7},{"id":7,"id":null},{"id":1,"id":2},{"id":7,"none":1},{"i\u0064":7},{ "id":7},{"id":"7"},{"id":7}x]`,
	`[{"on":1},{"Pad":"\u00e9"},{"Pad":null},{},{"own":1e2},{"id":7,},{"id" :7},{"Hidden":1},{"a-b":1}]`,
}

// plainOrder is a struct of fields that need no encoding/json.
type plainOrder struct {
	ID     int64 `json:"id"`
	Pad    string
	On     bool     `json:"on,omitempty"`
	Rate   *float64 `json:"-"`
	Fine   float32  `json:"rate"`
	Own    int8     `json:"own,omitzero"`
	hidden int
}

var _ = plainOrder{}.hidden // which encoding/json leaves alone

// nearlyPlain has one field that does.
type nearlyPlain struct {
	ID    int64 `json:"id,string"`
	Other int   `json:"a-b"`
}

// Each type takes exactly the pieces that encoding/json takes for it, with the same value; only null may be refused.
func FuzzArgument(f *testing.F) {
	for _, seed := range argumentSeeds {
		pieces, _ := rawjson.Split(nil, []byte(seed))
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
		reflect.TypeFor[[]string](), reflect.TypeFor[uintptr](), reflect.TypeFor[[]byte](),
		reflect.TypeFor[plainOrder](), reflect.TypeFor[nearlyPlain](), reflect.TypeFor[struct{}](),
	}
	f.Fuzz(func(t *testing.T, piece []byte) {
		piece = bytes.Trim(piece, " \t\r\n") // as the splitter hands it over
		for _, of := range types {
			want := reflect.New(of).Elem()
			err := json.Unmarshal(piece, want.Addr().Interface())
			got, takesNull, gotErr := handler.Decode(of, piece)
			if string(piece) == "null" && !takesNull {
				require.ErrorIs(t, gotErr, handler.ErrNullArgument)
				continue
			}
			if err != nil {
				require.EqualError(t, gotErr, err.Error(), "%s", of)
				continue
			}
			require.NoError(t, gotErr, "%s", of)
			if rounded, is := want.Interface().(float64); is && of == reflect.TypeFor[any]() &&
				got != any(rounded) {
				require.Equal(t, string(piece), fmt.Sprint(got), "an integer that is not rounded")
				continue
			}
			require.Equal(t, want.Interface(), got, "%s", of)
		}
	})
}

// Whatever is in Redis, a handler takes it or refuses it with an *handler.ArgumentError that is fit to print.
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
			_, _, err := run(context.Background(), h, p, &Job{Args: data})
			if err == nil {
				continue
			}
			var wrong *handler.ArgumentError
			require.ErrorAs(t, err, &wrong)
			assert.LessOrEqual(t, len(wrong.JSON), handler.MaxExcerpt+utf8.UTFMax)
		}
	})
}
