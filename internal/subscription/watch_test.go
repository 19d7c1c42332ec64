package subscription_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

// watchWith is a watch of a worker whose pool has these quotas.
func watchWith(quotas map[string]*subscription.Quota) *subscription.Watch {
	return subscription.NewWatch(func(name string) *subscription.Quota { return quotas[name] })
}

func TestWhatAFetchMayBringIsReserved(t *testing.T) {
	t.Parallel()
	quota := subscription.NewQuota(3)
	w := watchWith(map[string]*subscription.Quota{"few": quota})
	shares := func() []rdb.Share { return []rdb.Share{{Queue: "few", Jobs: 2}, {Queue: "any", Jobs: 4}} }
	kept, leftOut := w.Reserve(shares(), 6)
	assert.Equal(t, []rdb.Share{{Queue: "few", Jobs: 2, Most: 3}, {Queue: "any", Jobs: 4}}, kept)
	assert.Empty(t, leftOut)
	assert.False(t, w.GiveBack(kept, []rdb.FetchedJob{{Claim: rdb.Claim{Queue: "few"}}}), "nobody was refused")
	assert.Equal(t, 2, quota.Reserve(9), "one has come")

	kept, leftOut = w.Reserve(shares(), 6)
	assert.Equal(t, []rdb.Share{{Queue: "any", Jobs: 4}}, kept)
	assert.Equal(t, []string{"few"}, leftOut)
	assert.Equal(t, map[string]bool{"few": true}, w.Full())
	assert.Equal(t, []string{"any"}, w.Askable([]string{"any", "few"}))
	assert.Empty(t, w.Reopened())
	assert.False(t, w.HasQuota("few"))
	assert.True(t, w.HasQuota("any"))
	assert.True(t, quota.GiveBack(1))
	assert.Equal(t, []string{"few"}, w.Reopened())
	assert.Empty(t, w.Full())
	assert.True(t, w.HasQuota("few"))
}

func TestAHeldQueueIsNotAskedUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	w.Hold("paused", -1, 0)
	assert.Equal(t, []string{"free"}, w.Askable([]string{"paused", "free"}))
	assert.Equal(t, time.Hour, w.Next(), "nobody knows when")
	w.MadeRoom(map[string]bool{"paused": true, "free": true})
	assert.Equal(t, []string{"paused"}, w.Reopened())
	assert.Equal(t, []string{"paused"}, w.Askable([]string{"paused"}))

	w.Hold("paused", -1, 0)
	require.Eventually(t, func() bool { return len(w.Askable([]string{"paused"})) == 1 }, soon, time.Millisecond,
		"it is asked now and then")
	w.Hold("paused", -1, 0)
	w.Forget("paused")
	assert.Equal(t, []string{"paused"}, w.Askable([]string{"paused"}))
}

func TestARateIsAskedAgainAtItsTime(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	_, waits := w.HandOnIn()
	assert.False(t, waits)
	w.Hold("rated", 50*time.Millisecond, 1)
	assert.Less(t, w.Next(), 50*time.Millisecond, "a little earlier, since a fetch takes its time")
	w.MadeRoom(map[string]bool{"rated": true})
	assert.Empty(t, w.Reopened(), "an end makes no room in a rate")
	require.Eventually(t, func() bool { return len(w.Reopened()) == 1 }, soon, time.Millisecond)
	assert.Equal(t, time.Hour, w.Next())
}

