package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// The queues of jobs of the name a that need labels.
var (
	aOnGPU = needs.Queue("a", []string{"gpu"})
	aOnNew = needs.Queue("a", []string{"gpu", "v2"})
)

// One fetch takes from all queues of a name no more than its limit leaves for them together: in one round, over
// several, and where some of what was popped is dropped.
func TestAFetchFromQueuesOfANameHeedsItsLimit(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		s.enqueue(t, aOnGPU, "g1", "g2", "g3")
		s.enqueue(t, aOnNew, "n1", "n2", "n3")
		rule := rdb.Rule{Limit: rdb.Limit{Concurrent: 5}}
		set, err := s.store.SetRule(t.Context(), "a", "", rule.Text(), true)
		require.NoError(t, err)
		require.True(t, set)
		w := s.worker(t, "w1", "a", aOnGPU, aOnNew)
		claims := s.take(t, w, 1, 100, "a", aOnGPU, aOnNew)
		assert.Len(t, claims, 5)
		assert.Len(t, s.set(t, "running:a"), 5)
		assert.False(t, s.exists(t, "running:"+aOnGPU))
		assert.Empty(t, s.take(t, w, 2, 100, aOnNew, aOnGPU, "a"))

		// two make room, and ids without a record stand before those that may begin
		s.cmd(t, "RPUSH", "queue:"+aOnGPU, "ghost 1", "ghost 2")
		require.Empty(t, settle(t, w, w.Complete(ended(claims[0], claims[4]))))
		claims = s.take(t, w, 3, 100, aOnGPU, aOnNew)
		assert.Len(t, claims, 2, "what is dropped takes no room")
		assert.Len(t, s.set(t, "running:a"), 5)
	})
}

// A limit that is set while jobs run counts all of the name, and who looks a job up learns of it.
func TestARuleIsThatOfTheNameWhateverIsNeeded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		s.enqueue(t, aOnGPU, "g1", "g2")
		w := s.worker(t, "w1", "a", aOnGPU)
		require.Len(t, s.take(t, w, 1, 1, "a"), 1)
		require.Len(t, s.take(t, w, 2, 1, aOnGPU), 1)
		filling := rdb.Rule{Limit: rdb.Limit{Concurrent: 2}, Filling: "token"}
		set, err := s.store.SetRule(t.Context(), "a", "", filling.Text(), true)
		require.NoError(t, err)
		require.True(t, set)
		require.NoError(t, s.store.Fill(t.Context(), "a"))
		assert.ElementsMatch(t, []string{"a1", "g1"}, s.set(t, "running:a"))
		rule := rdb.Rule{Limit: rdb.Limit{Concurrent: 2}}
		_, err = s.store.SetRule(t.Context(), "a", filling.Text(), rule.Text(), false)
		require.NoError(t, err)
		assert.Empty(t, s.take(t, w, 3, 10, aOnGPU), "two run")

		found, err := s.store.Lookup(t.Context(), []string{"g2"}, func([]byte) string { return aOnGPU })
		require.NoError(t, err)
		assert.Equal(t, rdb.WhereQueue, found[0].Where)
		assert.Equal(t, rule.Text(), found[0].Waits.Rule)
		assert.Equal(t, 2, found[0].Waits.Running)

		removed, err := s.store.Recount(t.Context(), "a")
		require.NoError(t, err)
		assert.Empty(t, removed)
		assert.Len(t, s.set(t, "running:a"), 2)
	})
}

func TestWorkersAreToldOfANewQueueOfJobsThatNeedLabels(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a", aOnGPU)
		s.cmd(t, "DEL", "queues")
		told := s.published(t, s.key("control"), func() {
			s.enqueue(t, "a", "a1")
			s.enqueue(t, aOnGPU, "g1", "g2")
			require.Len(t, s.take(t, w, 1, 10, aOnGPU), 2)
			s.enqueue(t, aOnGPU, "g3") // it is known by now
			later := job(aOnNew, "n1")
			later.Place, later.When = rdb.In, time.Hour.Milliseconds()
			s.calls++
			answer, err := s.store.Enqueue(t.Context(), "lane of the test", s.calls, []rdb.NewJob{later})
			require.NoError(t, err)
			require.Empty(t, answer.Problems)
		})
		assert.Equal(t, []string{"needs " + aOnGPU, "needs " + aOnNew, "due"}, told)
		queue, is := rdb.NewPart([]byte(told[0]))
		assert.True(t, is)
		assert.Equal(t, aOnGPU, queue)
		_, is = rdb.NewPart([]byte("due"))
		assert.False(t, is)

		parts, err := s.store.Parts(t.Context())
		require.NoError(t, err)
		assert.Subset(t, parts, []string{aOnGPU, aOnNew})
		assert.NotContains(t, parts, "a")
		ready, err := s.store.ReadyParts(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{aOnGPU}, ready)
		queues, err := s.store.QueuesOf(t.Context(), []string{"a", "b"})
		require.NoError(t, err)
		assert.Equal(t, []string{"a", aOnGPU, aOnNew, "b"}, queues)
	})
}

func TestWorkersAreToldOfANewQueueByASchedule(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		timetable(t, s)
		told := s.published(t, s.key("control"), func() {
			tick := nextTick(timed)
			tick.Queue = aOnGPU
			answer, err := sendTick(s.store, tick)
			require.NoError(t, err)
			require.Equal(t, rdb.TickStored, answer.State)
		})
		assert.Contains(t, told, "needs "+aOnGPU)
	})
}

func TestWhatIsRestoredCountsForItsName(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a", aOnGPU)
		rule := rdb.Rule{Limit: rdb.Limit{Concurrent: 1}}
		_, err := s.store.SetRule(t.Context(), "a", "", rule.Text(), true)
		require.NoError(t, err)
		held := []rdb.Held{{Claim: rdb.Claim{Queue: aOnGPU, Element: "1:g1"}, ID: "g1", Record: record("g1")}}
		restored, state, err := w.Restore(t.Context(), 1, 1, held)
		require.NoError(t, err)
		assert.Equal(t, rdb.Registered, state)
		assert.Equal(t, 1, restored.Stored)
		assert.Equal(t, []string{"g1"}, s.set(t, "running:a"))
		assert.Equal(t, []string{"1:g1"}, s.list(t, "worker:w1:inprocess:"+aOnGPU))
	})
}
