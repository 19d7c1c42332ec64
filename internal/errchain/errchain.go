// Package errchain looks into errors of a program: it comes to an end, whatever their Unwrap methods do.
package errchain

import "slices"

// longest is how many errors of a program are looked at in one chain, those of joins counted too. One whose Unwrap
// returns itself, or a list with itself in it, never ends, and the standard library would look for ever.
const longest = 10_000

// Walk visits an error and what it wraps, in the order of errors.As, until visit returns true. It returns true where
// the chain has no end. One whose Unwrap panics ends there.
func Walk(err error, visit func(error) bool) (endless bool) {
	defer func() { _ = recover() }() // the error is judged by what could be seen of it
	left := []error{err}
	for seen := 0; len(left) > 0; seen++ {
		if seen+len(left) > longest {
			return true
		}
		next := left[len(left)-1]
		left = left[:len(left)-1]
		if next == nil {
			continue
		}
		if visit(next) {
			return false
		}
		switch wrapper := next.(type) {
		case interface{ Unwrap() error }:
			left = append(left, wrapper.Unwrap())
		case interface{ Unwrap() []error }:
			inner := wrapper.Unwrap()
			if len(inner) > longest-seen {
				return true
			}
			for _, err := range slices.Backward(inner) {
				left = append(left, err)
			}
		}
	}
	return false
}

// Find is errors.As for errors that come from a program: it comes to an end, and an error whose Unwrap or As method
// panics is not found in.
func Find[E error](err error) (found E) {
	Walk(err, func(next error) bool {
		if is, ok := next.(E); ok {
			found = is
			return true
		}
		as, ok := next.(interface{ As(any) bool })
		return ok && as.As(&found)
	})
	return found
}
