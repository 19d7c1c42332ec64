package rdb_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// asInt reads a score; the embedded Redis writes some with an exponent.
func asInt(t require.TestingT, score string) int64 {
	n, err := strconv.ParseFloat(score, 64)
	require.NoError(t, err)
	return int64(n)
}

// beat beats once over a connection of its own.
func (s *site) beat(t *testing.T, w *rdb.Worker, beat rdb.Beat) rdb.Pulse {
	t.Helper()
	conn, err := s.driver.Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck the beat was answered
	pulse, err := w.Beat(t.Context(), conn, beat)
	require.NoError(t, err)
	return pulse
}

func TestRegisterMakesAWorkerKnown(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.store.Worker("w1")
		reg := rdb.Registration{Life: time.Minute, Epoch: "first", Info: map[string]string{"host": "h", "pid": "1"},
			Queues: []string{"a", "b"}}
		at, epoch, err := w.Register(t.Context(), reg)
		require.NoError(t, err)
		assert.Equal(t, "first", epoch)
		assert.WithinDuration(t, s.now(t), at, 5*time.Second)
		reg.Epoch = "second"
		_, epoch, err = w.Register(t.Context(), reg)
		require.NoError(t, err)
		assert.Equal(t, "first", epoch, "it is stored only if there is none")

		assert.Equal(t, []string{"w1"}, s.set(t, "workers"))
		assert.Equal(t, map[string]string{"host": "h", "pid": "1"}, s.hash(t, "worker:w1:info"))
		assert.Equal(t, []string{"a", "b"}, s.set(t, "worker:w1:queues"))
		assert.Len(t, s.scores(t, "queues"), 2)
		assert.Equal(t, fmt.Sprintf("RUN %d", at.UnixMilli()), text(s.cmd(t, "GET", "worker:w1")))
		assert.Positive(t, s.cmd(t, "PTTL", "worker:w1"))

		registered, dead, err := s.store.Workers(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"w1"}, registered)
		assert.Empty(t, dead)
		queues, err := w.Queues(t.Context())
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"a", "b"}, queues)
	})
}

func TestRegisterTakesManyQueues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var queues []string
		for i := range 2*rdb.MaxBatch + 1 {
			queues = append(queues, strconv.Itoa(i))
		}
		s.worker(t, "w1", queues...)
		assert.Len(t, s.set(t, "worker:w1:queues"), len(queues))
	})
}

func TestRegisterGivesTheFormerWorkerToTheReapers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.worker(t, "w1", "a")
		w2 := s.store.Worker("w2")
		for range 2 {
			_, _, err := w2.Register(t.Context(),
				rdb.Registration{Life: time.Minute, Former: "w1", Queues: []string{"a"}})
			require.NoError(t, err)
			assert.Equal(t, []string{"w2"}, s.set(t, "workers"))
			assert.Equal(t, []string{"w1"}, s.set(t, "dead"))
		}
		s.worker(t, "w1", "a")
		assert.Equal(t, []string{"w2"}, s.set(t, "workers"), "the dead do not come back")
	})
}

func TestBeatKeepsAWorkerAlive(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		born := text(s.cmd(t, "GET", "worker:w1"))
		s.pass(t, 5*time.Millisecond)
		pulse := s.beat(t, w, rdb.Beat{Life: time.Hour, Epoch: "epoch-1"})
		assert.Equal(t, rdb.Registered, pulse.State)
		assert.False(t, pulse.Leased)
		assert.Equal(t, born, text(s.cmd(t, "GET", "worker:w1")))
		assert.Greater(t, s.cmd(t, "PTTL", "worker:w1"), int64(60_000))

		s.cmd(t, "UNLINK", "worker:w1") // it lapsed, and nobody noticed
		pulse = s.beat(t, w, rdb.Beat{Life: time.Hour, Epoch: "epoch-1"})
		assert.Equal(t, rdb.Registered, pulse.State)
		assert.Equal(t, fmt.Sprintf("RUN %d", pulse.Time.UnixMilli()), text(s.cmd(t, "GET", "worker:w1")))
		assert.NotEqual(t, born, text(s.cmd(t, "GET", "worker:w1")))
	})
}

func TestBeatTellsTheFencedAndTheLost(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		assert.Equal(t, rdb.Pulse{State: rdb.Lost}, s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "another"}))
		s.cmd(t, "SREM", "workers", "w1")
		s.cmd(t, "UNLINK", "worker:w1")
		assert.Equal(t, rdb.Pulse{State: rdb.Fenced}, s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"}))
		assert.False(t, s.exists(t, "worker:w1"), "the dead have no heartbeat")
		s.cmd(t, "UNLINK", "epoch")
		assert.Equal(t, rdb.Pulse{State: rdb.Lost}, s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"}))
	})
}

