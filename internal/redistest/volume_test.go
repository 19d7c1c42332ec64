package redistest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/embedded"
)

// Each run but the short one under the race detector has all of it.
func TestOnlyTheShortRaceTakesFew(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3, 4, 5}
	if RaceDetector && testing.Short() {
		assert.Equal(t, 2, Volume(9, 2))
		assert.Equal(t, []int{0, 4}, Some(all))
		return
	}
	assert.Equal(t, 9, Volume(9, 2))
	assert.Equal(t, all, Some(all))
	assert.Equal(t, all, SomeOn(Server{}, all))
	few := []int{0, 4}
	if RaceDetector {
		few = all
	}
	assert.Equal(t, few, SomeOn(Server{clock: &embedded.Server{}}, all))
	SkipInShortRace(t, "it is another run")
}
