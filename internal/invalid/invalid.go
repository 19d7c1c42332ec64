// Package invalid says that something a program gave cannot be used. Internal packages return its Error, since they
// know nothing of the root; public packages turn it into a *work.InvalidError at their boundary. The texts are the
// same.
package invalid

import "github.com/265d0351/work/internal/excerpt"

// Error is a value that cannot be used. Its fields and its text are those of work.InvalidError.
type Error struct {
	What   string // the thing: "job name", "delay"
	Value  string // what was given, as it is to be shown
	Remedy string // what to give instead
	Err    error  // the cause, where there is one
}

func (e *Error) Error() string {
	return excerpt.Text(e.What, excerpt.Name) + " is " + excerpt.Text(e.Value, 2*excerpt.Name) + ": " +
		excerpt.Text(e.Remedy, excerpt.Whole)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
