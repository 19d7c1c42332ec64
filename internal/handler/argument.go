package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rawjson"
)

var errNullArgument = errors.New(
	"null is no such value, and the zero value would hide that: take a pointer where null is meant")

// argument is a parameter that comes from the job's JSON.
type argument struct {
	of   reflect.Type
	want string // of, as errors show it
	// Int64, Uint64, Float64, String, Bool: what need not go through encoding/json; Invalid for the rest
	// or Slice, for bytes, and Interface, for JSON that is taken as it stands
	plain  reflect.Kind
	fields plainStruct // nil for all that is no struct of those
	null   bool        // null has a meaning

	holdsAny bool // there may be an any somewhere in it
	strict   bool // fields that it does not have are refused
}

func newArgument(t reflect.Type) argument {
	a := argument{of: t, want: t.String(), holdsAny: exactjson.MayHoldAny(t)}
	ownJSON := reflect.PointerTo(t).Implements(unmarshalerType)
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		a.null = true
	default:
		// A type's own UnmarshalJSON may know null (an optional value). Of these two it is known that they ignore it.
		a.null = ownJSON && t != reflect.TypeFor[time.Time]() && t != reflect.TypeFor[big.Int]()
	}
	switch t {
	case reflect.TypeFor[[]byte]():
		a.plain = reflect.Slice
	case reflect.TypeFor[json.RawMessage]():
		a.plain = reflect.Interface
	}
	if ownJSON || reflect.PointerTo(t).Implements(textUnmarshalerType) || t == reflect.TypeFor[json.Number]() {
		return a
	}
	switch zero := reflect.Zero(t); {
	case zero.CanInt():
		a.plain = reflect.Int64
	case zero.CanUint():
		a.plain = reflect.Uint64
	case zero.CanFloat():
		a.plain = reflect.Float64
	case t.Kind() == reflect.String, t.Kind() == reflect.Bool:
		a.plain = t.Kind()
	}
	a.fields = newPlainStruct(t)
	return a
}

// decode stores a piece of JSON in slot: what encoding/json would store, but null only where it has a meaning.
func (a *argument) decode(slot reflect.Value, piece []byte) error {
	if a.decodePlain(slot, piece) {
		return nil
	}
	if a.fields != nil {
		if a.fields.decode(slot, piece) {
			return nil
		}
		slot.SetZero()
	}
	if !a.null && string(piece) == "null" {
		return errNullArgument
	}
	if a.strict {
		return namingUnknown(exactjson.UnmarshalStrictly(piece, slot.Addr().Interface()))
	}
	if a.holdsAny {
		return exactjson.Unmarshal(piece, slot.Addr().Interface())
	}
	return json.Unmarshal(piece, slot.Addr().Interface())
}

// unknownFieldError says that an object has a member that the type has no field for. It names the member.
type unknownFieldError struct{ name string }

func (e *unknownFieldError) Error() string {
	return "it has the field " + excerpt.Brief(e.name) + ", which is unknown there"
}

// namingUnknown makes what encoding/json says of an unknown field an error that may be shown.
func namingUnknown(err error) error {
	if err == nil {
		return nil
	}
	quoted, found := strings.CutPrefix(errchain.Tame(err).Error(), "json: unknown field ")
	if name, bad := strconv.Unquote(quoted); found && bad == nil {
		return &unknownFieldError{name}
	}
	return err
}

// decodePlain says false to all that is not simple and right; encoding/json then has the word.
func (a *argument) decodePlain(slot reflect.Value, piece []byte) bool {
	switch a.plain {
	case reflect.Int64:
		if n, ok := rawjson.Int(piece); ok && !slot.OverflowInt(n) {
			slot.SetInt(n)
			return true
		}
	case reflect.Uint64:
		if n, ok := rawjson.Uint(piece); ok && !slot.OverflowUint(n) {
			slot.SetUint(n)
			return true
		}
	case reflect.Float64:
		if n, ok := rawjson.Float(piece, a.of.Bits()); ok {
			slot.SetFloat(n)
			return true
		}
	case reflect.String:
		if s, ok := rawjson.String(piece); ok {
			slot.SetString(s)
			return true
		}
	case reflect.Bool:
		if b, ok := rawjson.Bool(piece); ok {
			slot.SetBool(b)
			return true
		}
	case reflect.Slice:
		if b, ok := rawjson.Base64(piece); ok {
			slot.SetBytes(b)
			return true
		}
	case reflect.Interface:
		if rawjson.Whole(piece) {
			slot.SetBytes(bytes.Clone(piece))
			return true
		}
	}
	return false
}