// A fetch that took long has the next one begin earlier, and so early that it may be late already. Whoever has asked
// which queues have jobs, and was told of this one, has not asked it again by that.
func TestARateThatLeavesRoomAtOnceIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	w.Travelled(time.Second)
	w.Hold("rated", 20*time.Millisecond, 1)
	assert.Empty(t, w.Askable([]string{"rated"}))
	assert.Zero(t, w.Next())
	assert.Equal(t, []string{"rated"}, w.Reopened())
	w.Remind("keys", time.Nanosecond)
	assert.Equal(t, []string{"keys"}, w.Askable([]string{"keys"}))
	require.Eventually(t, func() bool { return len(w.Reopened()) == 1 }, soon, time.Millisecond)
	assert.Equal(t, time.Hour, w.Next())
	assert.Equal(t, []string{"rated", "keys"}, w.Askable([]string{"rated", "keys"}))
	assert.Less(t, w.Ahead(), 101*time.Millisecond, "and that was not late")

	w.Remind("held", 0)
	assert.Equal(t, time.Hour, w.Next(), "it is not its rate that is in the way, and whoever makes room calls")
}

// Where only the rates of keys are in the way, other keys may come at any time.
func TestAReminderHoldsNoQueue(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	w.Remind("keys", 50*time.Millisecond)
	assert.Equal(t, []string{"keys"}, w.Askable([]string{"keys"}))
	assert.Less(t, w.Next(), 50*time.Millisecond)
	w.MadeRoom(map[string]bool{"keys": true})
	assert.Equal(t, []string{"keys"}, w.Reopened(), "an end may have made room")
	require.Eventually(t, func() bool { return len(w.Reopened()) == 1 }, soon, time.Millisecond)

	w.Hold("keys", -1, 0)
	w.Remind("keys", time.Millisecond)
	assert.Empty(t, w.Askable([]string{"keys"}), "a pause goes before it")
}

func TestAWorkerWithoutProcessorsHandsRatesOn(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	w.Hold("soon", time.Millisecond, 1)
	w.Hold("late", time.Hour, 1)
	in, waits := w.HandOnIn()
	assert.True(t, waits)
	assert.Positive(t, in, "a processor may be free in time")
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual([]string{"soon"}, w.HandOn()) }, soon,
		time.Millisecond)
	assert.Empty(t, w.HandOn())
}

func TestWhoeverAsksInVainYields(t *testing.T) {
	t.Parallel()
	const wait = 200 * time.Millisecond
	in := func(vain int, called bool, brought int) time.Duration {
		w := watchWith(nil)
		for range vain {
			w.Hold("rated", 0, 0)
			require.Eventually(t, func() bool { return len(w.Reopened()) == 1 }, soon, time.Millisecond)
		}
		if called {
			w.Called("rated")
		}
		w.Hold("rated", wait, brought)
		return w.Next()
	}
	assert.Less(t, in(0, false, 0), wait)
	assert.Less(t, in(1, false, 0), wait, "that may be chance")
	assert.Greater(t, in(5, false, 0), wait+60*time.Millisecond, "others are faster")
	assert.Less(t, in(5, true, 0), wait, "whoever is called is on time")
	assert.Less(t, in(5, false, 1), wait, "and whoever gets a job")
}

func TestJobsAreTakenAheadByWhatAFetchTakes(t *testing.T) {
	t.Parallel()
	w := watchWith(nil)
	assert.Equal(t, subscription.LeastAhead, w.Ahead())
	w.Travelled(20 * time.Millisecond)
	assert.Equal(t, subscription.LeastAhead+40*time.Millisecond, w.Ahead())
	for range 100 {
		w.Travelled(time.Second)
	}
	assert.Equal(t, 100*time.Millisecond, w.Ahead(), "and no more")
}

func TestAQueueThatIsShutIsLeftOutUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	w, room := watchWith(nil), subscription.NewQuota(2)
	assert.Equal(t, 2, room.Reserve(5))
	w.Shut("index", room)
	assert.Equal(t, map[string]bool{"index": true}, w.Full())
	assert.Equal(t, []string{"other"}, w.Askable([]string{"index", "other"}))
	assert.Empty(t, w.Reopened())
	assert.True(t, room.GiveBack(1), "the fetcher is called")
	assert.Equal(t, []string{"index"}, w.Reopened())
	assert.Empty(t, w.Full())
}
