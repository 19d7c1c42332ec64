package subscription_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/subscription"
)

// jobs puts a job into each of these queues: only then is a token worth to be passed on.
func (k *kit) jobs(queues ...string) {
	for _, name := range queues {
		k.do("RPUSH", "queue:"+name, "job")
	}
}

func TestATokenIsTheFetchersOnlyWhileItIsThere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "n")
		ended := k.wait(soon)
		k.jobs("n")
		k.do("LPUSH", "wake:n", "1")
		assert.Equal(t, woken{"n", subscription.ByToken}, <-ended)
		assert.Zero(t, k.length("wake:n"))

		assert.Equal(t, woken{"", subscription.ByTime}, <-k.wait(time.Millisecond), "it is a debt of one")
		k.do("LPUSH", "wake:n", "1") // the wait goes on while the fetcher is away
		require.Eventually(t, func() bool { return k.length("wake:n") == 1 }, soon, time.Millisecond, "others have it")
		assert.Equal(t, woken{"n", subscription.ByToken}, <-k.wait(soon), "as this one may")
	})
}

func TestAWaitThatIsCutEndsAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "n")
		assert.Equal(t, woken{"", subscription.ByTime}, <-k.wait(time.Millisecond))
		begun := time.Now()
		k.Close()
		assert.Less(t, time.Since(begun), 30*time.Second, "it does not go on to its end")
		k.jobs("n")
		k.do("LPUSH", "wake:n", "1")
		assert.Equal(t, 1, k.length("wake:n"), "it takes nothing any more")
		assert.Equal(t, woken{"n", subscription.ByToken}, <-k.wait(soon), "until it begins anew")
	})
}

func TestAWaitLooksUpForOtherReasons(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "n")
		k.wakeup <- struct{}{}
		assert.Equal(t, woken{"", subscription.ByWakeup}, <-k.wait(soon))
		assert.False(t, k.Waits())
		ended := k.wait(soon)
		require.Eventually(t, k.Waits, soon, time.Millisecond)
		k.Poll()
		assert.Equal(t, woken{"", subscription.ByPoll}, <-ended)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, why := k.Wait(ctx, soon, nil)
		assert.Equal(t, subscription.ByTime, why)
		assert.Empty(t, k.told())
	})
}

func TestATokenOfAWithdrawnNameIsLeftToOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "a", "b")
		k.jobs("a", "b")
		k.Serve([]string{"b"})
		k.do("LPUSH", "wake:a", "1")
		k.do("LPUSH", "wake:b", "1")
		assert.Equal(t, woken{"b", subscription.ByToken}, <-k.wait(soon))
		assert.Equal(t, 1, k.length("wake:a"))

		k.Serve(nil)
		k.wakeup <- struct{}{}
		assert.Equal(t, woken{"", subscription.ByWakeup}, <-k.wait(soon), "there is nothing to wait for")
	})
}

func TestSomeQueuesMayNotCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "a", "b")
		k.jobs("a", "b")
		k.do("LPUSH", "wake:a", "1")
		k.do("LPUSH", "wake:b", "1")
		assert.Equal(t, woken{"b", subscription.ByToken}, <-k.wait(soon, "a"))
		assert.Equal(t, 1, k.length("wake:a"))
		assert.Equal(t, woken{"a", subscription.ByToken}, <-k.wait(soon, "b"), "the wait under way missed it")
	})
}

// A token that is no list would keep all queues from calling.
func TestTokensOfAWrongTypeAreRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, "a", "b")
		k.jobs("a", "b")
		k.do("SET", "wake:a", "no list")
		assert.Equal(t, woken{"", subscription.ByTrouble}, <-k.wait(soon))
		assert.Positive(t, k.Backoff())
		assert.Equal(t, []event.Event{event.KeyBroken{Key: "{" + k.namespace + "}:wake:a"}}, k.told())
		k.do("LPUSH", "wake:b", "1")
		assert.Equal(t, woken{"b", subscription.ByToken}, <-k.wait(soon))
	})
}

func TestWhoeverCannotWaitSaysSoOnce(t *testing.T) {
	t.Parallel()
	k := newKitOf(t, "redis://127.0.0.1:1", "n")
	for range 3 {
		assert.Equal(t, woken{"", subscription.ByTrouble}, <-k.wait(soon))
	}
	require.Len(t, k.told(), 1)
	assert.IsType(t, event.Trouble{}, k.told()[0])
}

func TestManyNamesAreWaitedForLonger(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 40*time.Second, subscription.Span(1))
	assert.Equal(t, 250*time.Second, subscription.Span(1000))
	assert.Equal(t, 10*time.Minute, subscription.Span(100_000))
}
