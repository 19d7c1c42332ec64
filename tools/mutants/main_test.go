package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, wrong := range [][]string{{"-only", "("}, {"complete-any"}} {
		_, err := parse(wrong)
		assert.Error(t, err, wrong)
	}
	few, err := parse([]string{"-quick"})
	require.NoError(t, err)
	quick := few.choose(all())
	assert.GreaterOrEqual(t, len(quick), 5)
	assert.Less(t, len(quick), 12)
	some, err := parse([]string{"-only", "^complete-"})
	require.NoError(t, err)
	assert.Len(t, some.choose(all()), 8)
	whole, err := parse(nil)
	require.NoError(t, err)
	assert.Len(t, whole.choose(all()), len(all()))
}

func TestAMutantThatNothingSawFailsTheRun(t *testing.T) {
	t.Parallel()
	results := []result{
		{mutant{Name: "complete-any"}, nil, time.Second},
		{mutant{Name: "enqueue-again"}, []string{"TestX"}, time.Second},
	}
	require.ErrorContains(t, survivors(results), "no test saw complete-any")
	require.NoError(t, survivors(results[1:]))
}
