package worktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

type areaArgs struct {
	Width, Height int
}

var (
	areaKind   = work.DefineResult[areaArgs, int]("area")
	remindKind = work.Define[areaArgs]("remind", work.JobOptions{StrictArgs: true})
)

// Area reminds of large ones.
func (a *app) Area(ctx context.Context, args areaArgs) (int, error) {
	area := args.Width * args.Height
	if area < 0 {
		return 0, work.Bury(errLuck)
	}
	_, err := remindKind.EnqueueIn(ctx, work.EnqueuerFromContext(ctx), time.Hour, args)
	return area, err
}

// kindPool has the middleware of the other tests around its kinds.
func kindPool() *work.WorkerPool {
	pool := work.HandleResult(unreachable(), areaKind, (*app).Area)
	return work.HandleFunc(pool, remindKind, func(context.Context, areaArgs) error { return nil })
}

func TestRunKindReturnsTheResult(t *testing.T) {
	t.Parallel()
	area, outcome := RunKind(t, kindPool(), areaKind, areaArgs{6, 7})
	require.NoError(t, outcome.Err)
	assert.Equal(t, 42, area)
	want := WantKind(remindKind, areaArgs{6, 7})
	want.In = time.Hour
	AssertWanted(t, outcome, want)

	area, outcome = RunKind(t, kindPool(), areaKind, areaArgs{6, -7})
	assert.Equal(t, work.EndingBury, outcome.Ending)
	assert.True(t, errors.Is(outcome.Err, errLuck))
	assert.Zero(t, area)
	AssertNoneEnqueued(t, outcome)

	_, outcome = RunKind(t, kindPool(), remindKind, areaArgs{6, 7})
	assert.Equal(t, work.EndingDone, outcome.Ending)
}

// TestWantKindLooksAtTheArgs: what differs in a field is not what was wanted.
func TestWantKindLooksAtTheArgs(t *testing.T) {
	t.Parallel()
	r := New(t)
	_, err := remindKind.Enqueue(t.Context(), r.Enqueuer(t), areaArgs{6, 7}, work.Source(5))
	require.NoError(t, err)
	want := WantKind(remindKind, areaArgs{6, 7})
	want.Source, want.Times = 5, 1
	AssertWanted(t, r, want)
	assert.Contains(t, failing(t, func(t testing.TB) { AssertWanted(t, r, WantKind(remindKind, areaArgs{6, 8})) }),
		"its args differ")
}
