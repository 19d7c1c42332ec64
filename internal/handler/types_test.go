package handler_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

type (
	cycle struct {
		Next  *cycle
		Named map[string]cycle
	}
	selfPointer *selfPointer
	skipping    struct {
		Name string
		Done chan int `json:"-"`
		hiddenFunction
	}
	hiddenFunction func()
	promoting      struct{ hiddenBase }
	ownText        struct{ Done chan int }
	ownValueJSON   struct{ Done chan int }
	ownPtrJSON     struct{ Done chan int }
	holdingOwnPtr  struct{ Inner ownPtrJSON }
)

func (o *ownText) UnmarshalText([]byte) error       { return nil }
func (o ownText) MarshalText() ([]byte, error)      { return []byte("text"), nil }
func (o ownValueJSON) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (o *ownPtrJSON) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }

// What can be decoded is an argument, however odd it looks.
func TestHandlerTakesTypesThatJSONCanCarry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fn   any
		args string
	}{
		"time":                       {func(time.Time) error { return nil }, `["2024-01-01T00:00:00Z"]`},
		"big integer":                {func(*big.Int) error { return nil }, `[123456789012345678901234567890]`},
		"address":                    {func(netip.Addr) error { return nil }, `["::1"]`},
		"bytes":                      {func([]byte) error { return nil }, `["AAEC"]`},
		"any":                        {func(any) error { return nil }, `[{"a":1}]`},
		"number":                     {func(json.Number) error { return nil }, `[1.50]`},
		"itself inside":              {func(cycle) error { return nil }, `[{"Next":{"Named":{"a":{}}}}]`},
		"a pointer to itself":        {func(selfPointer) error { return nil }, `[null]`},
		"integer keys":               {func(map[int8]string) error { return nil }, `[{"1":"a"}]`},
		"keys with text methods":     {func(map[ownText]string) error { return nil }, `[{"1":"a"}]`},
		"fields that do not count":   {func(skipping) error { return nil }, `[{"Name":"a"}]`},
		"an embedded struct":         {func(promoting) error { return nil }, `[{"ID":1}]`},
		"text methods over a chan":   {func(ownText) error { return nil }, `["x"]`},
		"a named function type":      {namedHandler(func(int) error { return nil }), `[1]`},
		"another context, as an arg": {func(*otherShop) error { return nil }, `[{"Name":"a"}]`},
		"a list and a tail":          {func([]string, ...map[string]*int) error { return nil }, `[["a"],{"a":null}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.NoError(t, runArgs(t, c.fn, c.args))
		})
	}
}

type namedHandler func(int) error

// A result is taken when encoding/json encodes it, and refused when no value of its type would do.
func TestHandlerResultTypesAreThoseThatJSONEncodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fn   any
		zero any // what the handler returns
	}{
		{func() (time.Time, error) { return time.Time{}, nil }, time.Time{}},
		{func() (any, error) { return nil, nil }, nil},
		{func() (io.Reader, error) { return nil, nil }, nil},
		{func() (*cycle, error) { return nil, nil }, &cycle{}},
		{func() (skipping, error) { return skipping{}, nil }, skipping{hiddenFunction: func() {}}},
		{func() (ownText, error) { return ownText{}, nil }, ownText{}},
		{func() (map[ownText]int, error) { return nil, nil }, map[ownText]int{{}: 1}},
		{func() (ownValueJSON, error) { return ownValueJSON{}, nil }, ownValueJSON{}},
		{func() (ownPtrJSON, error) { return ownPtrJSON{}, nil }, ownPtrJSON{}},
		{func() (*ownPtrJSON, error) { return nil, nil }, &ownPtrJSON{}},
		{func() (holdingOwnPtr, error) { return holdingOwnPtr{}, nil }, holdingOwnPtr{}},
		{func() (*holdingOwnPtr, error) { return nil, nil }, &holdingOwnPtr{}},
		{func() ([]ownPtrJSON, error) { return nil, nil }, []ownPtrJSON{{}}},
		{func() ([1]ownPtrJSON, error) { return [1]ownPtrJSON{}, nil }, [1]ownPtrJSON{}},
		{func() (map[string]ownPtrJSON, error) { return nil, nil }, map[string]ownPtrJSON{"a": {}}},
		{func() (struct{ *hiddenBase }, error) { return struct{ *hiddenBase }{}, nil },
			struct{ *hiddenBase }{&hiddenBase{}}},
		{func() (map[bool]int, error) { return nil, nil }, map[bool]int{true: 1}},
	} {
		t.Run(fmt.Sprintf("%T", c.fn), func(t *testing.T) {
			t.Parallel()
			_, encoding := json.Marshal(c.zero)
			_, err := newCompiler(t, nil).Handler(c.fn)
			if encoding == nil {
				require.NoError(t, err)
				return
			}
			var refusal *handler.Refusal
			require.ErrorAs(t, err, &refusal, "%v", encoding)
		})
	}
}
