package rdb_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// prefetching registers a worker that says how many jobs it fetches beyond those that it runs.
func (s *site) prefetching(t *testing.T, id, prefetch string) *rdb.Worker {
	t.Helper()
	w := s.store.Worker(id)
	_, _, err := w.Register(t.Context(), rdb.Registration{
		Life: time.Minute, Epoch: "epoch-1", Queues: []string{"a"}, Info: map[string]string{"prefetch": prefetch},
	})
	require.NoError(t, err)
	return w
}

// crashes are the words about each job, without times.
func (s *site) crashes(t *testing.T) map[string]string {
	t.Helper()
	words := s.hash(t, "crashes")
	for id, of := range words {
		words[id] = withoutTimes(of)
	}
	return words
}

// dies has a worker begin those of the jobs that it holds, with which somebody has died, and die with all of them.
func (s *site) dies(t *testing.T, w *rdb.Worker, held []rdb.Claim, begun ...rdb.Claim) {
	t.Helper()
	for _, claim := range begun {
		noted, err := w.Suspect(t.Context(), claim)
		require.NoError(t, err)
		require.True(t, noted)
	}
	settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(held), Died: w.ID}))
}

// TestAWorkerThatClaimsAheadSaysSo: who dies with what it has not begun is no crash of it.
func TestAWorkerThatClaimsAheadSaysSo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		noted, err := s.store.Worker("w0").NotePrefetch(t.Context(), 5)
		require.NoError(t, err)
		assert.False(t, noted, "it is not registered")
		assert.Empty(t, s.hash(t, "worker:w0:info"))

		w := s.prefetching(t, "w1", "0")
		noted, err = w.NotePrefetch(t.Context(), 5)
		require.NoError(t, err)
		assert.True(t, noted)
		s.dies(t, w, s.take(t, w, 1, 2, "a"))
		assert.Equal(t, map[string]string{"a1": "?w1", "a2": "?w1"}, s.crashes(t))
		s.cmd(t, "UNLINK", "crashes")

		w = s.prefetching(t, "w2", "5")
		_, err = w.NotePrefetch(t.Context(), 0)
		require.NoError(t, err)
		s.dies(t, w, s.take(t, w, 1, 2, "a"))
		assert.Equal(t, map[string]string{"a1": "w2@", "a2": "w2@"}, s.crashes(t), "it holds what it runs again")
	})
}

func TestACrashCountsAgainstWhatRan(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		w := s.prefetching(t, "w1", "5")
		s.dies(t, w, s.take(t, w, 1, 2, "a"))
		assert.Equal(t, map[string]string{"a1": "?w1", "a2": "?w1"}, s.crashes(t), "who knows which of them ran?")

		w = s.prefetching(t, "w2", "0")
		held := s.take(t, w, 1, 2, "a")
		s.dies(t, w, held, held[1])
		assert.Equal(t, map[string]string{"a1": "?w1", "a2": "w2@ ?w1"}, s.crashes(t), "only one had begun")

		w = s.prefetching(t, "w3", "0")
		held = s.take(t, w, 1, 2, "a")
		s.dies(t, w, held, held...)
		assert.Equal(t, map[string]string{"a1": "w3@ ?w1", "a2": "w2@ w3@ ?w1"}, s.crashes(t))

		w = s.prefetching(t, "w4", "0")
		held = s.take(t, w, 1, 1, "a")
		noted, err := w.Suspect(t.Context(), held[0])
		require.NoError(t, err)
		assert.True(t, noted)
		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(held)}))
		assert.Equal(t, "w3@ ?w1 +w4:1", s.crashes(t)["a1"], "what goes back is not forgotten")
		held = s.take(t, w, 2, 1, "a")
		s.dies(t, w, held)
		assert.Equal(t, "w3@ ?w1", s.crashes(t)["a1"], "it had begun before, and not this time")
		held = s.take(t, w, 3, 1, "a")
		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: elements(held), Ended: true}))
		assert.NotContains(t, s.crashes(t), "a1", "its attempt ended in good order")
		noted, err = w.Suspect(t.Context(), held[0])
		require.NoError(t, err)
		assert.False(t, noted, "the claim is gone")
	})
}

