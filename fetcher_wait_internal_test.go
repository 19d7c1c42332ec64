package work

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/workgroup"
)

// What is fetched ahead is bounded by the processors, and by what a worker may hold.
func TestHowManyAreFetchedAheadAtTheMost(t *testing.T) {
	t.Parallel()
	for processors, want := range map[int]int{1: 12, 4: 48, 20: 240, 22: 256, 128: 256, 200: 184, 256: 128} {
		held := min(maxHeld, processors+max(processors, 64))
		w := &worker{concurrency: processors, slots: workgroup.NewSlots(processors, held)}
		assert.Equal(t, want, mostAhead(w), fmt.Sprint(processors))
		assert.LessOrEqual(t, held+want, maxHeld, fmt.Sprint(processors))
	}
}
