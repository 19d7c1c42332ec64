package handler

import "reflect"

// prototype is the value that a pool was given, copied when it was given. Its zero value is that of a pool without a
// context.
type prototype struct {
	value   reflect.Value // the struct C
	pointer reflect.Type  // *C, what handlers and middleware take
}

// newPrototype accepts a struct, a pointer to a struct, or nil: no context at all.
func newPrototype(v any) (prototype, error) {
	if v == nil {
		return prototype{}, nil
	}
	given := reflect.ValueOf(v)
	isNil := given.Kind() == reflect.Pointer && given.IsNil()
	if given.Kind() == reflect.Pointer && !isNil {
		given = given.Elem()
	}
	if given.Kind() != reflect.Struct {
		return prototype{}, refusePrototype("of type "+reflect.TypeOf(v).String(), isNil)
	}
	own := reflect.New(given.Type()).Elem()
	own.Set(given)
	return prototype{value: own, pointer: reflect.PointerTo(given.Type())}, nil
}

// UserContext is what one job's copy of the prototype travels as: a *C, or nothing.
type UserContext struct{ pointer reflect.Value }

// instance makes the shallow copy for one job: pointers in it are shared with all other jobs, fields are its own.
func (p prototype) instance() UserContext {
	if p.pointer == nil {
		return UserContext{}
	}
	own := reflect.New(p.pointer.Elem())
	own.Elem().Set(p.value)
	return UserContext{pointer: own}
}
