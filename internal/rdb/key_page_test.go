package rdb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// park writes so many parked jobs of a key of the first queue that has turns.
func (s *site) park(t *testing.T, key string, from, n, weight int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		id := fmt.Sprintf("%s-%d", key, i)
		s.cmd(t, "ZADD", "parked", 0, fmt.Sprintf("0000\x00%s\x00%016d\x00%s", key, i, id))
		s.cmd(t, "ZADD", "turns", int64(1)<<52+int64(i), id)
		s.cmd(t, "HSET", "keyed", id, fmt.Sprintf("%d %s", weight, key))
	}
}

// line reads the line of a queue.
func (s *site) line(t *testing.T, queue string) rdb.KeyLine {
	t.Helper()
	line, err := s.store.KeyLine(t.Context(), queue)
	require.NoError(t, err)
	return line
}

// Each key that has more than a 256th of what is parked is found, however many there are, and wherever it stands.
func TestTheKeysWithTheMostParkedJobsAreFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "first", 1, 1))
		s.store500(t, keyedJobs("b", "other", 1, 1))
		for n := range 700 {
			s.park(t, fmt.Sprintf("k%03d", n), n, 1, 1)
		}
		for _, key := range []string{"aaa", "k350x", "zzz"} {
			s.park(t, key, 0, 9, 4)
		}
		for n := range 40 { // of the queue behind it
			s.cmd(t, "ZADD", "parked", 0, fmt.Sprintf("0001\x00zzz\x00%016d\x00other-%d", n, n))
		}
		line := s.line(t, "a")
		assert.Equal(t, 727, line.Parked)
		keys, atLeast, err := s.store.KeysMostParked(t.Context(), &line)
		require.NoError(t, err)
		assert.Equal(t, 3, atLeast)
		assert.Subset(t, keys, []string{"aaa", "k350x", "zzz"})
		assert.LessOrEqual(t, len(keys), 256)
		states, err := s.store.KeyStates(t.Context(), &line, []string{"aaa", "zzz", "k007", "first", "nobody"})
		require.NoError(t, err)
		assert.Equal(t, []rdb.KeyState{
			{Key: "aaa", Weight: 4, Waiting: 9, Exact: true, Parked: 9},
			{Key: "zzz", Weight: 4, Waiting: 9, Exact: true, Parked: 9},
			{Key: "k007", Weight: 1, Waiting: 1, Exact: true, Parked: 1},
			{Key: "first", Weight: 1, Waiting: 1, Exact: true, InLine: true}, {Key: "nobody", Exact: true},
		}, states)
	})
}

// Keys are read one after the other, whether each has one member or hundreds.
func TestKeysAreReadByTheirNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "first", 1, 1))
		var want []string
		for n := range 30 {
			key := fmt.Sprintf("k%02d", n)
			want = append(want, key)
			s.park(t, key, 0, 1+n%3*70, 1)
			s.cmd(t, "ZADD", "holding", 0, "0000\x00"+key+"\x00h"+key)
		}
		s.cmd(t, "ZADD", "holding", 0, "0001\x00elsewhere\x00x")
		s.cmd(t, "HSET", "keyrules", "\x00", "done")
		line := s.line(t, "a")
		assert.Equal(t, 30, line.Held)
		for _, n := range []int{1, 7, 100} {
			for _, read := range []func(cursor *rdb.KeyCursor) ([]string, error){
				func(c *rdb.KeyCursor) ([]string, error) { return s.store.KeysParked(t.Context(), &line, c, n) },
				func(c *rdb.KeyCursor) ([]string, error) { return s.store.KeysHeld(t.Context(), &line, c, n) },
			} {
				var all []string
				for cursor := (rdb.KeyCursor{}); ; {
					keys, err := read(&cursor)
					require.NoError(t, err)
					if len(keys) == 0 {
						break
					}
					assert.LessOrEqual(t, len(keys), n)
					all = append(all, keys...)
				}
				assert.Equal(t, want, all)
			}
		}
	})
}

// A key of which jobs are parked and others wait for their turn has both, none of them twice.
func TestParkedJobsAndThoseInLineAreAddedUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 2, 1500))
		w := s.worker(t, "w1", "a")
		require.Len(t, s.draw(t, w, 1, "a", 100), 100)
		s.park(t, "x", 10, 5, 2) // before what was served last
		line := s.line(t, "a")
		states, err := s.store.KeyStates(t.Context(), &line, []string{"x"})
		require.NoError(t, err)
		assert.Equal(t, []rdb.KeyState{{Key: "x", Weight: 2, Waiting: 1405, Parked: 5, InLine: true}}, states)
	})
}

// What is parked waits as all else does: it is counted, and comes behind the jobs that may be drawn.
func TestParkedJobsWaitInTheirQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		s.store500(t, keyedJobs("b", "other", 1, 2))
		s.store500(t, keyedJobs("a", "x", 1, 4))
		w := s.worker(t, "w1", "a")
		ids, jobs := s.bring(t, w, 1, 10)
		require.Equal(t, []string{"x1"}, ids)
		s.store500(t, keyedJobs("a", "y", 1, 3))
		heads, err := s.store.QueueHeads(t.Context(), []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, []rdb.QueueHead{{Length: 6, Parked: 3, First: "y1", Keys: 2}}, heads)
		length, err := s.store.Length(t.Context(), "a", "")
		require.NoError(t, err)
		assert.Equal(t, 6, length)
		load, err := s.store.Load(t.Context(), []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, 6, load)
		for _, newest := range []bool{false, true} {
			want := []string{"y1", "y2", "y3", "x2", "x3", "x4"}
			if newest {
				slices.Reverse(want)
			}
			for n := 1; n < 8; n++ {
				var all []string
				for cursor := (rdb.ShelfCursor{Newest: newest}); ; {
					page, err := s.store.Turns(t.Context(), "a", &cursor, n)
					require.NoError(t, err)
					if len(page) == 0 {
						break
					}
					require.LessOrEqual(t, len(page), n)
					for _, job := range page {
						all = append(all, job.ID)
					}
				}
				assert.Equal(t, want, all, "%d at once, newest %t", n, newest)
			}
		}
		ids, _ = s.bring(t, w, 2, 1)
		require.Equal(t, []string{"y1"}, ids)
		line := s.line(t, "a")
		states, err := s.store.KeyStates(t.Context(), &line, []string{"x", "y"})
		require.NoError(t, err)
		for i := range states {
			assert.Equal(t, 1, states[i].Restraint.Rule.Concurrent)
			assert.Equal(t, 1, states[i].Restraint.Running)
			states[i].Restraint = rdb.Restraint{}
		}
		assert.Equal(t, []rdb.KeyState{
			{Key: "x", Weight: 1, Waiting: 3, Exact: true, Parked: 3, Running: 1, InLine: states[0].InLine},
			{Key: "y", Weight: 1, Waiting: 2, Exact: true, Running: 1, InLine: true},
		}, states)
		assert.True(t, s.end(t, w, jobs[0]))
		line = s.line(t, "a")
		assert.Equal(t, 2, line.Parked)
		assert.Equal(t, 2, line.Held, "the next of x has the place already")
	})
}
