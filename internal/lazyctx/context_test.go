package lazyctx_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/lazyctx"
)

type key struct{}

var errCause = errors.New("the cause")

func newContext() (*lazyctx.Context, context.CancelCauseFunc) {
	parent, cancel := context.WithCancelCause(context.Background())
	return &lazyctx.Context{Parent: parent, Labels: context.Background(), Key: key{}, Own: "job"}, cancel
}

// closed checks that a channel is closed, or will be at once.
func closed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the ctx has not ended")
	}
}

func TestAContextKeepsItsCauseThoughNobodyAskedBefore(t *testing.T) {
	t.Parallel()
	c, cancel := newContext()
	defer cancel(nil)
	require.NoError(t, c.Err())
	c.End(errCause)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(c), errCause)
	closed(t, c.Done())
}

func TestAContextEndsWithItsAttemptAndWithItsParent(t *testing.T) {
	t.Parallel()
	over, cancel := newContext()
	defer cancel(nil)
	over.End(nil)
	require.ErrorIs(t, over.Err(), context.Canceled)
	closed(t, over.Done())

	asked, end := newContext()
	child, stop := context.WithTimeout(asked, time.Hour)
	defer stop()
	end(errCause)
	closed(t, child.Done())
	require.ErrorIs(t, context.Cause(child), errCause)
	assert.Equal(t, "job", child.Value(key{}))
}

func TestAContextThatNobodyAsksIsThatOfItsParent(t *testing.T) {
	t.Parallel()
	c, end := newContext()
	end(errCause)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(c), errCause)
}

// gate ends the parent when it is asked, as the one of a process that was paused does.
type gate struct{ fall func() }

func (g gate) IsDown() bool { g.fall(); return true }

func TestAContextAsksItsGateFirst(t *testing.T) {
	t.Parallel()
	c, end := newContext()
	c.Gate = gate{func() { end(errCause) }}
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(c), errCause)
}

func TestLabelsGoBeforeTheParent(t *testing.T) {
	t.Parallel()
	type label struct{}
	type other struct{}
	c, cancel := newContext()
	defer cancel(nil)
	c.Parent = context.WithValue(context.WithValue(c.Parent, label{}, "of the parent"), other{}, "another")
	c.Labels = context.WithValue(context.Background(), label{}, "of the labels")
	assert.Equal(t, "of the labels", c.Value(label{}))
	assert.Equal(t, "another", c.Value(other{}))
	assert.Nil(t, c.Value("unknown"))
}
