package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/waiting"
)

var errClosed = errors.New("closed")

// played is a Redis that knows which jobs have ended.
type played struct {
	redisconn.Driver

	mu        sync.Mutex
	ended     map[string]rdb.WaitState
	questions int
	fault     error
	held      chan struct{} // answers leave once it is closed; nil is at once
	panics    atomic.Bool
	deaf      chan struct{} // nothing is subscribed to until it is closed
	receive   func([]byte)  // of the subscription that stands
}

func newPlayed() *played {
	return &played{ended: map[string]rdb.WaitState{}, deaf: make(chan struct{})}
}

func (p *played) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	p.mu.Lock()
	held := p.held
	replies, err := p.answer(calls)
	p.mu.Unlock()
	if held != nil {
		<-held
	}
	if p.panics.Load() {
		panic("hostile")
	}
	return replies, err
}

// answer says what is known at this moment. mu is held.
func (p *played) answer(calls []redisconn.Call) ([]redisconn.Reply, error) {
	p.questions++
	if p.fault != nil {
		return nil, p.fault
	}
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		var answer []any
		for _, id := range call.Args[2:] {
			fate := p.ended[id.(string)]
			if fate == "" {
				fate = rdb.WaitPending
			}
			answer = append(answer, []byte(fate), []byte("kept of "+id.(string)))
		}
		replies[i].Value = answer
	}
	return replies, nil
}

func (p *played) Subscribe(ctx context.Context, _ string, ready func(), receive func([]byte)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.deaf:
	}
	p.mu.Lock()
	p.receive = receive
	p.mu.Unlock()
	ready()
	<-ctx.Done()
	p.mu.Lock()
	p.receive = nil
	p.mu.Unlock()
	return nil
}

func (p *played) listened() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.receive != nil
}

// end lets a job end, and tells so where somebody listens.
func (p *played) end(id string) {
	p.mu.Lock()
	p.ended[id] = rdb.WaitEnded
	receive := p.receive
	p.mu.Unlock()
	if receive != nil {
		receive([]byte(id))
	}
}

func (p *played) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.questions
}

// within runs a test in a bubble, which ends when all goroutines of the waiters have.
func within(t *testing.T, test func(t *testing.T, p *played, w *waiting.Waiters)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed()
		w := waiting.New(rdb.NewStore(p, "ns"), errClosed, func(v any) error { return fmt.Errorf("panic: %v", v) })
		test(t, p, w)
	})
}

// waits begins to wait for one job; the result is there once it has ended.
func waits(ctx context.Context, w *waiting.Waiters, id string) <-chan waiting.End {
	ended := make(chan waiting.End, 1)
	go func() {
		err := w.Wait(ctx, []string{id}, func(end waiting.End) bool { ended <- end; return true })
		if err != nil {
			ended <- waiting.End{ID: id, Err: err}
		}
	}()
	synctest.Wait()
	return ended
}

func TestAnEndIsToldAsSoonAsItsIDComes(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		defer w.Close()
		close(p.deaf)
		began := time.Now()
		first, second := waits(t.Context(), w, "x"), waits(t.Context(), w, "x")
		other := waits(t.Context(), w, "y")
		assert.Equal(t, []int{2, 1, 0, 2}, []int{w.Callers("x"), w.Callers("y"), w.Callers("z"), w.Jobs()})
		p.end("x")
		want := waiting.End{ID: "x", Known: rdb.Awaited{State: rdb.WaitEnded, Kept: []byte("kept of x")}}
		assert.Equal(t, want, <-first)
		assert.Equal(t, want, <-second)
		assert.Zero(t, time.Since(began))
		assert.Empty(t, other)
		assert.Equal(t, 1, w.Jobs())
	})
}

// TestWhatIsMissedIsFound: by the recheck, where no subscription can be had, and once it stands.
func TestWhatIsMissedIsFound(t *testing.T) {
	t.Parallel()
	t.Run("by the recheck", func(t *testing.T) {
		t.Parallel()
		within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
			defer w.Close()
			ended := waits(t.Context(), w, "x")
			p.end("x")
			began := time.Now()
			assert.NoError(t, (<-ended).Err)
			assert.LessOrEqual(t, time.Since(began), w.Recheck)
		})
	})
	t.Run("once the subscription stands", func(t *testing.T) {
		t.Parallel()
		within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
			defer w.Close()
			w.Recheck = time.Hour
			ended := waits(t.Context(), w, "x")
			p.end("x")
			began := time.Now()
			close(p.deaf)
			assert.NoError(t, (<-ended).Err)
			assert.Zero(t, time.Since(began))
		})
	})
}

