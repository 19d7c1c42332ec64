package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// locking are the transitions of locks and of the jobs that have them.
func locking() []transition {
	locked := func(t *testing.T, s *site) {
		holding(t, s)
		s.cmd(t, "HSET", "unique", "begun", "a1 0 s", "kept", "a2 0 f", "old", "a3 5 t", "void", "ghost 0 f")
	}
	amend := func(a rdb.Amendment) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) { return store.Amend(background, a) }
	}
	return []transition{
		{name: "begin", script: "job/begin", prepare: locked, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Worker("w1").Begin(background, rdb.Claim{Queue: "a", Element: "1:a1"}, "begun")
		}},
		{name: "shelve, lock", script: "job/shelve", prepare: locked,
			send: func(_ *site, store *rdb.Store) (any, error) {
				w := store.Worker("w1")
				settled, err := w.Settle(background, []redisconn.Call{w.Shelve(rdb.Shelved{
					Claim: rdb.Claim{Queue: "a", Element: "1:a2"}, Shelf: rdb.ShelfMorgue, Lock: "kept",
				})})
				if err != nil {
					return nil, err
				}
				return settled[0], settled[0].Err
			}},
		{name: "void", script: "repair/free_locks", prepare: locked,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, _, err := store.FreeLocks(background, "")
				return nil, err
			}},
		{name: "amend", script: "inspect/edit", prepare: holding,
			send: amend(rdb.Amendment{ID: "a3", Read: record("a3"), New: []byte("new")})},
		{name: "amend, put off", script: "inspect/edit", prepare: func(t *testing.T, s *site) {
			s.plan(t, "a", "a1", 1000)
		}, send: func(s *site, store *rdb.Store) (any, error) {
			return store.Amend(background, rdb.Amendment{ID: "a1", Read: record("a1"), New: []byte("new"),
				Place: rdb.At, When: 9e14})
		}},
	}
}

func TestBeginFreesALockOfItsOwnJobOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, 2, "a")
		locks := map[string]string{"own": "a1 0 s", "ended": "a1 0 f", "time": "a1 9999999999999 t", "other": "a2 0 s",
			"spaced": "b a1 0 s"}
		for digest, lock := range locks {
			s.cmd(t, "HSET", "unique", digest, lock)
		}
		gone := rdb.Claim{Queue: "a", Element: "2:a1"}
		for digest := range locks {
			begun, err := w.Begin(t.Context(), gone, digest)
			require.NoError(t, err)
			assert.False(t, begun, "the claim is gone")
		}
		assert.Equal(t, locks, s.hash(t, "unique"))
		for digest := range locks {
			begun, err := w.Begin(t.Context(), claims[0], digest)
			require.NoError(t, err)
			assert.True(t, begun)
		}
		delete(locks, "own")
		assert.Equal(t, locks, s.hash(t, "unique"))
	})
}

func TestShelvingFreesTheLockThatIsNamedIfItIsTheJobs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		w := s.worker(t, "w1", "a")
		claims := s.take(t, w, 1, 3, "a")
		s.cmd(t, "HSET", "unique", "first", "a1 0 f", "second", "a2 0 f", "other", "a1 0 f", "third", "a3 0 f")
		bury := func(claim rdb.Claim, lock string) {
			settle(t, w, w.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.ShelfMorgue, Lock: lock}))
		}
		bury(claims[0], "first")
		bury(claims[1], "other")
		bury(claims[2], "")
		bury(claims[2], "third") // its claim is gone
		assert.Equal(t, map[string]string{"second": "a2 0 f", "other": "a1 0 f", "third": "a3 0 f"},
			s.hash(t, "unique"))
	})
}

