package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// again is a job that is to do what one of pastOf did.
func again(former, id string, objects ...string) rdb.Again {
	return rdb.Again{Former: former, Shelf: rdb.EndedShelf{State: "done", Name: "a"}, Queue: "a",
		Beginning: []byte(`{"state":"done","name":"a","ended":1`), Details: []byte(former + " as done"),
		Marked: []byte(former + " as done, and again as " + id), ID: id, Record: []byte("record of " + id),
		Lock: rdb.Lock{Digest: "digest", Kind: rdb.UntilEnded}, Objects: objects}
}

// However often and from however many sides it is asked for, a job is stored once.
func TestAJobIsEnqueuedAgainOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1", "a2")
		s.cmd(t, "ZADD", "objects", 1, "sha")
		s.cmd(t, "UNLINK", "queues")
		for range 2 { // its reply may be lost
			answer, err := s.store.Again(t.Context(), again("a1", "new", "sha"))
			require.NoError(t, err)
			assert.Equal(t, rdb.AgainAnswer{Stored: true}, answer)
		}
		answer, err := s.store.Again(t.Context(), again("a1", "other", "sha"))
		require.NoError(t, err)
		assert.Equal(t, rdb.AgainAnswer{}, answer, "somebody else, who looked before")
		assert.Equal(t, []string{"new"}, s.list(t, "queue:a"))
		assert.Equal(t, map[string]string{"new": "record of new"}, s.hash(t, "jobs"))
		assert.Equal(t, "new 0 f", s.hash(t, "unique")["digest"])
		assert.Equal(t, []string{"new"}, s.set(t, "object:sha:jobs"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Contains(t, s.scores(t, "queues"), "a")
		assert.Equal(t, "a1 as done, and again as new", s.hash(t, "details:done:a")["a1"])
		requireBytes(t, s, "done:a")
	})
}

func TestWhatKeepsAJobFromBeingEnqueuedAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before func(t *testing.T, s *site)
		want   rdb.AgainAnswer
	}{
		"its id lives again": {before: func(t *testing.T, s *site) { s.cmd(t, "HSET", "jobs", "a1", "r") }},
		"it ended once more": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "outcomes", "a1", `{"state":"done","name":"a","ended":2}`)
		}},
		"its outcome is gone":  {before: func(t *testing.T, s *site) { s.cmd(t, "HDEL", "outcomes", "a1") }},
		"its details are gone": {before: func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "details:done:a") }},
		"an object is gone": {before: func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "objects") },
			want: rdb.AgainAnswer{NoObject: "sha"}},
		"another one of its kind lives": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "o 0 f")
			s.cmd(t, "HSET", "jobs", "o", "r")
		}, want: rdb.AgainAnswer{Owner: "o"}},
		"another one was of its kind for a time": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "o 9999999999999 t")
		}, want: rdb.AgainAnswer{Owner: "o"}},
		"another one of its kind runs elsewhere": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "o 0 f")
			s.cmd(t, "HSET", "foreign", "o", "1 a\x00digest")
		}, want: rdb.AgainAnswer{Owner: "o"}},
		"the lock of one that has gone": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "o 0 f")
		}, want: rdb.AgainAnswer{Stored: true}},
		"a lock for a time that is over": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "o 5 t")
		}, want: rdb.AgainAnswer{Stored: true}},
		"its own lock for a time": {before: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "unique", "digest", "a1 9999999999999 t")
		}, want: rdb.AgainAnswer{Stored: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				pastOf(t, s, "a1")
				s.cmd(t, "ZADD", "objects", 1, "sha")
				row.before(t, s)
				before := s.hash(t, "jobs")
				answer, err := s.store.Again(t.Context(), again("a1", "new", "sha"))
				require.NoError(t, err)
				assert.Equal(t, row.want, answer)
				if !answer.Stored {
					assert.Equal(t, before, s.hash(t, "jobs"))
					assert.Empty(t, s.list(t, "queue:a"))
				}
			})
		})
	}
}

// A job that was unique for a time does not take its lock anew: nobody knows for how long that was.
func TestALockForATimeIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		pastOf(t, s, "a1")
		timed := again("a1", "new")
		timed.Lock.Kind = "t"
		answer, err := s.store.Again(t.Context(), timed)
		require.NoError(t, err)
		assert.True(t, answer.Stored)
		assert.Empty(t, s.hash(t, "unique"))
	})
}