// TestManyCallersShareTheirQuestions: one when the first comes, one when the subscription stands, one for the id.
func TestManyCallersShareTheirQuestions(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		defer w.Close()
		close(p.deaf)
		var all []<-chan waiting.End
		for range 1000 {
			all = append(all, waits(t.Context(), w, "x"))
		}
		assert.Equal(t, 1000, w.Callers("x"))
		p.end("x")
		for _, ended := range all {
			require.NoError(t, (<-ended).Err)
		}
		assert.LessOrEqual(t, p.asked(), 3)
	})
}

func TestAWaitEndsWithItsCtxAndWithTheWaiters(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		ctx, cancel := context.WithCancelCause(t.Context())
		given, closed := waits(ctx, w, "x"), waits(t.Context(), w, "y")
		cancel(errors.New("enough"))
		assert.EqualError(t, (<-given).Err, `job "x" has not ended: enough`)
		assert.Equal(t, 1, w.Jobs(), "nothing is left of it")
		p.mu.Lock()
		p.fault = &redisconn.DialError{Addr: "nowhere", Err: errors.New("refused")}
		p.mu.Unlock()
		<-time.After(w.Recheck)
		synctest.Wait()
		w.Close()
		err := (<-closed).Err
		require.ErrorIs(t, err, errClosed)
		assert.ErrorContains(t, err, "refused", "and what was wrong until then")
		assert.ErrorIs(t, w.Wait(t.Context(), []string{"z"}, nil), errClosed)
	})
}

// TestWaitersRestWhenNobodyWaits: they have no goroutine then, else this would not end, and serve again whoever comes
// later.
func TestWaitersRestWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		close(p.deaf)
		p.ended["nobody"] = rdb.WaitGone
		for range 2 {
			before := p.asked()
			end := <-waits(t.Context(), w, "nobody")
			assert.Equal(t, rdb.WaitGone, end.Known.State)
			assert.Positive(t, p.asked()-before)
			assert.True(t, p.listened(), "somebody may come at once")
			<-time.After(3 * w.Recheck)
			synctest.Wait()
			assert.False(t, p.listened())
		}
	})
}

// TestWhoComesWhileRedisAnswersIsToldWhatIsTrueThen: a job that was not there when others asked may be by now.
func TestWhoComesWhileRedisAnswersIsToldWhatIsTrueThen(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		defer w.Close()
		close(p.deaf)
		p.ended["x"], p.held = rdb.WaitGone, make(chan struct{})
		first := waits(t.Context(), w, "x")
		p.mu.Lock()
		p.ended["x"] = rdb.WaitPending // it is enqueued
		p.mu.Unlock()
		second := waits(t.Context(), w, "x")
		close(p.held)
		assert.Equal(t, rdb.WaitGone, (<-first).Known.State)
		synctest.Wait()
		assert.Empty(t, second)
		assert.Equal(t, 1, w.Callers("x"))
		p.end("x")
		assert.Equal(t, rdb.WaitEnded, (<-second).Known.State)
	})
}

// TestAPanicEndsAllWaits: nobody would serve them.
func TestAPanicEndsAllWaits(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, p *played, w *waiting.Waiters) {
		defer w.Close()
		first := waits(t.Context(), w, "x")
		p.panics.Store(true)
		p.held = make(chan struct{})
		second, since := waits(t.Context(), w, "y"), waits(t.Context(), w, "y")
		close(p.held)
		for _, ended := range []<-chan waiting.End{first, second, since} {
			assert.EqualError(t, (<-ended).Err, "panic: hostile")
		}
		p.panics.Store(false)
		p.end("x")
		assert.NoError(t, (<-waits(t.Context(), w, "x")).Err, "whoever comes later is served")
	})
}