func TestTheFirstCrashCountsWhereAllThatIsHeldRuns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		w := s.prefetching(t, "w1", "0")
		s.dies(t, w, s.take(t, w, 1, 2, "a"))
		assert.Equal(t, map[string]string{"a1": "w1@", "a2": "w1@"}, s.crashes(t))
		w = s.prefetching(t, "w2", "0")
		s.dies(t, w, s.take(t, w, 1, 2, "a"))
		assert.Equal(t, map[string]string{"a1": "w1@ ?w2", "a2": "w1@ ?w2"}, s.crashes(t),
			"from then on each begin is noted")
	})
}

// TestOlderWorkersAreBlamedAsTheyNoteIt: they say only which of the jobs that two workers died with they run.
func TestOlderWorkersAreBlamedAsTheyNoteIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		for i := range 2 {
			w := s.worker(t, fmt.Sprint("w", i), "a")
			s.dies(t, w, s.take(t, w, 1, 2, "a"))
		}
		assert.Equal(t, map[string]string{"a1": "w0@ w1@", "a2": "w0@ w1@"}, s.crashes(t))
		w := s.worker(t, "w2", "a")
		held := s.take(t, w, 1, 2, "a")
		s.cmd(t, "HSET", "worker:w2:info", "suspect", held[1].Element)
		s.dies(t, w, held)
		assert.Equal(t, map[string]string{"a1": "w0@ w1@ ?w2", "a2": "w0@ w1@ w2@"}, s.crashes(t))
	})
}

// lastCrash is what the last crash of a job says: its token; how long the job ran; how often workers died.
func (s *site) lastCrash(t *testing.T, id string) (token, ran int64, deaths string) {
	t.Helper()
	of := regexp.MustCompile(`@\d+:\d+\.(\d+):(\d+:\d+:\d+:\d+):(\d+)(?: \?\S+)?$`).
		FindStringSubmatch(s.hash(t, "crashes")[id])
	require.NotNil(t, of, s.hash(t, "crashes")[id])
	token, err := strconv.ParseInt(of[3], 10, 64)
	require.NoError(t, err)
	ran, err = strconv.ParseInt(of[1], 10, 64)
	require.NoError(t, err)
	return token, ran, of[2]
}

func TestACrashSaysHowLongTheJobRanAndHowOftenWorkersDie(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		reaper, w := s.worker(t, "w1", "a"), s.prefetching(t, "w2", "0")
		now := s.now(t).UnixMilli()
		s.cmd(t, "ZADD", "deaths", now-30_000, "v1", now-300_000, "v2", now-3_000_000, "v3", now-3_800_000,
			"too long ago")
		held := s.take(t, w, 1, 1, "a")
		claim := s.hash(t, "claimed")["a1"]
		s.cmd(t, "HSET", "claimed", "a1", fmt.Sprintf("w2 1 %d a", now-90_000)) // as if it had begun then
		require.NotEqual(t, claim, s.hash(t, "claimed")["a1"])
		s.cmd(t, "UNLINK", "worker:w2")
		s.cmd(t, "HSET", "worker:w2:info", "life", "20000")
		s.cmd(t, "ZADD", "deadlines", now-4000, "w2") // it beat for the last time 24 s ago
		s.cmd(t, "SET", "worker:w1", fmt.Sprintf("RUN %d", now-19_000), "KEEPTTL")
		dead, err := reaper.DeclareDead(t.Context(), 0, "w2")
		require.NoError(t, err)
		require.Empty(t, dead, "the judge was there for less than a heartbeat of the other lasts")
		s.cmd(t, "SET", "worker:w1", fmt.Sprintf("RUN %d", now-20_000), "KEEPTTL")
		dead, err = reaper.DeclareDead(t.Context(), 0, "w2")
		require.NoError(t, err)
		require.Equal(t, []string{"w2"}, dead)
		s.dies(t, w, held)
		token, ran, deaths := s.lastCrash(t, "a1")
		assert.Equal(t, now-90_000, token)
		assert.Equal(t, int64(90_000-24_000+500), ran, "it died between its last heartbeat and the next")
		assert.Equal(t, "2:3:4:1", deaths,
			"in a minute, ten minutes and an hour before, itself included; and one worker is left")
		assert.NotContains(t, s.cmd(t, "ZRANGE", "deaths", 0, -1), []byte("too long ago"))
	})
}

