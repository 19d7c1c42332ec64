package rdb_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// agreeKeys walks over all sets until nothing is left, and returns what was found, as "what id".
func (s *site) agreeKeys(t *testing.T, mend bool) (found []string) {
	t.Helper()
	for _, set := range []rdb.KeySet{rdb.KeysHolding, rdb.KeysParked, rdb.KeysLined} {
		for cursor, first := "", true; first || cursor != ""; first = false {
			next, faults, err := rdb.Mender{Store: s.store, Mend: mend}.AgreeKeys(t.Context(), set, cursor)
			require.NoError(t, err)
			for _, fault := range faults {
				found = append(found, fault.What+" "+fault.ID)
			}
			cursor = next
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What contradicts itself about keys is found, mended once, and then the jobs that waited for it run.
func TestWhatIsKeptOfKeysIsMended(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		damage func(t *testing.T, s *site)
		found  []string
		runs   []string // then, of x2 with a place and x3 to x6, which are parked
	}{
		"nothing": {func(*testing.T, *site) {}, nil, []string{"x2"}},
		"a place of one that is gone": {func(t *testing.T, s *site) {
			s.cmd(t, "ZREM", "turns", "x2")
			s.cmd(t, "HDEL", "jobs", "x2")
		}, []string{"seat x2"}, []string{"x3"}},
		"a place of one on a shelf": {func(t *testing.T, s *site) {
			s.cmd(t, "ZREM", "turns", "x2")
			s.cmd(t, "ZADD", "retry", 5, "x2")
		}, []string{"seat x2"}, []string{"x3"}},
		"a place of one that is parked": {func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "holding", 0, "0000\x00x\x00x4")
		}, []string{"seat x4"}, []string{"x2"}},
		"a place that nobody gave on": {func(t *testing.T, s *site) {
			s.cmd(t, "ZREM", "holding", "0000\x00x\x00x2")
			s.cmd(t, "ZREM", "turns", "x2")
			s.cmd(t, "HDEL", "jobs", "x2")
		}, []string{"free x3"}, []string{"x3"}},
		"one parked without a line": {func(t *testing.T, s *site) {
			s.cmd(t, "ZREM", "turns", "x4")
			s.cmd(t, "HDEL", "jobs", "x4")
		}, []string{"unlined x4"}, []string{"x2"}},
		"one parked that nothing finds": {func(t *testing.T, s *site) {
			for _, member := range texts(t, s.cmd(t, "ZRANGE", "parked", 0, 0)) {
				s.cmd(t, "ZREM", "parked", member)
			}
		}, []string{"unparked x3"}, []string{"x2"}},
		"one parked of no key": {func(t *testing.T, s *site) {
			for _, member := range texts(t, s.cmd(t, "ZRANGE", "parked", 0, 0)) {
				s.cmd(t, "ZREM", "parked", member)
			}
			s.cmd(t, "HDEL", "keyed", "x3")
		}, []string{"unparked x3"}, []string{"x3", "x2"}},
		"a queue of another number": {func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "holding", 0, "0007\x00x\x00x9")
			s.cmd(t, "ZADD", "parked", 0, "0007\x00x\x000000000000000840\x00x8")
		}, []string{"seat x9", "unlined x8"}, []string{"x2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.granted(t, "1 1 - - - -")
				row.damage(t, s)
				assert.Equal(t, row.found, s.agreeKeys(t, false), "who only looks changes nothing")
				assert.Equal(t, row.found, s.agreeKeys(t, false))
				s.agreeKeys(t, true)
				assert.Empty(t, s.agreeKeys(t, true), "once")
				ids, _ := s.bring(t, w, 2, 10)
				assert.Equal(t, row.runs, ids)
			})
		})
	}
}

// A job of an ordered key that waits for another attempt, and one that another partition has, keep their places.
func TestWhatHasItsPlaceByRightKeepsIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.granted(t, "1 1 - - - ohs")
		s.cmd(t, "ZREM", "turns", "x2")
		for _, shelf := range []string{"retry", "scheduled", "stalled", "morgue"} {
			s.cmd(t, "ZADD", shelf, 5, "x2")
			assert.Empty(t, s.agreeKeys(t, false), shelf)
			s.cmd(t, "ZREM", shelf, "x2")
		}
		s.cmd(t, "RPUSH", "queue:a", "x2")
		assert.Empty(t, s.agreeKeys(t, false), "in its list")
		s.cmd(t, "LREM", "queue:a", 0, "x2")
		s.cmd(t, "HDEL", "jobs", "x2")
		s.cmd(t, "HSET", "foreign", "x2", "1 a\x00\x00x")
		assert.Empty(t, s.agreeKeys(t, false), "in another partition")
	})
}

