package scenario

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/peer"
)

func TestALedgerNotesWhenTheMarksWereReached(t *testing.T) {
	t.Parallel()
	l := newLedger(3, 2, 3)
	l.book(peer.Args{ID: 2})
	l.book(peer.Args{ID: 0})
	before := time.Now()
	l.book(peer.Args{ID: 1})
	require.NoError(t, l.wait(t.Context()))
	require.NoError(t, l.check())
	assert.False(t, l.markedAt(0).Before(l.first()))
	assert.False(t, l.markedAt(0).After(before))
	assert.False(t, l.markedAt(1).Before(before))
}

func TestALedgerWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, newLedger(1).wait(ctx), context.Canceled)
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := make([]time.Duration, 100)
	for i := range values {
		values[i] = time.Duration(i)
	}
	assert.EqualValues(t, 50, quantile(values, 0.5))
	assert.EqualValues(t, 99, quantile(values, 0.99))
	assert.EqualValues(t, 99, quantile(values, 1))
	assert.Zero(t, quantile(nil, 0.5))
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, grouped(n))
	}
}
