package jobnames_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/jobnames"
	"github.com/265d0351/work/internal/redisconn"
)

// library is a store that notes what it is asked for.
type library struct {
	mu     sync.Mutex
	served []string
	asked  [][]string
	listed int
	err    error
}

func (l *library) NeverServed(_ context.Context, names []string) (never []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, slices.Clone(names))
	for _, name := range names {
		if !slices.Contains(l.served, name) {
			never = append(never, name)
		}
	}
	return never, l.err
}

func (l *library) LastServed(context.Context, int) ([]string, error) {
	l.listed++
	return slices.Clone(l.served), l.err
}

func once(ctx context.Context, step func(context.Context) error) error { return step(ctx) }

func TestYesIsRememberedForGoodAndNoForAFewSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &library{served: []string{"a", "b"}}
		rule := jobnames.OfEnqueuer([]string{"given"}, jobnames.NewServed(l, once))
		check := func(names ...string) error { _, err := rule.Check(t.Context(), names...); return err }
		require.NoError(t, check("b", "a", "b", "given"))
		require.NoError(t, check("a", "b"))
		assert.Equal(t, [][]string{{"a", "b"}}, l.asked, "each once, in one call")

		at, err := rule.Check(t.Context(), "a", "late", "later")
		require.ErrorContains(t, err, `job "late" is one that no worker has served`)
		assert.Equal(t, 1, at)
		l.served = append(l.served, "late", "later")
		time.Sleep(jobnames.Again - 1)
		require.Error(t, check("late"))
		assert.Len(t, l.asked, 2)
		assert.Equal(t, 1, l.listed, "the list for the error is not read each time")
		time.Sleep(time.Nanosecond)
		require.NoError(t, check("late", "later"))
		assert.Equal(t, []string{"late", "later"}, l.asked[2])

		l.served = nil
		time.Sleep(365 * 24 * time.Hour)
		require.NoError(t, check("a", "b", "late"))
		assert.Len(t, l.asked, 3)
	})
}

func TestWhatRedisAnswersDecidesOnlyWhereItTells(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ err, want error }{
		"a refusal": {&redisconn.ServerError{Code: "NOPERM", Message: "NOPERM no"}, nil},
		"no answer": {context.DeadlineExceeded, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &library{err: row.err}
			rule := jobnames.OfEnqueuer(nil, jobnames.NewServed(l, once))
			for range 2 {
				_, err := rule.Check(t.Context(), "a")
				assert.ErrorIs(t, err, row.want)
			}
			assert.Len(t, l.asked, 2, "it is not remembered")
		})
	}
	l := &library{}
	rule := jobnames.OfEnqueuer(nil, jobnames.NewServed(l, func(ctx context.Context,
		step func(context.Context) error) error {
		return errors.Join(step(ctx), step(ctx)) // a reply was lost
	}))
	_, err := rule.Check(t.Context(), "a")
	assert.ErrorContains(t, err, "no worker has served")
}

func TestMillionsOfNamesAreNotKept(t *testing.T) {
	t.Parallel()
	l := &library{}
	served := jobnames.NewServed(l, once)
	rule := jobnames.OfEnqueuer(nil, served)
	for i := range 50 {
		names := make([]string, 1000)
		for j := range names {
			names[j] = fmt.Sprint("n", i*1000+j)
		}
		_, err := rule.Check(t.Context(), names...)
		require.Error(t, err)
	}
	assert.LessOrEqual(t, served.Kept(), 11_000)
}

func TestManyMayAskAtATime(t *testing.T) {
	t.Parallel()
	l := &library{served: []string{"a"}}
	rule := jobnames.OfEnqueuer(nil, jobnames.NewServed(l, once))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			_, err := rule.Check(t.Context(), "a")
			assert.NoError(t, err)
		})
	}
	all.Wait()
}
