package requeue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/requeue"
)

// place is the n-th job that one worker has fetched.
func place(n int64) requeue.Place {
	return requeue.Place{ID: fmt.Sprint(n), Worker: "w", Number: n, Order: n}
}

func TestOlderJobsAreNamed(t *testing.T) {
	t.Parallel()
	o := requeue.NewOrder(0)
	assert.Empty(t, o.Note("q", []requeue.Place{place(2), place(4)}))
	assert.Empty(t, o.Note("other", []requeue.Place{place(9)}), "each queue is by itself")
	assert.Equal(t, []rdb.Older{{ID: "2", Before: 1}, {ID: "4", Before: 2}},
		o.Note("q", []requeue.Place{place(3), place(5)}), "2 goes before the first of these, 4 before the second")
	assert.Empty(t, o.Note("q", []requeue.Place{place(1)}))
	assert.Equal(t, []rdb.Older{{ID: "1", Before: 1}, {ID: "2", Before: 1}, {ID: "3", Before: 1}},
		o.Note("q", []requeue.Place{place(4)}), "what came back again stands where it is put now")
}

func TestJobsOfSeveralWorkersGoByWhenTheyWereFetched(t *testing.T) {
	t.Parallel()
	now := time.Now()
	of := func(worker string, at time.Time, number, order int64) requeue.Place {
		return requeue.Place{ID: worker + fmt.Sprint(order), Worker: worker, Fetched: at, Number: number, Order: order}
	}
	first, second, third := of("b", now, 1, 7), of("a", now, 2, 1), of("b", now.Add(time.Millisecond), 1, 8)
	o := requeue.NewOrder(0)
	o.Note("q", []requeue.Place{first})
	o.Note("q", []requeue.Place{second})
	assert.Equal(t, []rdb.Older{{ID: "b7", Before: 1}, {ID: "a1", Before: 1}}, o.Note("q", []requeue.Place{third}))
}

func TestWhatWasGivenBackIsForgottenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := requeue.NewOrder(30 * time.Second)
		o.Note("q", []requeue.Place{place(1)})
		elapse(90 * time.Second)
		assert.Len(t, o.Note("q", []requeue.Place{place(5)}), 1)
		elapse(time.Second)
		assert.Equal(t, []rdb.Older{{ID: "5", Before: 1}}, o.Note("q", []requeue.Place{place(6)}))
	})
}

func TestAllThatIsOlderIsNamedHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	o := requeue.NewOrder(0)
	const many = rdb.MaxOlder + 20
	for n := range int64(many) {
		o.Note("q", []requeue.Place{place(n)})
	}
	older := o.Note("q", []requeue.Place{place(many)})
	require.Len(t, older, many)
	assert.Equal(t, rdb.Older{ID: "0", Before: 1}, older[0])
}

func TestOneGivesBackToAQueueAtATime(t *testing.T) {
	t.Parallel()
	o := requeue.NewOrder(0)
	end, err := o.Begin(t.Context(), "b", "a", "b")
	require.NoError(t, err)
	other, err := o.Begin(t.Context(), "c")
	require.NoError(t, err, "each queue is by itself")
	other()
	errLate := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errLate)
	for _, queues := range [][]string{{"a"}, {"b"}, {"c", "b"}, {"b", "a"}} {
		_, err = o.Begin(ctx, queues...)
		require.ErrorIs(t, err, errLate)
	}
	end()
	end, err = o.Begin(t.Context(), "a", "b", "c")
	require.NoError(t, err, "whoever was too late has left all of them")
	end()
}

func TestNobodyWaitsForATurnInAHurry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := requeue.NewOrder(0)
		end, err := o.Begin(t.Context(), "a")
		require.NoError(t, err)
		begun := make(chan func())
		go func() {
			late, err := o.Begin(t.Context(), "a", "b")
			assert.NoError(t, err)
			begun <- late
		}()
		synctest.Wait()
		select {
		case <-begun:
			assert.Fail(t, "it is not its turn")
		default:
		}
		o.Hurry()
		late := <-begun
		again, err := o.Begin(t.Context(), "a")
		require.NoError(t, err)
		again()
		late()
		end()
		end, err = o.Begin(t.Context(), "a", "b")
		require.NoError(t, err)
		end()
	})
}

// elapse lets time pass in a bubble of synctest, where nobody waits for it.
func elapse(d time.Duration) { <-time.After(d) }
