package work_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// kit is what tests outside of the package share.
type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

// Tests beside the package do not see what it bounds, nor the errors that it does not export, so their kit says it
// again.
func TestTheKitKnowsTheBounds(t *testing.T) {
	t.Parallel()
	assert.Equal(t, work.MaxPerWorker, pooltest.MaxPerWorker)
	assert.Equal(t, work.MaxResultBytes, pooltest.MaxResultBytes)
	assert.Equal(t, work.DrainInterval, enginetest.DrainInterval)
	assert.Equal(t, work.LookInterval, enginetest.LookInterval)
	assert.Equal(t, work.DoubtFor, enginetest.DoubtFor)
	assert.Equal(t, work.FleetOf, enginetest.FleetOf)
	for text, err := range map[string]error{
		enginetest.FencedMeanwhile: work.ErrFencedMeanwhile, enginetest.HookLate: work.ErrHookLate,
		enginetest.ListedWrongly: work.ErrListed, enginetest.NextCalledTwice: work.NextCalledTwice,
		enginetest.NextEntries: work.NextEntries, enginetest.NextNilContext: work.NextNilContext,
		enginetest.NextNotCalled: work.NextNotCalled, enginetest.NextTooLate: work.NextTooLate,
		enginetest.NextUnfinished: work.NextUnfinished,
	} {
		assert.EqualError(t, err, text)
	}
}