// What is found nowhere comes back to a queue that has forgotten its turns, and begins by the rule of its key even so.
func TestWhatWasLostKeepsTheRuleOfItsKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		s.store500(t, keyedJobs("a", "x", 1, 2))
		for _, key := range []string{"turns", "turning", "passes"} {
			s.cmd(t, "UNLINK", key)
		}
		var lost []rdb.LostJob
		for _, id := range []string{"x1", "x2"} {
			lost = append(lost, rdb.LostJob{Named: rdb.Named{ID: id, Queue: "a"}, Sure: true,
				Digest: rdb.Digest([]byte(text(s.cmd(t, "HGET", "jobs", id))))})
		}
		answers, err := rdb.Mender{Store: s.store, Mend: true}.RequeueLost(t.Context(), lost)
		require.NoError(t, err)
		require.Equal(t, []string{"lost", "lost"}, answers)
		ids, _ := s.bring(t, s.worker(t, "w1", "a"), 1, 10)
		assert.Len(t, ids, 1, "one at a time")
	})
}

// A queue in which nothing waits, and no key of which has a rule, may be forgotten while workers hold jobs of it, which
// came meanwhile. However these come back, and also while they run, the rule that their key gets then holds for them.
func TestJobsOfAQueueThatWasForgottenKeepTheRuleOfTheirKey(t *testing.T) {
	t.Parallel()
	rule := func(t *testing.T, s *site) {
		set, err := s.store.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "", "1 1 - - - - -")
		require.NoError(t, err)
		require.True(t, set)
	}
	claims := func(t *testing.T, s *site) []rdb.Holding {
		_, claims, err := s.store.Holdings(t.Context(), "0")
		require.NoError(t, err)
		return claims
	}
	dead := func(t *testing.T, s *site) {
		s.cmd(t, "SREM", "workers", "w1")
		s.cmd(t, "UNLINK", "worker:w1")
	}
	rows := map[string]struct {
		back func(t *testing.T, s *site, w *rdb.Worker, elements []string)
		runs int // of the jobs x1 to x3, at the next fetch
	}{
		"they run on": {func(*testing.T, *site, *rdb.Worker, []string) {}, 0},
		"given back": {func(t *testing.T, s *site, w *rdb.Worker, elements []string) {
			_, err := w.Settle(t.Context(), []redisconn.Call{w.Release(rdb.Released{Queue: "a", Elements: elements})})
			require.NoError(t, err)
		}, 1},
		"of a worker that nobody knows": {func(t *testing.T, s *site, _ *rdb.Worker, _ []string) {
			elements, err := s.store.Elements(t.Context(), "w1", "a", 0)
			require.NoError(t, err)
			dead(t, s)
			answers, err := rdb.Mender{Store: s.store, Mend: true}.AgreeClaims(t.Context(), elements)
			require.NoError(t, err)
			require.Equal(t, []string{"stray", "stray"}, answers)
		}, 1},
		"claimed by nobody": {func(t *testing.T, s *site, _ *rdb.Worker, _ []string) {
			dead(t, s)
			answers, err := rdb.Mender{Store: s.store, Mend: true}.RemoveClaims(t.Context(), claims(t, s))
			require.NoError(t, err)
			require.Equal(t, []string{"back", "back"}, answers)
		}, 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.store500(t, keyedJobs("a", "x", 1, 2))
				w := s.worker(t, "w1", "a")
				_, jobs := s.bring(t, w, 1, 10)
				gone, err := s.store.ForgetQueue(t.Context(), "a", true)
				require.NoError(t, err)
				require.True(t, gone)
				require.False(t, s.exists(t, "turning"))
				row.back(t, s, w, []string{jobs[0].Element, jobs[1].Element})
				rule(t, s)
				ids, _ := s.bring(t, s.worker(t, "w2", "a"), 1, 10)
				assert.Len(t, ids, row.runs)
				s.store500(t, keyedJobs("a", "x", 1, 3)[2:])
				ids, _ = s.bring(t, s.worker(t, "w3", "a"), 1, 10)
				assert.Empty(t, ids, "as many run as may")
			})
		})
	}
}
