package crash_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/crash"
)

func TestOneSuspectAtATimeIsInQuarantine(t *testing.T) {
	t.Parallel()
	type run struct{ id string }
	first, second := &run{"first"}, &run{"second"}
	var q crash.Quarantine[run]
	q.Leave(first)
	assert.True(t, q.Enter(first))
	assert.False(t, q.Enter(second))
	q.Leave(second)
	assert.False(t, q.Enter(second), "only the one within can leave")
	q.Leave(first)
	assert.True(t, q.Enter(second))
}

func TestASuspectWaitsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for range 1000 {
		wait := crash.Wait()
		assert.GreaterOrEqual(t, wait, crash.MinWait)
		assert.Less(t, wait, crash.MaxWait)
	}
}