// What counts against a job is longer where others ran beside it; how long it ran itself is not.
func TestACrashTellsApartHowLongEachJobRan(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		w := s.prefetching(t, "w1", "0")
		held := s.take(t, w, 1, 3, "a")
		now := s.now(t).UnixMilli()
		s.cmd(t, "ZADD", "deaths", now, "w1")
		for i, id := range []string{"a1", "a2", "a3"} {
			s.cmd(t, "HSET", "claimed", id, fmt.Sprintf("w1 1 %d a", now-int64(i)*1000-50))
		}
		s.dies(t, w, held)
		for i, shared := range []int64{300, 3150, 6150} {
			assert.Contains(t, s.hash(t, "crashes")[fmt.Sprint("a", i+1)],
				fmt.Sprintf("w1@%d:%d.%d:", now, shared, i*1000+50))
		}
	})
}

// TestTheTokenOfEachClaimThatACrashEndedIsLarger also where Redis' clock was set back between the claims.
func TestTheTokenOfEachClaimThatACrashEndedIsLarger(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		last := int64(0)
		for i, claimed := range []int64{5000, 4000, 4000, 4500, 90_000, 3000} {
			w := s.prefetching(t, fmt.Sprint("w", i), "0")
			held := s.take(t, w, 1, 1, "a")
			s.cmd(t, "HSET", "claimed", "a1", fmt.Sprintf("w%d 1 %d a", i, claimed))
			s.dies(t, w, held, held...)
			token, _, _ := s.lastCrash(t, "a1")
			assert.Greater(t, token, last, i)
			assert.GreaterOrEqual(t, token, claimed)
			last = token
		}
		for i := range 6 { // that of a crash that is taken back stays
			_, err := s.store.Worker(fmt.Sprint("w", i)).DeclareAlive(t.Context(), []string{"a1"})
			require.NoError(t, err)
		}
		assert.Equal(t, fmt.Sprintf("?w5:%d", last), s.hash(t, "crashes")["a1"])
	})
}

func TestWhoWasOnlyAwayHasCrashedWithNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		first := s.prefetching(t, "w1", "0")
		s.dies(t, first, s.take(t, first, 1, 3, "a"))
		away := s.prefetching(t, "w2", "0")
		held := s.take(t, away, 1, 3, "a")
		s.cmd(t, "ZADD", "deaths", 1, "w1", 2, "w2")
		for _, claim := range held {
			_, err := away.Suspect(t.Context(), claim)
			require.NoError(t, err)
		}
		// one goes back later
		settle(t, away, away.Release(rdb.Released{Queue: "a", Elements: elements(held[1:]), Died: "w2"}))
		next := s.prefetching(t, "w3", "0")
		running := s.take(t, next, 1, 1, "a")
		_, err := next.Suspect(t.Context(), running[0])
		require.NoError(t, err)
		for range 2 {
			_, err := away.DeclareAlive(context.Background(), []string{"a1", "a2", "a3", "a4"})
			require.NoError(t, err)
		}
		settle(t, away, away.Release(rdb.Released{Queue: "a", Elements: elements(held[:1]), Died: "w2"}))
		assert.Equal(t, map[string]string{"a1": "w1@ ?w2", "a2": "w1@ ?w2 +w3:1", "a3": "w1@ ?w2"}, s.crashes(t))
		assert.Equal(t, map[string]string{"w1": "1"}, s.scores(t, "deaths"))
		s.dies(t, next, running)
		assert.Equal(t, "w1@ w3@ ?w2", s.crashes(t)["a2"], "what began meanwhile is still known to have begun")
	})
}