func TestAmend(t *testing.T) {
	t.Parallel()
	old, changed := record("a1"), []byte(`{"jid":"a1","args":[2]}`)
	waits := func(t *testing.T, s *site) { s.enqueue(t, "a", "a1") }
	planned := func(t *testing.T, s *site) { s.plan(t, "a", "a1", 60_000) }
	at := func(t *testing.T, s *site, d time.Duration) int64 { return s.now(t).Add(d).UnixMilli() }
	tests := map[string]struct {
		prepare func(t *testing.T, s *site)
		change  func(t *testing.T, s *site, a *rdb.Amendment)
		want    rdb.Amended
		record  string
		later   bool // than it was
	}{
		"waits in its queue": {prepare: waits, want: rdb.AmendDone, record: string(changed)},
		"planned":            {prepare: planned, want: rdb.AmendDone, record: string(changed)},
		"put off for so long": {prepare: planned, change: func(_ *testing.T, _ *site, a *rdb.Amendment) {
			a.Place,
				a.When = rdb.In, 3600_000
		},
			want: rdb.AmendDone, record: string(changed), later: true},
		"put off until": {prepare: planned, change: func(t *testing.T, s *site, a *rdb.Amendment) {
			a.Place, a.When = rdb.At, at(t, s, time.Hour)
		}, want: rdb.AmendDone, record: string(changed), later: true},
		"put off to an earlier time": {prepare: planned,
			change: func(_ *testing.T, _ *site, a *rdb.Amendment) { a.Place, a.When = rdb.In, 1 },
			want:   rdb.AmendDone, record: string(changed)},
		"to be put off, but due": {prepare: waits, change: func(_ *testing.T, _ *site, a *rdb.Amendment) {
			a.Place,
				a.When = rdb.In, 1
		},
			want: rdb.AmendDue, record: string(old)},
		"no such job": {prepare: func(*testing.T, *site) {}, want: rdb.AmendGone},
		"read as another one": {prepare: waits,
			change: func(_ *testing.T, _ *site, a *rdb.Amendment) { a.Read = []byte("{}") },
			want:   rdb.AmendOther, record: string(old)},
		"held": {prepare: func(t *testing.T, s *site) {
			waits(t, s)
			s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
		}, want: rdb.AmendHeld, record: string(old)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				tt.prepare(t, s)
				before := s.scores(t, "scheduled")["a1"]
				a := rdb.Amendment{ID: "a1", Read: old, New: changed}
				if tt.change != nil {
					tt.change(t, s, &a)
				}
				for range 2 {
					got, err := s.store.Amend(t.Context(), a)
					require.NoError(t, err)
					assert.Equal(t, tt.want, got)
					assert.Equal(t, tt.record, s.hash(t, "jobs")["a1"])
				}
				after := s.scores(t, "scheduled")["a1"]
				if !tt.later {
					assert.Equal(t, before, after)
					return
				}
				assert.InDelta(t, at(t, s, time.Hour), asInt(t, after), 5000)
			})
		})
	}
}

func TestVoidLocksAreRemovedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "with space")
		future := s.now(t).Add(time.Hour).UnixMilli()
		good := map[string]string{
			"ended": "a1 0 f", "begun": "a1 0 s", "space": "with space 0 f", "morgue": "a1 0 m",
			"its time": fmt.Sprintf("ghost %d t", future),
		}
		void := map[string]string{
			"no owner": "ghost 0 f", "no owner, begun": "ghost 0 s", "no owner, morgue": "ghost 0 m",
			"time over": "a1 5 t", "nonsense": "x",
		}
		for range 300 { // more than one part of a walk
			void[fmt.Sprint("ghost ", len(void))] = "ghost 0 f"
		}
		for digest, lock := range good {
			s.cmd(t, "HSET", "unique", digest, lock)
		}
		for digest, lock := range void {
			s.cmd(t, "HSET", "unique", digest, lock)
		}
		removed, cursor := 0, ""
		for {
			next, n, err := s.store.FreeLocks(t.Context(), cursor)
			require.NoError(t, err)
			removed += n
			if cursor = next; cursor == "" {
				break
			}
		}
		assert.Equal(t, len(void), removed)
		assert.Equal(t, good, s.hash(t, "unique"))
	})
}