func TestBeatNotesCheckInsOnlyWhileTheClaimStands(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		w := s.worker(t, "w1", "a")
		s.take(t, w, 12, 2, "a")
		pulse := s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", CheckIns: []rdb.CheckIn{
			{ID: "a1", Number: "12", Message: "row 1 of 2"}, {ID: "a2", Number: "1", Message: "old"},
			{ID: "none", Number: "12"},
		}})
		assert.Equal(t, map[string]string{"a1": fmt.Sprintf("%d row 1 of 2", pulse.Time.UnixMilli())},
			s.hash(t, "worker:w1:running"))
		s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Ended: []string{"a1", "a2"}})
		assert.Empty(t, s.hash(t, "worker:w1:running"))
	})
}

func TestBeatPassesBrokenKeys(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		s.cmd(t, "LPUSH", "lease", "something else")
		s.cmd(t, "UNLINK", "claimed")
		s.cmd(t, "SET", "claimed", "something else")
		pulse := s.beat(t, w, rdb.Beat{
			Life: time.Minute, Epoch: "epoch-1", Lease: time.Minute, CheckIns: []rdb.CheckIn{{ID: "a1", Number: "1"}},
		})
		assert.Equal(t, rdb.Registered, pulse.State)
		assert.True(t, pulse.Leased, "a lease of another type is overwritten: somebody must do the maintenance")
	})
}

// A reaper must have been steady for a while. What it was since a time that is to come it would not be for long.
func TestBeatMendsAHeartbeatSinceATimeToCome(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		reaper := s.worker(t, "w1", "a")
		s.worker(t, "w2", "a")
		s.cmd(t, "UNLINK", "worker:w2")
		for _, heart := range []string{"RUN 99999999999999", "something else"} {
			s.cmd(t, "SET", "worker:w1", heart)
			dead, err := reaper.DeclareDead(t.Context(), 0, "w2")
			require.NoError(t, err)
			assert.Empty(t, dead, heart)
			s.beat(t, reaper, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
			dead, err = reaper.DeclareDead(t.Context(), 0, "w2")
			require.NoError(t, err)
			assert.Equal(t, []string{"w2"}, dead, heart)
		}
	})
}

func TestBeatGivesTheLeaseToOneWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		first, second := s.worker(t, "w1", "a"), s.worker(t, "w2", "a")
		s.cmd(t, "ZADD", "scheduled", 1_800_000_123_456, "x")
		s.cmd(t, "SET", "retry", "something else")
		beat := rdb.Beat{Life: time.Hour, Epoch: "epoch-1", Lease: time.Minute}
		for range 2 {
			pulse := s.beat(t, first, beat)
			assert.True(t, pulse.Leased)
			assert.Equal(t, int64(1_800_000_123_456), pulse.NextScheduled.UnixMilli())
			assert.True(t, pulse.NextRetry.IsZero())
		}
		pulse := s.beat(t, second, beat)
		assert.False(t, pulse.Leased)
		assert.True(t, pulse.NextScheduled.IsZero())
		assert.LessOrEqual(t, s.cmd(t, "PTTL", "lease"), time.Minute.Milliseconds())
		s.cmd(t, "PEXPIRE", "lease", "1")
		s.pass(t, 5*time.Millisecond)
		assert.True(t, s.beat(t, second, beat).Leased)
		assert.False(t, s.beat(t, first, beat).Leased)
	})
}

func TestBeatMakesOneWorkerTheDeputy(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		first, second, third := s.worker(t, "w1", "a"), s.worker(t, "w2", "a"), s.worker(t, "w3", "a")
		beat := rdb.Beat{Life: time.Hour, Epoch: "epoch-1", Lease: time.Minute}
		for range 2 {
			assert.True(t, s.beat(t, first, beat).Leased)
			assert.True(t, s.beat(t, second, beat).Deputy)
			pulse := s.beat(t, third, beat)
			assert.False(t, pulse.Leased || pulse.Deputy)
		}
		s.cmd(t, "UNLINK", "lease") // the holder died
		assert.True(t, s.beat(t, second, beat).Leased)
		assert.False(t, s.exists(t, "deputy"), "nobody has both places")
		assert.True(t, s.beat(t, third, beat).Deputy)

		away := beat
		away.Lease = 0
		assert.False(t, s.beat(t, second, away).Leased, "it gives the lease back")
		assert.False(t, s.exists(t, "lease"))
		s.beat(t, third, away)
		assert.False(t, s.exists(t, "deputy"))
		s.cmd(t, "LPUSH", "deputy", "something else")
		assert.True(t, s.beat(t, first, beat).Leased)
		assert.True(t, s.beat(t, second, beat).Deputy, "a place of another type is overwritten")
		_, gone, err := second.Forget(t.Context(), []string{"a"}, "")
		require.NoError(t, err)
		assert.True(t, gone)
		assert.False(t, s.exists(t, "deputy"))
	})
}

