package span_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/span"
)

func TestDurationsOfAllSizes(t *testing.T) {
	t.Parallel()
	const most = int64(span.Longest / time.Millisecond)
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, span.Longest + 1, span.Longest} {
		assert.Equal(t, span.Longest, span.Capped(d))
		assert.Equal(t, most, span.Millis(d))
		assert.Equal(t, -span.Longest, span.Capped(-d))
	}
	assert.Equal(t, -span.Longest, span.Capped(math.MinInt64))
	assert.EqualValues(t, 1, span.Millis(1))
	assert.EqualValues(t, 0, span.Millis(0))
	assert.EqualValues(t, 1500, span.Millis(1500*time.Millisecond))
	assert.Equal(t, span.Longest, span.FromMillis(math.MaxInt64))
	assert.Equal(t, -span.Longest, span.FromMillis(math.MinInt64))
	assert.Equal(t, 1500*time.Millisecond, span.FromMillis(1500))
}
