// Package exit has the exit statuses of the program, and the errors that say which of them an end has.
package exit

import (
	"errors"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
)

// The exit statuses of the program.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2   // what was typed cannot be done as it stands
	NotFound    = 3   // nothing of what was named is there
	Unhappy     = 4   // a job that was waited for did not end well
	Undone      = 5   // some of what was asked for was left undone
	Interrupted = 130 // Ctrl-C, as shells count it
)

// UsageError is a mistake in what was typed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError of a text that says what is wrong and what to give instead; %w wraps.
func Usagef(format string, args ...any) error { return &UsageError{Err: fmt.Errorf(format, args...)} }

// StatusError is an end that is not what was asked for, with an exit status that tells which.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }

func (e *StatusError) Unwrap() error { return e.Err }

// IsMissing tells whether something that was named is not there.
func IsMissing(err error) bool {
	for _, missing := range []error{work.ErrNotFound, inspect.ErrNoQueue, inspect.ErrNoWorker, work.ErrNoSchedule,
		work.ErrGone, flow.ErrNoFlow} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}