func TestBeatSaysWhetherAQueueCalls(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a", "b")
		beat := rdb.Beat{Life: time.Hour, Epoch: "epoch-1", Waits: true}
		assert.False(t, s.beat(t, w, beat).Called)
		s.enqueue(t, "other", "x")
		assert.False(t, s.beat(t, w, beat).Called, "a queue of others")
		s.enqueue(t, "b", "y", "z")
		assert.True(t, s.beat(t, w, beat).Called)
		beat.Waits = false
		assert.False(t, s.beat(t, w, beat).Called, "it has not asked")
		s.cmd(t, "UNLINK", "ready")
		s.cmd(t, "SET", "ready", "something else")
		beat.Waits = true
		assert.Equal(t, rdb.Registered, s.beat(t, w, beat).State)
	})
}

func TestCondemnNeedsASteadyReaperAndALapsedTarget(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		reaper := s.worker(t, "w1", "a")
		s.worker(t, "w2", "a")
		declareDead := func(target string, steady time.Duration) bool {
			dead, err := reaper.DeclareDead(t.Context(), steady, target)
			require.NoError(t, err)
			return len(dead) == 1
		}
		assert.False(t, declareDead("w2", 0), "it is alive")
		s.cmd(t, "UNLINK", "worker:w2")
		assert.False(t, declareDead("w2", time.Hour), "the reaper is not steady")
		assert.Equal(t, []string{"w1", "w2"}, s.set(t, "workers"))
		assert.True(t, declareDead("w2", 0))
		assert.True(t, declareDead("w2", 0), "now or before")
		s.cmd(t, "SET", "worker:w2", "RUN 1")
		assert.True(t, declareDead("w2", 0), "a late heartbeat revives nobody")
		assert.Equal(t, []string{"w1"}, s.set(t, "workers"))
		assert.Equal(t, []string{"w2"}, s.set(t, "dead"))
		assert.False(t, declareDead("nobody", 0))
		s.cmd(t, "UNLINK", "worker:w1")
		assert.False(t, declareDead("w1", 0), "without a heartbeat there is no judge")
	})
}

func TestAliveTellsEachWorkersHeartbeat(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.worker(t, "w1", "a")
		s.worker(t, "w2", "a")
		alive, err := s.store.Alive(t.Context(), []string{"w1", "w2"})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"w1": true, "w2": true}, alive)
		s.cmd(t, "UNLINK", "worker:w1")
		alive, err = s.store.Alive(t.Context(), []string{"w1", "w2", "w3"})
		require.NoError(t, err)
		assert.Equal(t, map[string]bool{"w1": false, "w2": true, "w3": false}, alive)
		alive, err = s.store.Alive(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, alive)
	})
}

func TestForgetRemovesOnlyWhoHoldsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		w := s.worker(t, "w1", "a", "b")
		s.take(t, w, 1, 2, "a")
		s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Lease: time.Minute,
			CheckIns: []rdb.CheckIn{{ID: "a1", Number: "1", Message: "x"}}})
		forget := func(queues ...string) ([]string, bool) {
			holding, gone, err := w.Forget(t.Context(), queues, "")
			require.NoError(t, err)
			return holding, gone
		}
		holding, gone := forget("a", "b")
		assert.False(t, gone)
		assert.Equal(t, []string{"a"}, holding)

		inProcess, err := inProcess(t.Context(), w, "a")
		require.NoError(t, err)
		assert.Equal(t, []string{"1:a1", "1:a2"}, inProcess)
		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: inProcess, Died: "w1"}))
		for _, wrong := range [][]string{{"a"}, {"a", "c"}, {"a", "b", "c"}, nil} {
			holding, gone = forget(wrong...)
			assert.False(t, gone, wrong)
			assert.Empty(t, holding)
		}
		for range 2 {
			_, gone = forget("a", "b")
			assert.True(t, gone, "also when it is sent again")
			for _, key := range []string{"workers", "dead", "worker:w1", "worker:w1:queues", "worker:w1:info",
				"worker:w1:running", "lease"} {
				assert.False(t, s.exists(t, key), key)
			}
		}
	})
}
