package work

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/intake"
)

func TestEnqueueErrorCountsItsJobs(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for want, e := range map[string]EnqueueError{
		"2 of 3 jobs are stored, 1 is unknown (a reply was lost): cause": {Stored: []int{0, 2},
			Unknown: []int{1}},
		"1 of 4 jobs is stored, 1 is not, 2 are unknown (a reply was lost): cause": {Stored: []int{0},
			NotStored: []int{1}, Unknown: []int{2, 3}},
		"0 of 2 jobs are stored, 2 are unknown (a reply was lost): cause": {Unknown: []int{0, 1}},
		"1 of 3 jobs is stored, 2 are not: cause": {Stored: []int{0},
			NotStored: []int{1, 2}},
		"none of 2 jobs is stored: cause":                                          {NotStored: []int{0, 1}},
		"the job is not stored: cause":                                             {NotStored: []int{0}},
		"it is not known whether the job is stored (a reply was lost): cause":      {Unknown: []int{0}},
		`job "a" is not stored: cause`:                                             {NotStored: []int{0}, job: "a"},
		`it is not known whether job "a" is stored (a reply was lost): cause`:      {Unknown: []int{0}, job: "a"},
		`it is not known whether job "\xff\n" is stored (a reply was lost): cause`: {Unknown: []int{0}, job: "\xff\n"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			e.Err = cause
			assert.EqualError(t, &e, want)
			assert.ErrorIs(t, &e, cause)
		})
	}
}

func TestLostIDsAreBounded(t *testing.T) {
	t.Parallel()
	told := dataLost(intake.Loss{IDs: make([]string, event.MaxLostIDs+7), Flows: make([]string, event.MaxLostIDs+8)})
	assert.Len(t, told.Enqueued, event.MaxLostIDs)
	assert.Equal(t, 7, told.EnqueuedMore)
	assert.Len(t, told.Flows, event.MaxLostIDs)
	assert.Equal(t, 8, told.FlowsMore)
}
