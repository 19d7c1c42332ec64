package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
)

// Errors that a program may test for with errors.Is.
var (
	// ErrFenced is the cause with which a job's ctx ends when its worker was declared dead, so that the job runs
	// elsewhere; or when that may be so and nobody can tell: see WorkerOptions.FenceAfter.
	ErrFenced = errors.New("this worker was declared dead, or may have been: its jobs are given to others")
	// ErrShutdown is the cause with which a job's ctx ends when the pool stopped and ShutdownTimeout has passed.
	ErrShutdown = errors.New("the worker pool is shutting down")
	// ErrTimeout is the cause with which a job's ctx ends when its Timeout has passed.
	ErrTimeout = errors.New("the job's timeout has passed")
	// ErrCancelled is the cause with which a job's ctx ends when somebody has cancelled the job.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrDeadline is the cause with which a job's ctx ends when its Deadline has come.
	ErrDeadline = errors.New("the job's deadline has come")
	// ErrNotStarted is returned by what needs a running pool.
	ErrNotStarted = errors.New("the worker pool is not started: call Start or Run first")
	// ErrStopped is returned by Start when the pool was stopped: make a new one.
	ErrStopped = errors.New("the worker pool was stopped: a stopped pool cannot be started again")
	// ErrStopping is what is wrong with a pool that is about to end: see Healthy.
	ErrStopping = errors.New("the worker pool is stopping")
	// ErrStarted is returned by the second Start.
	ErrStarted = errors.New("the worker pool is started already")
)

// PanicError is the error of a job whose handler or middleware panicked.
type PanicError struct {
	Value any    // what was given to panic
	Stack string // of the panicking goroutine
}

func (e *PanicError) Error() string { return "panic: " + describe(e.Value) }

// Unwrap returns the panic's value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return tame(err)
}

// GoexitError is the error of a job whose handler or middleware called runtime.Goexit, as t.FailNow does.
type GoexitError struct{}

func (*GoexitError) Error() string { return "the goroutine was ended with runtime.Goexit" }

// SetupError holds every mistake that was made while a pool was set up. errors.Is and errors.As look into each.
type SetupError struct{ Mistakes []error }

func (e *SetupError) Error() string { return cut(e.text()) }

func (e *SetupError) text() string {
	if len(e.Mistakes) == 1 {
		return "the worker pool cannot start: " + e.Mistakes[0].Error()
	}
	return fmt.Sprintf("the worker pool cannot start, there are %s mistakes:\n", excerpt.Count(len(e.Mistakes))) +
		excerpt.Lines(len(e.Mistakes), 2*excerpt.Whole-4*excerpt.Name, func(i int) string {
			return fmt.Sprintf("%3d. %s", i+1, errorText(e.Mistakes[i]))
		})
}

// Unwrap returns the mistakes.
func (e *SetupError) Unwrap() []error { return e.Mistakes }

// StopError says what a stop could not end in good order. Nothing of it is lost: every job named here is, or will be
// within seconds, back in its queue.
type StopError struct {
	Released []event.JobRef // given back to the front of their queues: they were cut short
	// their handlers have not returned although their ctx ended; they run on beside their successors
	Stuck []event.JobRef
	Err   error // what else went wrong: Redis could not be reached, the ctx of Stop ended, ...; may be nil
}

func (e *StopError) Error() string { return cut(e.text()) }

func (e *StopError) text() string {
	var parts []string
	if n := len(e.Stuck); n > 0 {
		parts = append(parts, fmt.Sprintf("handlers that did not return (%d): %s", n, list(e.Stuck)))
	}
	if n := len(e.Released); n > 0 {
		parts = append(parts, fmt.Sprintf("jobs given back (%d): %s", n, list(e.Released)))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return "the worker pool did not stop in good order: " + strings.Join(parts, "; ")
}

// Unwrap returns Err.
func (e *StopError) Unwrap() error { return e.Err }

// list names the first few jobs.
func list(refs []event.JobRef) string {
	const most = 5
	names := make([]string, 0, most+1)
	for _, ref := range refs[:min(len(refs), most)] {
		names = append(names, excerpt.Text(ref.String(), 2*excerpt.Name))
	}
	if more := len(refs) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %s more", excerpt.Count(more)))
	}
	return strings.Join(names, ", ")
}

// cut bounds the text of an error that quotes others: a handler's, that of Redis, or what somebody has written into a
// record.
func cut(text string) string { return excerpt.Text(text, excerpt.Whole) }

// describe turns a panic's value into a text of bounded length, whatever its methods do.
func describe(value any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T whose text could not be had, since its own method panicked", value)
		}
	}()
	if err, ok := value.(error); ok {
		return cut(err.Error())
	}
	return cut(fmt.Sprint(value))
}
