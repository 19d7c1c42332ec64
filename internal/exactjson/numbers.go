// Package exactjson is encoding/json for the values of programs: it rounds no integer in an any, replaces no byte of a
// text, and where a method of the program panics, that is an error.
package exactjson

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Unmarshal is json.Unmarshal that rounds no integer in an any. An any holds a number as float64, as programs expect;
// one that this would round is an int64, and one beyond that a json.Number. It decodes once: methods of the program may
// add to what is there.
func Unmarshal(text []byte, into any) error {
	if !mayRound(text, into) || !json.Valid(text) {
		return json.Unmarshal(text, into)
	}
	return decode(json.NewDecoder(bytes.NewReader(text)), into)
}

// UnmarshalStrictly is Unmarshal that refuses a member of an object that the struct has no field for. What has an
// UnmarshalJSON of its own takes what it likes.
func UnmarshalStrictly(text []byte, into any) error {
	if !json.Valid(text) {
		return json.Unmarshal(text, into)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if !mayRound(text, into) {
		return decoder.Decode(into)
	}
	return decode(decoder, into)
}

// mayRound tells whether json.Unmarshal may round an integer of the text.
func mayRound(text []byte, into any) bool {
	target := reflect.ValueOf(into)
	return target.Kind() == reflect.Pointer && !target.IsNil() && hasLongNumber(text) && MayHoldAny(target.Type())
}

// decode decodes and rounds nothing.
func decode(decoder *json.Decoder, into any) error {
	decoder.UseNumber()
	err := decoder.Decode(into)
	var found numbers
	found.settle(reflect.ValueOf(into).Elem())
	return cmp.Or(err, found.refused)
}

// hasLongNumber tells whether there may be an integer in a text that a float64 rounds: the first one has 16 digits.
func hasLongNumber(text []byte) bool {
	digits := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits == 16 {
			return true
		}
	}
	return false
}

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

var anyTypes sync.Map // type -> what holdsAny says of it

// MayHoldAny is holdsAny, asked once for each type. What it says no to, encoding/json decodes exactly.
func MayHoldAny(t reflect.Type) bool {
	if known, ok := anyTypes.Load(t); ok {
		return known.(bool)
	}
	holds := holdsAny(t, nil)
	anyTypes.Store(t, holds)
	return holds
}

// holdsAny tells whether decoding into a value of this type may make an any. What has an UnmarshalJSON of its own
// decodes as it likes.
func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || reflect.PointerTo(t).Implements(unmarshalerType) || reflect.PointerTo(t).
		Implements(textUnmarshalerType) {
		return false
	}
	if seen == nil {
		seen = map[reflect.Type]bool{}
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// numbers settles what the json.Numbers are that came of decoding.
type numbers struct{ refused error } // for one that json.Unmarshal refuses

// settle turns the json.Number of every any in a value that was just decoded into what it stands for.
func (n *numbers) settle(value reflect.Value) {
	if !MayHoldAny(value.Type()) {
		return
	}
	switch value.Kind() {
	case reflect.Interface:
		if !value.IsNil() && value.CanSet() {
			value.Set(reflect.ValueOf(n.settled(value.Interface())))
		}
	case reflect.Pointer:
		if !value.IsNil() {
			n.settle(value.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			n.settle(value.Index(i))
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			own := reflect.New(value.Type().Elem()).Elem() // what is in a map cannot be changed there
			own.Set(entries.Value())
			n.settle(own)
			value.SetMapIndex(entries.Key(), own)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() || value.Type().Field(i).Anonymous {
				n.settle(value.Field(i))
			}
		}
	}
}

// settled is what an any holds.
func (n *numbers) settled(value any) any {
	switch value := value.(type) {
	case json.Number:
		return n.exactly(value)
	case []any:
		for i := range value {
			value[i] = n.settled(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = n.settled(value[key])
		}
	}
	return value
}

// exactly is a float64, unless it is an integer that this would round.
func (n *numbers) exactly(number json.Number) any {
	text := number.String()
	near, err := number.Float64()
	if err != nil {
		n.refused = &json.UnmarshalTypeError{Value: "number " + text, Type: reflect.TypeFor[float64]()}
		return number
	}
	if strings.ContainsAny(text, ".eE") {
		return near
	}
	if whole, err := number.Int64(); err == nil {
		if near < 1<<63 && int64(near) == whole {
			return near
		}
		return whole
	}
	if strconv.FormatFloat(near, 'f', -1, 64) == text {
		return near // a float64 of this size is written so
	}
	return number
}
