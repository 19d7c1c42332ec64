package work

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newRunContext() (*runContext, context.CancelCauseFunc) {
	parent, cancel := context.WithCancelCause(context.Background())
	return &runContext{parent: parent, labels: context.Background(), job: &Job{ID: "1"}}, cancel
}

func TestARunContextKeepsItsCauseThoughNobodyAskedBefore(t *testing.T) {
	t.Parallel()
	c, cancel := newRunContext()
	defer cancel(nil)
	require.NoError(t, c.Err())
	c.end(ErrCancelled)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(c), ErrCancelled)
	receive(t, c.Done())
}

func TestARunContextEndsWithItsAttemptAndWithItsParent(t *testing.T) {
	t.Parallel()
	over, cancel := newRunContext()
	defer cancel(nil)
	over.end(nil)
	require.ErrorIs(t, over.Err(), context.Canceled)
	receive(t, over.Done())

	asked, end := newRunContext()
	child, stop := context.WithTimeout(asked, time.Hour)
	defer stop()
	end(ErrShutdown)
	receive(t, child.Done())
	require.ErrorIs(t, context.Cause(child), ErrShutdown)
	assert.Equal(t, "1", JobFromContext(child).ID)
}

func TestARunContextThatNobodyAsksIsThatOfItsParent(t *testing.T) {
	t.Parallel()
	c, end := newRunContext()
	end(ErrFenced)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(c), ErrFenced)
}
