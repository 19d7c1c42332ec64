package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// Each repair decides by what is there when its script runs, which may be other than what was read.

func TestAKeyOfTheRightTypeIsNotSetAside(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		mender := rdb.Mender{Store: s.store, Mend: true}
		s.cmd(t, "RPUSH", "queue:a", "a1")
		aside := func() (string, bool) {
			key := rdb.Key{Name: "queue:a", Type: "string"}
			to, done, err := mender.RenameBroken(t.Context(), key, "list", s.now(t))
			require.NoError(t, err)
			return to, done
		}
		_, done := aside()
		assert.False(t, done, "somebody has mended it")
		assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))
		s.cmd(t, "SET", "queue:a", "text", "PX", 60_000)
		to, done := aside()
		assert.True(t, done)
		assert.False(t, s.exists(t, "queue:a"))
		assert.Equal(t, int64(-1), s.cmd(t, "PTTL", to), "it stays until somebody has looked at it")
	})
}

func TestAWorkerThatIsKnownIsNotDisowned(t *testing.T) {
	t.Parallel()
	for _, known := range []string{"workers", "dead", ""} {
		t.Run("in "+known, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.worker(t, "w1", "a")
				s.cmd(t, "UNLINK", "worker:w1")
				s.cmd(t, "SREM", "workers", "w1")
				if known != "" {
					s.cmd(t, "SADD", known, "w1")
				}
				removed, err := rdb.Mender{Store: s.store, Mend: true}.RemoveWorker(t.Context(), "w1")
				require.NoError(t, err)
				assert.Equal(t, known == "", removed > 0)
				assert.Equal(t, known != "", s.exists(t, "worker:w1:queues"))
			})
		})
	}
}

func TestRecallDecidesByWhatIsThereNow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meanwhile func(t *testing.T, s *site)
		want      string
	}{
		"lost":       {want: "lost"},
		"ended":      {func(t *testing.T, s *site) { s.cmd(t, "HDEL", "jobs", "a1") }, "placed"},
		"another":    {func(t *testing.T, s *site) { s.cmd(t, "HSET", "jobs", "a1", "another") }, "placed"},
		"back":       {func(t *testing.T, s *site) { s.cmd(t, "LPUSH", "queue:a", "a1") }, "placed"},
		"on a shelf": {func(t *testing.T, s *site) { s.cmd(t, "ZADD", "stalled", 5, "a1") }, "placed"},
		"held":       {func(t *testing.T, s *site) { s.cmd(t, "HSET", "claimed", "a1", "w1 1 5 a") }, "placed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1")
				s.cmd(t, "UNLINK", "queue:a")
				if tt.meanwhile != nil {
					tt.meanwhile(t, s)
				}
				before := s.list(t, "queue:a")
				lost := []rdb.LostJob{{Named: rdb.Named{ID: "a1", Queue: "a"}, Digest: rdb.Digest(record("a1"))}}
				answers, err := rdb.Mender{Store: s.store, Mend: true}.RequeueLost(t.Context(), lost)
				require.NoError(t, err)
				assert.Equal(t, []string{tt.want}, answers)
				if tt.want == "lost" {
					before = []string{"a1"}
				}
				assert.Equal(t, before, s.list(t, "queue:a"))
			})
		})
	}
}

