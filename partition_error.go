package work

import (
	"errors"

	"github.com/265d0351/work/internal/partition"
)

// PartitionError says which partition of the namespace an error is about, where it has several: one that is away, for
// instance. What is bound to it (jobs of a name with a limit, with [Unique], [Once] or an [ID] of their own) cannot be
// stored meanwhile; other jobs go elsewhere. See docs/scale.md.
type PartitionError struct {
	Partition int // its number, from 0 on
	Err       error
}

func (e *PartitionError) Error() string { return (*partition.Error)(e).Error() }

// Unwrap returns what went wrong there.
func (e *PartitionError) Unwrap() error { return e.Err }

// asPartition is an error as programs may test for it: one that is about a partition has a *PartitionError. Its text
// stays.
func asPartition(err error) error {
	if err == nil {
		return nil
	}
	var found *partition.Error
	if !errors.As(err, &found) {
		return err
	}
	public := (*PartitionError)(found)
	if err == error(found) {
		return public
	}
	return &partitionWithin{err, public}
}

// partitionWithin is an error with a *PartitionError somewhere below it.
type partitionWithin struct {
	error
	partition *PartitionError
}

// Unwrap returns both, so that errors.Is and errors.As find all that they found before.
func (e *partitionWithin) Unwrap() []error { return []error{e.error, e.partition} }
