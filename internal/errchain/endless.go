package errchain

import (
	"reflect"

	"github.com/265d0351/work/internal/excerpt"
)

// Is is errors.Is for errors that come from a program.
func Is(err, target error) (found bool) {
	comparable := target != nil && reflect.TypeOf(target).Comparable()
	Walk(err, func(next error) bool {
		if comparable && next == target {
			found = true
		} else if matcher, ok := next.(interface{ Is(error) bool }); ok {
			found = matcher.Is(target)
		}
		return found
	})
	return found
}

// Tame is an error as it came from a program, unless its chain never ends: then it is in a shell in which errors.Is and
// errors.As find what is found in the beginning of it, and come to an end. So those who are told of it need not know.
func Tame(err error) error {
	if err != nil && Walk(err, func(error) bool { return false }) {
		return &endlessError{err}
	}
	return err
}

// endlessError has no Unwrap.
type endlessError struct{ Err error }

func (e *endlessError) Error() string { return excerpt.Describe(e.Err) }

// Is looks into the beginning of the chain.
func (e *endlessError) Is(target error) bool { return Is(e.Err, target) }

// As looks into the beginning of the chain.
func (e *endlessError) As(target any) bool {
	slot := reflect.ValueOf(target)
	if slot.Kind() != reflect.Pointer || slot.IsNil() {
		return false
	}
	found := false
	Walk(e.Err, func(next error) bool {
		if reflect.TypeOf(next).AssignableTo(slot.Type().Elem()) {
			slot.Elem().Set(reflect.ValueOf(next))
			found = true
		} else if as, ok := next.(interface{ As(any) bool }); ok {
			found = as.As(target)
		}
		return found
	})
	return found
}
