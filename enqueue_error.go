package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
)

// Errors of an Enqueuer that a program may test for with errors.Is.
var (
	// ErrClosed is what an Enqueuer answers after its Close.
	ErrClosed = errors.New("the enqueuer is closed: make a new one")
	// ErrRedisFull says that Redis has reached its maxmemory, so it takes no new jobs until some have ended.
	ErrRedisFull = errors.New("redis is full (maxmemory): it takes no new jobs until some have ended")
	// ErrGone says that no outcome of a job is kept.
	ErrGone = errors.New("no outcome is kept")
)

// InvalidError says that something given by the program cannot be used. Nothing was stored.
type InvalidError struct {
	What   string // the thing: "job name", "delay"
	Value  string // what was given, as it is to be shown
	Remedy string // what to give instead
	Err    error  // the cause, where there is one
}

func (e *InvalidError) Error() string {
	return excerpt.Text(e.What, excerpt.Name) + " is " + excerpt.Text(e.Value, 2*excerpt.Name) + ": " +
		excerpt.Text(e.Remedy, excerpt.Whole)
}

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// EnqueueError says what became of the entries of a call that did not go well. Each entry is in exactly one of the
// three lists. A job that is Unknown may be stored: the reply was lost, or nobody waited for it any longer. To enqueue
// it again without doubling it, use [ID] at both times.
type EnqueueError struct {
	Stored    []int // indices into the entries; 0 for the one of Enqueue
	NotStored []int
	Unknown   []int
	Err       error // the cause of the first one that was not stored

	job string // its name, where there is one only
}

func (e *EnqueueError) Error() string { return cut(e.text()) }

func (e *EnqueueError) text() string {
	job := "the job"
	if e.job != "" {
		job = "job " + quoted(e.job)
	}
	switch total := len(e.Stored) + len(e.NotStored) + len(e.Unknown); {
	case total > 1:
		return fmt.Sprintf("%s: %v", e.counts(total), e.Err)
	case len(e.Stored) == 1:
		return fmt.Sprintf("%s is stored, but: %v", job, e.Err)
	case len(e.Unknown) == 1:
		return fmt.Sprintf("it is not known whether %s is stored (a reply was lost): %v", job, e.Err)
	}
	return fmt.Sprintf("%s is not stored: %v", job, e.Err)
}

// counts is "2 of 3 jobs are stored, 1 is unknown (a reply was lost)".
func (e *EnqueueError) counts(total int) string {
	if len(e.NotStored) == total {
		return fmt.Sprintf("none of %d jobs is stored", total)
	}
	parts := []string{fmt.Sprintf("%d of %d jobs %s stored", len(e.Stored), total, isOrAre(len(e.Stored)))}
	if n := len(e.NotStored); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not", n, isOrAre(n)))
	}
	if n := len(e.Unknown); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s unknown (a reply was lost)", n, isOrAre(n)))
	}
	return strings.Join(parts, ", ")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Unwrap returns the cause.
func (e *EnqueueError) Unwrap() error { return e.Err }
