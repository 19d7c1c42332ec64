package handler

import "reflect"

// For tests only: what they look at below the API.
var (
	ReadableFunction = readableFunction
	ErrNullArgument  = errNullArgument
)

// Value is the *C itself.
func (u UserContext) Value() any { return u.pointer.Interface() }

// Decode decodes one argument of a type. It says whether the type takes null.
func Decode(of reflect.Type, piece []byte) (value any, takesNull bool, err error) {
	a := newArgument(of)
	slot := reflect.New(of).Elem()
	err = a.decode(slot, piece)
	return slot.Interface(), a.null, err
}
