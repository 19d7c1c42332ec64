package maintain_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/maintain"
)

// While much is due, those who move it leave at least half of the time to the others: each page is followed by a rest
// that is as long.
func TestWhatIsDueLeavesHalfOfRedisToOthers(t *testing.T) {
	t.Parallel()
	p := maintain.NewPace(time.Second)
	const pages, took = 10, 5 * time.Millisecond
	var busy time.Duration
	began := time.Now()
	var movers sync.WaitGroup
	for range 2 { // what is scheduled, and what is retried
		movers.Go(func() {
			for range pages {
				assert.NoError(t, p.Hold(t.Context(), func() (bool, error) {
					since := time.Now()
					backoff.Pause(t.Context(), took)
					busy += time.Since(since) // one at a time
					return true, nil
				}))
			}
		})
	}
	movers.Wait()
	assert.GreaterOrEqual(t, time.Since(began), busy*19/10)
}

func TestWhatIsDueIsNotHeldUpForNothing(t *testing.T) {
	t.Parallel()
	p := maintain.NewPace(time.Hour)
	failed := errors.New("no luck")
	ctx, cancel := context.WithCancel(t.Context())
	for _, row := range []struct {
		moved bool
		err   error
	}{{false, nil}, {true, failed}} {
		require.ErrorIs(t, p.Hold(ctx, func() (bool, error) { return row.moved, row.err }), row.err)
	}
	cancel()
	require.NoError(t, p.Hold(ctx, func() (bool, error) { return true, nil }), "a stop ends the rest")
	bounded := maintain.NewPace(time.Millisecond)
	began := time.Now()
	var busy time.Duration
	require.NoError(t, bounded.Hold(t.Context(), func() (bool, error) {
		backoff.Pause(t.Context(), 200*time.Millisecond)
		busy = time.Since(began)
		return true, nil
	}))
	assert.Less(t, time.Since(began)-busy, busy, "a slow Redis does not make what is due later and later")
}
