package rdb_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func (s *site) late(t *testing.T, life time.Duration) rdb.Lateness {
	t.Helper()
	late, err := s.store.OverdueWorkers(t.Context(), life, 10)
	require.NoError(t, err)
	return late
}

func TestWhoDoesNotBeatIsLate(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w1 := s.worker(t, "w1", "a")
		s.worker(t, "w2", "a")
		assert.Equal(t, rdb.Lateness{Overdue: []string{}, Registered: 2, Listed: 2}, s.late(t, time.Minute))

		s.beat(t, w1, rdb.Beat{Life: time.Millisecond, Epoch: "epoch-1"})
		s.pass(t, 5*time.Millisecond)
		assert.Equal(t, []string{"w1"}, s.late(t, time.Minute).Overdue)
		s.cmd(t, "ZADD", "deadlines", "2", "w2")
		assert.Equal(t, []string{"w2", "w1"}, s.late(t, time.Minute).Overdue, "the longest first")
		s.beat(t, w1, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
		assert.Equal(t, []string{"w2"}, s.late(t, time.Minute).Overdue)

		ahead := s.now(t).Add(time.Hour).UnixMilli()
		s.cmd(t, "ZADD", "deadlines", strconv.FormatInt(ahead, 10), "w2")
		assert.Equal(t, []string{"w2"}, s.late(t, time.Minute).Overdue,
			"Redis' clock was set back, and it has not beaten since")
	})
}

// Workers of the version before write no deadline. Nor must a strange key keep the dead from being found.
func TestWorkersWithoutADeadlineAreFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w1 := s.worker(t, "w1", "a")
		s.worker(t, "w2", "a")
		s.worker(t, "w3", "a")
		unlisted := func() []string {
			ids, err := s.store.Unlisted(t.Context())
			require.NoError(t, err)
			return ids
		}
		assert.Empty(t, unlisted())
		s.cmd(t, "ZREM", "deadlines", "w2", "w3")
		assert.Equal(t, rdb.Lateness{Overdue: []string{}, Registered: 3, Listed: 1}, s.late(t, time.Minute))
		assert.ElementsMatch(t, []string{"w2", "w3"}, unlisted())

		s.cmd(t, "UNLINK", "worker:w3")
		dead, err := w1.DeclareDead(t.Context(), 0, "w2", "w3", "nobody")
		require.NoError(t, err)
		assert.Equal(t, []string{"w3"}, dead)
		assert.Equal(t, rdb.Lateness{Overdue: []string{}, Registered: 2, Listed: 2, Dead: 1}, s.late(t, time.Minute),
			"w2 lives, and is expected from now on")

		s.cmd(t, "UNLINK", "deadlines")
		s.cmd(t, "SET", "deadlines", "something else")
		assert.Equal(t, rdb.Lateness{Overdue: []string{}, Registered: 2, Dead: 1}, s.late(t, time.Minute))
		assert.ElementsMatch(t, []string{"w1", "w2"}, unlisted())
		s.beat(t, w1, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
		s.beat(t, w1, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
		assert.Equal(t, []string{"w2"}, unlisted(), "a heartbeat writes it anew")
	})
}

// A heartbeat that stays for longer than its worker said was sent before Redis' clock was set back. A worker of another
// version, or in another language, may not say; and then only what is longer than any is cut short: to cut what it
// counts on would be to bury it alive.
func TestHeartbeatsOfThoseWhoDoNotTellTheirLengthAreLeftAlone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w1 := s.worker(t, "w1", "a")
		for id, heart := range map[string]time.Duration{"silent": time.Minute, "set-back": time.Hour,
			"told": time.Minute} {
			_, _, err := s.store.Worker(id).
				Register(t.Context(), rdb.Registration{Life: heart, Epoch: "x", Queues: []string{"a"}})
			require.NoError(t, err)
		}
		s.cmd(t, "HSET", "worker:told:info", "life", "4")
		s.pass(t, 5*time.Millisecond)
		dead, err := w1.DeclareDead(t.Context(), time.Millisecond, "silent", "set-back", "told")
		require.NoError(t, err)
		assert.Empty(t, dead)
		assert.Greater(t, s.cmd(t, "PTTL", "worker:silent"), int64(30_000))
		assert.Less(t, s.cmd(t, "PTTL", "worker:set-back"), int64(2))
		assert.Less(t, s.cmd(t, "PTTL", "worker:told"), int64(5), "after its clock was set back")
	})
}

func TestCondemnTakesManyAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w1 := s.worker(t, "w1", "a")
		targets := make([]string, 2*rdb.MaxBatch+1)
		for i := range targets {
			targets[i] = "t" + strconv.Itoa(i)
			s.cmd(t, "SADD", "workers", targets[i])
		}
		dead, err := w1.DeclareDead(t.Context(), time.Hour, targets...)
		require.NoError(t, err)
		assert.Empty(t, dead, "the reaper is not steady")
		dead, err = w1.DeclareDead(t.Context(), 0, targets...)
		require.NoError(t, err)
		assert.Equal(t, targets, dead)
		assert.Equal(t, []string{"w1"}, s.set(t, "workers"))
	})
}

func TestHoldingNamesOnlyQueuesOfWhichJobsAreHeld(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "b", "x")
		w := s.worker(t, "w1", "a", "b", "c")
		s.take(t, w, 1, 1, "b")
		s.cmd(t, "SET", "worker:w1:inprocess:c", "no list")
		holding, err := w.Holding(t.Context(), []string{"a", "b", "c"})
		require.NoError(t, err)
		assert.Equal(t, []string{"b", "c"}, holding, "what cannot be read is not passed by")
	})
}

// Redis 6.2 took a millisecond for 0, which is for ever.
func TestNoCommandIsTold0ToBlockFor(t *testing.T) {
	t.Parallel()
	for given, sent := range map[time.Duration]string{
		-time.Second: "0.010", 0: "0.010", 1: "0.010", time.Millisecond: "0.010", 9999 * time.Microsecond: "0.010",
		10 * time.Millisecond:    "0.010",
		10500 * time.Microsecond: "0.011", 250 * time.Millisecond: "0.250", time.Minute: "60.000",
	} {
		assert.Equal(t, sent, redisconn.BlockFor(given), given)
	}
}