func TestUnclaimDecidesByWhatIsThereNow(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "worker:w1:inprocess:a") }
	tests := map[string]struct {
		meanwhile func(t *testing.T, s *site)
		want      string
		queue     []string
	}{
		"held": {want: "ok", queue: []string{}},
		"lost": {meanwhile: lose, want: "back", queue: []string{"a1"}},
		"changed": {meanwhile: func(t *testing.T, s *site) {
			lose(t, s)
			s.cmd(t, "HSET", "claimed", "a1", "w2 1 5 a")
		}, want: "ok", queue: []string{}},
		"in its queue": {meanwhile: func(t *testing.T, s *site) {
			lose(t, s)
			s.cmd(t, "LPUSH", "queue:a", "a1")
		}, want: "elsewhere", queue: []string{"a1"}},
		"no record": {meanwhile: func(t *testing.T, s *site) {
			lose(t, s)
			s.cmd(t, "HDEL", "jobs", "a1")
		}, want: "ghost", queue: []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1")
				s.limit(t, "a", rdb.Rule{Limit: rdb.Limit{Concurrent: 1}})
				s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
				_, claims, err := s.store.Holdings(t.Context(), "0")
				require.NoError(t, err)
				if tt.meanwhile != nil {
					tt.meanwhile(t, s)
				}
				answers, err := rdb.Mender{Store: s.store, Mend: true}.RemoveClaims(t.Context(), claims)
				require.NoError(t, err)
				assert.Equal(t, []string{tt.want}, answers)
				assert.Equal(t, tt.queue, s.list(t, "queue:a"))
				assert.Equal(t, tt.want == "ok", s.exists(t, "claimed"))
				assert.Equal(t, tt.want == "ok", s.exists(t, "running:a"), "a claim that is gone makes room")
			})
		})
	}
}

func TestANameIsForgottenOnlyWhenNobodyNeedsIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "full", "f1")
		s.cmd(t, "ZADD", "queues", 5, "full", 5, "served", 5, "old", s.now(t).UnixMilli(), "young")
		served := func(name string) bool { return name == "served" }
		faults, err := rdb.Mender{Store: s.store, Mend: true}.AgreeIndexes(t.Context(),
			[]string{"full", "served", "old", "young"}, served, time.Hour)
		require.NoError(t, err)
		assert.Equal(t, []rdb.Fault{{ID: "old", What: "old"}}, faults)
		names := s.scores(t, "queues")
		assert.Len(t, names, 3)
		for _, renewed := range []string{"full", "served"} {
			assert.Greater(t, asInt(t, names[renewed]), int64(5), renewed)
		}
	})
}

func TestShedRemovesWhatBelongsToNobody(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		s.cmd(t, "HSET", "trail", "a1", "past", "gone", "past")
		s.cmd(t, "HSET", "crashes", "gone", "w0")
		s.cmd(t, "HSET", "claimed", "a1", "w1 1 5 a", "a2", "w2 1 5 a")
		s.cmd(t, "HSET", "worker:w1:running", "a1", "5 mine", "a2", "5 of another", "gone", "5 over")
		removed, err := s.store.RemoveRecordless(t.Context(), map[string]string{})
		require.NoError(t, err)
		assert.Equal(t, 2, removed)
		assert.Equal(t, map[string]string{"a1": "past"}, s.hash(t, "trail"))
		removed, err = s.store.RemoveJoblessCheckIns(t.Context(), []string{"w1"}, map[string]string{})
		require.NoError(t, err)
		assert.Equal(t, 2, removed)
		assert.Equal(t, map[string]string{"a1": "5 mine"}, s.hash(t, "worker:w1:running"))
	})
}

func TestAnIDThatStandsInAQueueOnceStays(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "RPUSH", "queue:a", "x", "once", "twice", "y", "twice")
		mender := rdb.Mender{Store: s.store, Mend: true}
		for id, want := range map[string]bool{"once": false, "twice": true, "never": false} {
			mended, _, err := mender.RemoveDuplicate(t.Context(), rdb.Twice{ID: id, From: "a", Other: "a"})
			require.NoError(t, err)
			assert.Equal(t, want, mended, id)
		}
		assert.Equal(t, []string{"twice", "y", "once", "x"}, s.list(t, "queue:a"),
			"the one that is nearer to the front stays")
		mended, _, err := mender.RemoveDuplicate(t.Context(), rdb.Twice{ID: "once", From: "a", Other: "b"})
		require.NoError(t, err)
		assert.False(t, mended, "it is not in the other one")
		assert.Equal(t, []string{"twice", "y", "once", "x"}, s.list(t, "queue:a"))
	})
}
