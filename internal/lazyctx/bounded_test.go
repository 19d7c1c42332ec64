package lazyctx_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/lazyctx"
)

type told chan struct{}

func (t told) Ended() { close(t) }

func newBounded(parent context.Context) *lazyctx.Bounded {
	return &lazyctx.Bounded{Parent: parent, Until: time.Now().Add(time.Hour), Cause: func() error { return errCause }}
}

func TestABoundedContextEndsAtItsTime(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"nobody asked before": false, "somebody did": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBounded(t.Context())
				defer b.End()
				if asked {
					b.Done()
				}
				until, has := b.Deadline()
				require.True(t, has)
				assert.Equal(t, b.Until, until)
				time.Sleep(time.Hour - 1)
				require.NoError(t, b.Err())
				time.Sleep(time.Microsecond)
				synctest.Wait()
				require.ErrorIs(t, b.Err(), context.DeadlineExceeded)
				require.ErrorIs(t, context.Cause(b), errCause)
				closed(t, b.Done())
			})
		})
	}
}

func TestABoundedContextEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "of the parent"))
	b, watch := newBounded(parent), make(told)
	b.Watch(watch)
	assert.Equal(t, "of the parent", b.Value(key{}))
	end(errCause)
	closed(t, watch)
	assert.False(t, b.Unwatch(), "it was told")
	require.ErrorIs(t, b.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(b), errCause)

	early, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	until, _ := newBounded(early).Deadline()
	wanted, _ := early.Deadline()
	assert.Equal(t, wanted, until)
}

func TestABoundedContextIsEnded(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"nobody asked before": false, "somebody did": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, watch := newBounded(context.Background()), make(told)
			if asked {
				b.Done()
			}
			b.Watch(watch)
			b.End()
			closed(t, watch)
			assert.False(t, b.Unwatch())
			closed(t, b.Done())
			require.ErrorIs(t, context.Cause(b), context.Canceled)
			late := make(told)
			b.Watch(late)
			closed(t, late)
		})
	}
}

func TestWhoHasStoppedWatchingIsNotTold(t *testing.T) {
	t.Parallel()
	parent, end := context.WithCancel(t.Context())
	b, watch := newBounded(parent), make(told)
	b.Watch(watch)
	require.True(t, b.Unwatch())
	end()
	b.End()
	select {
	case <-watch:
		t.Error("it was told")
	default:
	}
	require.ErrorIs(t, b.Err(), context.Canceled)
}
