package handler

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
)

// jsonFault is a place in a type where there is something that JSON cannot carry.
type jsonFault struct {
	path   string // below the type, as ".Items[].Done"; empty for the type itself
	what   string // the type that is there
	remedy string
}

func (f *jsonFault) where() string {
	if f.path == "" {
		return ""
	}
	return fmt.Sprintf(", in which %s is %s", f.path, f.what)
}

// jsonWalk looks for what encoding/json would refuse whatever the value is.
type jsonWalk struct {
	decoding bool
	seen     map[reflect.Type]bool
}

// fault is nil when JSON can carry t. Where encoding/json can take the address of a value, the methods of the pointer
// count.
func (w *jsonWalk) fault(t reflect.Type, path string, addressable bool) *jsonFault {
	if w.seen[t] || w.hasOwnJSON(t, addressable) {
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return &jsonFault{path, t.String(),
			"use plain data, or an id to find it by; JSON has no channels, functions or addresses"}
	case reflect.Complex64, reflect.Complex128:
		return &jsonFault{path, t.String(), "use two floats; JSON has no complex numbers"}
	case reflect.Interface:
		if w.decoding && t.NumMethod() > 0 {
			return &jsonFault{path, t.String(),
				"use a concrete type or json.RawMessage; nothing says which type to make for an interface"}
		}
		return nil
	}
	if w.seen == nil {
		w.seen = map[reflect.Type]bool{}
	}
	w.seen[t] = true // a type may contain itself
	switch t.Kind() {
	case reflect.Pointer:
		return w.fault(t.Elem(), path, true)
	case reflect.Slice:
		return w.fault(t.Elem(), path+"[]", true)
	case reflect.Array:
		return w.fault(t.Elem(), path+"[]", addressable)
	case reflect.Map:
		if !w.isKey(t.Key()) {
			return &jsonFault{path, t.String(),
				"use a key that is a string, an integer or has text methods; JSON has only strings for keys"}
		}
		return w.fault(t.Elem(), path+"[]", false)
	case reflect.Struct:
		return w.faultInFields(t, path, addressable)
	}
	return nil
}

func (w *jsonWalk) hasOwnJSON(t reflect.Type, addressable bool) bool {
	if w.decoding {
		t = reflect.PointerTo(t)
		return t.Implements(unmarshalerType) || t.Implements(textUnmarshalerType)
	}
	if t.Implements(marshalerType) || t.Implements(textMarshalerType) {
		return true
	}
	return addressable && (reflect.PointerTo(t).Implements(marshalerType) || reflect.PointerTo(t).
		Implements(textMarshalerType))
}

func (w *jsonWalk) isKey(t reflect.Type) bool {
	zero := reflect.Zero(t)
	return t.Kind() == reflect.String || zero.CanInt() || zero.CanUint() ||
		w.decoding && reflect.PointerTo(t).Implements(textUnmarshalerType) || !w.decoding &&
		t.Implements(textMarshalerType)
}

// faultInFields looks at the fields that encoding/json looks at.
func (w *jsonWalk) faultInFields(t reflect.Type, path string, addressable bool) *jsonFault {
	for i := range t.NumField() {
		field := t.Field(i)
		inner := field.Type
		if field.Anonymous && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		promotes := field.Anonymous && inner.Kind() == reflect.Struct
		if field.Tag.Get("json") == "-" || !field.IsExported() && !promotes {
			continue
		}
		if w.decoding && !field.IsExported() && inner != field.Type {
			return &jsonFault{path + "." + field.Name, field.Type.String(),
				"embed the struct itself; JSON cannot set a pointer to an unexported one"}
		}
		if fault := w.fault(field.Type, path+"."+field.Name, addressable); fault != nil {
			return fault
		}
	}
	return nil
}
