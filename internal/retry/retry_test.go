package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

var (
	errFinal = errors.New("of no use")
	errLater = errors.New("the visitor left")
	loading  = &redisconn.ServerError{Code: "LOADING", Message: "LOADING something"}
	wrong    = &redisconn.ServerError{Code: "WRONGPASS", Message: "WRONGPASS something"}
	noPerm   = &redisconn.ServerError{Code: "NOPERM", Message: "NOPERM something"}
	unheard  = &redisconn.ServerError{Code: "ERR", Message: "ERR the moon is in the way"}
	full     = &redisconn.ServerError{Code: "OOM", Message: "OOM something"}
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err             error
		mayCount, again bool
		full            bool
	}{
		"lost":     {err: io.EOF, mayCount: true, again: true},
		"loading":  {err: loading, again: true},
		"no right": {err: noPerm, again: true},
		"no user":  {err: wrong},
		"unknown":  {err: unheard, mayCount: true, again: true},
		"full":     {err: full, full: true},
		"not sent": {err: &redisconn.DialError{Addr: "a", Err: io.EOF}, again: true},
		"strange":  {err: &redisconn.UnexpectedReplyError{Script: "enqueue", Reply: "hello"}, mayCount: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := retry.Classify(row.err)
			assert.Equal(t, row.mayCount, class.MayCount)
			assert.Equal(t, row.again, class.Again)
			require.ErrorIs(t, class.Err, row.err)
			assert.Equal(t, row.full, errors.Is(class.Err, retry.ErrFull))
		})
	}
}

func TestJoinCause(t *testing.T) {
	t.Parallel()
	assert.Equal(t, errLater, retry.JoinCause(errLater, nil))
	within := fmt.Errorf("sent: %w", errLater)
	assert.Equal(t, within, retry.JoinCause(errLater, within), "it is said already")
	both := retry.JoinCause(errLater, loading)
	assert.EqualError(t, both, "the visitor left: LOADING something")
	require.ErrorIs(t, both, errLater)
	assert.ErrorIs(t, both, loading)
}

func TestUntilAnswered(t *testing.T) {
	t.Parallel()
	steps := retry.Steps{
		Panicked: func(value any) error {
			assert.Contains(t, string(debug.Stack()), "TestUntilAnswered")
			return fmt.Errorf("panic: %v", value)
		},
		Final: func(err error) bool { return errors.Is(err, errFinal) },
	}
	for name, row := range map[string]struct {
		errs  []error // of the attempts; after the last one it is answered
		panic bool    // of the first attempt
		want  string
		tries int
	}{
		"answered":        {tries: 1},
		"after a while":   {errs: []error{loading, io.EOF, loading}, tries: 4},
		"refused":         {errs: []error{loading, noPerm, unheard, wrong}, want: "WRONGPASS something", tries: 4},
		"final":           {errs: []error{io.EOF, errFinal}, want: "of no use", tries: 2},
		"full":            {errs: []error{full}, want: retry.ErrFull.Error() + ": OOM something", tries: 1},
		"a panic":         {panic: true, want: "panic: oh", tries: 1},
		"never, for long": {errs: make([]error, 1000), want: "the visitor left: LOADING something"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLater)
				defer cancel()
				tries := 0
				err := steps.UntilAnswered(ctx, func(context.Context) error {
					tries++
					switch {
					case row.panic:
						panic("oh")
					case tries > len(row.errs):
						return nil
					case row.errs[tries-1] == nil:
						return loading
					}
					return row.errs[tries-1]
				})
				if row.want == "" {
					require.NoError(t, err)
				} else {
					assert.EqualError(t, err, row.want)
				}
				if row.tries > 0 {
					assert.Equal(t, row.tries, tries)
				}
			})
		})
	}
}

// TestUntilAnsweredTellsWhatWasWrongBefore: the last attempt ends with the time, and knows nothing of why.
func TestUntilAnsweredTellsWhatWasWrongBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	steps := retry.Steps{Final: func(err error) bool { return !errors.Is(err, loading) }}
	tries := 0
	err := steps.UntilAnswered(ctx, func(ctx context.Context) error {
		if tries++; tries == 1 {
			return loading
		}
		cancel(errLater)
		return fmt.Errorf("cannot connect: %w", ctx.Err())
	})
	require.EqualError(t, err, "the visitor left: LOADING something")
	require.ErrorIs(t, err, loading)
}

func TestAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct{ failures, tries int }{{0, 1}, {2, 3}, {4, 5}, {9, 5}} {
			tries := 0
			err := retry.AtMost(t.Context(), 5, func(context.Context) error {
				if tries++; tries <= row.failures {
					return loading
				}
				return nil
			})
			assert.Equal(t, row.tries, tries)
			assert.Equal(t, row.failures >= 5, err != nil)
		}
		tries := 0
		require.ErrorIs(t, retry.AtMost(t.Context(), 5, func(context.Context) error { tries++; return wrong }), wrong)
		assert.Equal(t, 1, tries)
	})
}

// A caller with errors of its own says what they mean, and is told of each attempt's.
func TestStepsWithAClassOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []error
		steps := retry.Steps{Classify: func(err error) retry.Class {
			seen = append(seen, err)
			return retry.Class{Err: fmt.Errorf("own: %w", err), Again: !errors.Is(err, io.EOF)}
		}}
		errs := []error{noPerm, full, io.EOF, nil}
		err := steps.UntilAnswered(t.Context(), func(context.Context) error {
			err := errs[0]
			errs = errs[1:]
			return err
		})
		assert.EqualError(t, err, "own: EOF")
		assert.Equal(t, []error{noPerm, full, io.EOF}, seen)
	})
	assert.PanicsWithValue(t, "oh", func() {
		_ = retry.Steps{}.UntilAnswered(t.Context(), func(context.Context) error { panic("oh") })
	})
}
