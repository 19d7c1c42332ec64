package exactjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/265d0351/work/internal/invalid"
)

// Marshal is json.Marshal that changes no text: a value with text that is not UTF-8 is an *invalid.Error, which names
// the field.
func Marshal(value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if path, broken := Broken(value, encoded); broken {
		what := "its text"
		if path != "" {
			what += " at " + path
		}
		return nil, invalid.NotUTF8(what)
	}
	return encoded, nil
}

// replacement is what encoding/json writes in place of bytes that are not UTF-8. A U+FFFD that a program has in a text
// is written as itself, so that most values need no second look.
var replacement = []byte(`\ufffd`)

// Broken reports whether a value has text that is not UTF-8, and where: ".Files[2].Name", or nothing for the value
// itself. encoded is what encoding/json has made of the value. The path quotes nothing of the value, so that the key of
// a map is not in it. Methods of the program are called once more, only where encoded looks as if text was replaced.
func Broken(value any, encoded []byte) (path string, broken bool) {
	valid := utf8.Valid(encoded)
	if valid && !bytes.Contains(encoded, replacement) {
		return "", false
	}
	path, broken = (&brokenText{}).find(reflect.ValueOf(value))
	return path, broken || !valid
}

// brokenText looks for text that is not UTF-8 in a value that encoding/json has encoded.
type brokenText struct {
	seen   map[place]bool
	within bool // a value that encodes itself: any of its fields may be in its JSON, and no method is called
}

// place is where a value is that may be there twice, or contain itself.
type place struct {
	of     reflect.Type
	at     uintptr
	length int
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (b *brokenText) find(v reflect.Value) (path string, found bool) {
	if !b.within && v.IsValid() && v.Kind() != reflect.Interface {
		if own, broken := b.encodesItself(v); own {
			return "", broken
		}
	}
	switch v.Kind() {
	case reflect.String:
		return "", !utf8.ValidString(v.String())
	case reflect.Interface:
		return b.find(v.Elem())
	case reflect.Pointer:
		if !b.isNew(v, 0) {
			return "", false
		}
		return b.find(v.Elem())
	case reflect.Slice, reflect.Array:
		return b.inList(v)
	case reflect.Map:
		return b.inMap(v)
	case reflect.Struct:
		return b.inStruct(v)
	}
	return "", false
}

// encodesItself reports whether a method of the value made its JSON, and whether that has broken text.
func (b *brokenText) encodesItself(v reflect.Value) (own, broken bool) {
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		v = v.Addr() // encoding/json finds methods of the pointer, too
	}
	inJSON, inText := v.Type().Implements(jsonMarshaler), v.Type().Implements(textMarshaler)
	if !inJSON && !inText || !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false, false
	}
	if !inJSON {
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		return true, err == nil && !utf8.Valid(text)
	}
	text, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil || utf8.Valid(text) && !bytes.Contains(text, replacement) {
		return true, false
	}
	if !utf8.Valid(text) {
		return true, true
	}
	// It may have written the escape itself, for a character that the program has: only its fields can tell.
	_, broken = (&brokenText{within: true}).find(v)
	return true, broken
}

// isNew reports whether a pointer, a map or a slice was not looked at before.
func (b *brokenText) isNew(v reflect.Value, length int) bool {
	at := place{v.Type(), v.Pointer(), length}
	if at.at == 0 || b.seen[at] {
		return false
	}
	if b.seen == nil {
		b.seen = map[place]bool{}
	}
	b.seen[at] = true
	return true
}

// inList takes bytes for what they become: base64, which is UTF-8. What encodes itself may have made text of them.
func (b *brokenText) inList(v reflect.Value) (path string, found bool) {
	if v.Kind() == reflect.Slice {
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "", b.within && !utf8.Valid(v.Bytes())
		}
		if !b.isNew(v, v.Len()) {
			return "", false
		}
	}
	for i := range v.Len() {
		if path, found := b.find(v.Index(i)); found {
			return "[" + strconv.Itoa(i) + "]" + path, true
		}
	}
	return "", false
}

func (b *brokenText) inMap(v reflect.Value) (path string, found bool) {
	if !b.isNew(v, 0) {
		return "", false
	}
	for entries := v.MapRange(); entries.Next(); {
		if _, found := b.find(entries.Key()); found {
			return "[a key]", true
		}
		if path, found := b.find(entries.Value()); found {
			return "[…]" + path, true
		}
	}
	return "", false
}

func (b *brokenText) inStruct(v reflect.Value) (path string, found bool) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !b.within && (!field.IsExported() && !field.Anonymous || field.Tag.Get("json") == "-") {
			continue
		}
		if path, found := b.find(v.Field(i)); found && field.Anonymous && path != "" {
			return path, true // a program may leave out the name of what it embeds
		} else if found {
			return "." + field.Name + path, true
		}
	}
	return "", false
}
