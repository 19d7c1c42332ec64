package handler

import (
	"reflect"
	"strings"

	"github.com/265d0351/work/internal/rawjson"
)

// plainStruct are the fields of a struct of which none needs encoding/json: most arguments are such ones.
type plainStruct []plainField

type plainField struct {
	name  string // in JSON
	index int
	argument
}

// mostPlainFields is up to how many fields are looked through one by one.
const mostPlainFields = 32

// newPlainStruct returns nil for all other types, and for those whose fields have names that are not simple.
func newPlainStruct(t reflect.Type) plainStruct {
	if t.Kind() != reflect.Struct || t.NumField() > mostPlainFields {
		return nil
	}
	fields, names := plainStruct{}, map[string]bool{}
	for i := range t.NumField() {
		of := t.Field(i)
		name, left := jsonName(of)
		switch {
		case of.Anonymous:
			return nil
		case left:
			continue
		case name == "" || names[name]:
			return nil
		}
		names[name] = true
		field := plainField{name: name, index: i, argument: newArgument(of.Type)}
		if field.plain == reflect.Invalid {
			return nil
		}
		fields = append(fields, field)
	}
	return fields
}

// jsonName is the name of a field as encoding/json has it; empty where only that knows. left says that it leaves the
// field alone.
func jsonName(of reflect.StructField) (name string, left bool) {
	tag := of.Tag.Get("json")
	if !of.IsExported() || tag == "-" {
		return "", true
	}
	name, options, _ := strings.Cut(tag, ",")
	if options != "" && options != "omitempty" && options != "omitzero" {
		return "", false
	}
	if tag == "" || name == "" {
		name = of.Name
	}
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", false
		}
	}
	return name, false
}

// decode says false to all that is not simple and right, and to members whose names are not written as those of the
// fields: encoding/json then has the word. It may have stored some.
func (s plainStruct) decode(slot reflect.Value, piece []byte) bool {
	return rawjson.Object(piece, func(name, value []byte) bool {
		for i := range s {
			if s[i].name == string(name) {
				return s[i].decodePlain(slot.Field(s[i].index), value)
			}
		}
		return false
	})
}
