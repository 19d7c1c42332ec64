package work

import (
	"reflect"

	"github.com/265d0351/work/internal/errchain"
)

// is is errors.Is for errors that come from a program.
func is(err, target error) (found bool) {
	comparable := target != nil && reflect.TypeOf(target).Comparable()
	errchain.Walk(err, func(next error) bool {
		if comparable && next == target {
			found = true
		} else if matcher, ok := next.(interface{ Is(error) bool }); ok {
			found = matcher.Is(target)
		}
		return found
	})
	return found
}

// tame is an error as it came from a program, unless its chain never ends: then it is in a shell in which errors.Is and
// errors.As find what is found in the beginning of it, and come to an end. So those who are told of it need not know.
func tame(err error) error {
	if err != nil && errchain.Walk(err, func(error) bool { return false }) {
		return &endlessError{err}
	}
	return err
}

// endlessError has no Unwrap.
type endlessError struct{ err error }

func (e *endlessError) Error() string { return describe(e.err) }

// Is looks into the beginning of the chain.
func (e *endlessError) Is(target error) bool { return is(e.err, target) }

// As looks into the beginning of the chain.
func (e *endlessError) As(target any) bool {
	slot := reflect.ValueOf(target)
	if slot.Kind() != reflect.Pointer || slot.IsNil() {
		return false
	}
	found := false
	errchain.Walk(e.err, func(next error) bool {
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
