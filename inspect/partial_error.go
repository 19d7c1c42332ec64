package inspect

import (
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
)

// PartialError says that some partitions of the namespace could not be asked. What the others have said is returned
// beside it, and is right but for what these have: counts are too low by that, lists lack it. A control that is for
// all partitions was carried out in the others; it can be repeated. Where none could be asked the error is another one.
// A pause and its end need not be repeated: see Later.
type PartialError struct {
	Asked   int                // how many partitions were asked
	Missing []MissingPartition // those that did not answer, by their numbers
	// the others tell them when they are back, as long as workers run there: what was asked is completed by itself
	Later bool
}

// MissingPartition is a partition that could not be asked.
type MissingPartition struct {
	Partition int   // its number, from 0
	Err       error // why
}

func (e *PartialError) Error() string { return excerpt.Cut(e.text()) }

func (e *PartialError) text() string {
	words := make([]string, len(e.Missing))
	for n, missing := range e.Missing {
		words[n] = fmt.Sprintf("partition %d: %v", missing.Partition, missing.Err)
	}
	then := ""
	if e.Later {
		then = "; they are told when they are back"
	}
	return fmt.Sprintf("only %d of %d partitions have answered%s: %s", e.Asked-len(e.Missing), e.Asked, then,
		strings.Join(words, "; "))
}

// Unwrap returns what came in the way, of each partition.
func (e *PartialError) Unwrap() []error {
	errs := make([]error, len(e.Missing))
	for n := range e.Missing {
		errs[n] = e.Missing[n].Err
	}
	return errs
}
