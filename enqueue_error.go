package work

import (
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/intake"
)

// EnqueueError says what became of the entries of a call that did not go well. Each entry is in exactly one of the
// three lists. A job that is Unknown may be stored: the reply was lost, or nobody waited for it any longer; or it was
// stored, and is not proven to be there ([ErrLostInFailover]). To enqueue it again without doubling it, use [ID] at
// both times.
type EnqueueError struct {
	Stored    []int // indices into the entries; 0 for the one of Enqueue
	NotStored []int
	Unknown   []int
	Err       error // the cause of the first one that was not stored

	job string // its name, where there is one only
}

// note adds what became of the i-th entry, and returns its receipt.
func (e *EnqueueError) note(i int, entry *Entry, job *intake.Job, result *intake.Result) Receipt {
	receipt, err := entry.receipt(job, result)
	e.list(i, result.Outcome)
	if e.Err == nil {
		e.Err = err
	}
	return receipt
}

// list adds an entry to the list of its outcome.
func (e *EnqueueError) list(i int, outcome intake.Outcome) {
	switch outcome {
	case intake.Stored:
		e.Stored = append(e.Stored, i)
	case intake.NotStored:
		e.NotStored = append(e.NotStored, i)
	default:
		e.Unknown = append(e.Unknown, i)
	}
}

func (e *EnqueueError) Error() string { return excerpt.Cut(e.text()) }

func (e *EnqueueError) text() string {
	job := "the job"
	if e.job != "" {
		job = "job " + excerpt.Brief(e.job)
	}
	switch total := len(e.Stored) + len(e.NotStored) + len(e.Unknown); {
	case total > 1:
		return fmt.Sprintf("%s: %v", e.counts(total), e.Err)
	case len(e.Stored) == 1:
		return fmt.Sprintf("%s is stored, but: %v", job, e.Err)
	case len(e.Unknown) == 1:
		return fmt.Sprintf("it is not known whether %s is stored%s: %v", job, e.doubt(), e.Err)
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
		parts = append(parts, fmt.Sprintf("%d %s unknown%s", n, isOrAre(n), e.doubt()))
	}
	return strings.Join(parts, ", ")
}

// doubt is why something is not known, where the cause does not say so.
func (e *EnqueueError) doubt() string {
	if errors.Is(e.Err, ErrLostInFailover) {
		return ""
	}
	return " (a reply was lost)"
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Unwrap returns the cause.
func (e *EnqueueError) Unwrap() error { return e.Err }
