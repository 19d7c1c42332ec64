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

func TestEnqueuePutsEachJobInItsPlace(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t)
		later, past := now.Add(time.Hour).UnixMilli(), now.Add(-time.Hour).UnixMilli()
		place := func(queue, id string, place rdb.Place, when int64) rdb.NewJob {
			j := job(queue, id)
			j.Place, j.When = place, when
			return j
		}
		answer, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{
			job("a", "a1"), job("b", "b1"), job("a", "a2"),
			place("a", "f1", rdb.Front, 0), place("a", "f2", rdb.Front, 0),
			place("c", "in", rdb.In, 60_000), place("c", "at", rdb.At, later),
			place("b", "past", rdb.At, past), place("b", "at-once", rdb.In, 0),
		})
		require.NoError(t, err)
		assert.Empty(t, answer.Problems)
		assert.WithinDuration(t, now, answer.Time, 5*time.Second)

		assert.Equal(t, []string{"f2", "f1", "a1", "a2"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"b1", "past", "at-once"}, s.list(t, "queue:b"))
		scheduled := s.scores(t, "scheduled")
		assert.Len(t, scheduled, 2)
		assert.Equal(t, text(later), scheduled["at"])
		assert.Equal(t, text(answer.Time.UnixMilli()+60_000), scheduled["in"])
		assert.Equal(t, map[string]string{"in": "c", "at": "c"}, s.hash(t, "names"))
		assert.Equal(t, []string{"a", "b"}, s.set(t, "ready"))
		assert.Len(t, s.scores(t, "queues"), 3)
		assert.Len(t, s.hash(t, "jobs"), 9)
		for _, queue := range []string{"a", "b"} {
			assert.Equal(t, []string{"1"}, s.list(t, "wake:"+queue), "one token, however many were pushed")
		}
		assert.False(t, s.exists(t, "wake:c"))
	})
}

// What is of one queue goes through a script of its own.
func TestEnqueueOfOneQueue(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t)
		front := func(id string) rdb.NewJob {
			j := job("a", id)
			j.Place = rdb.Front
			return j
		}
		for i, jobs := range [][]rdb.NewJob{
			{job("a", "a1"), job("a", "a2"), job("a", "a3")}, {job("a", "a4")}, {front("f1"), front("f2")},
			{front("f3")},
		} {
			answer, err := s.store.Enqueue(t.Context(), "lane", int64(i), jobs)
			require.NoError(t, err)
			assert.Empty(t, answer.Problems)
			assert.WithinDuration(t, now, answer.Time, 5*time.Second)
		}
		assert.Equal(t, []string{"f3", "f2", "f1", "a1", "a2", "a3", "a4"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Len(t, s.scores(t, "queues"), 1)
		assert.Len(t, s.hash(t, "jobs"), 7)
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"), "one token, however many were pushed")

		s.cmd(t, "UNLINK", "queue:a", "ready", "wake:a")
		_, err := s.store.Enqueue(t.Context(), "lane", 9, []rdb.NewJob{front("f4"), front("f5")})
		require.NoError(t, err)
		assert.Equal(t, []string{"f5", "f4"}, s.list(t, "queue:a"), "at the front of none")
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))

		s.cmd(t, "SET", "queue:bad", "something else")
		answer, err := s.store.Enqueue(t.Context(), "lane", 10, []rdb.NewJob{job("bad", "b1"), job("bad", "b2")})
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{0: rdb.BadKey, 1: rdb.BadKey}, answer.Problems)
		assert.Len(t, s.hash(t, "jobs"), 9, "what has no place has no record")
		again, err := s.store.Enqueue(t.Context(), "lane", 10, []rdb.NewJob{job("bad", "b1"), job("bad", "b2")})
		require.NoError(t, err)
		assert.Equal(t, answer, again)
	})
}

// So does what is of several.
func TestEnqueueOfSeveralQueues(t *testing.T) {
	t.Parallel()
	front := func(queue, id string) rdb.NewJob {
		j := job(queue, id)
		j.Place = rdb.Front
		return j
	}
	onEach(t, func(t *testing.T, s *site) {
		now := s.now(t)
		for i, jobs := range [][]rdb.NewJob{
			{job("a", "a1"), job("b", "b1"), job("a", "a2")},
			{front("a", "f1"), job("a", "a3"), front("b", "f2"), front("a", "f3"), job("c", "c1")},
		} {
			answer, err := s.store.Enqueue(t.Context(), "lane", int64(i), jobs)
			require.NoError(t, err)
			assert.Empty(t, answer.Problems)
			assert.WithinDuration(t, now, answer.Time, 5*time.Second)
		}
		assert.Equal(t, []string{"f3", "f1", "a1", "a2", "a3"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"f2", "b1"}, s.list(t, "queue:b"))
		assert.Equal(t, []string{"a", "b", "c"}, s.set(t, "ready"))
		assert.Len(t, s.scores(t, "queues"), 3)
		records := s.hash(t, "jobs")
		assert.Len(t, records, 8)
		for _, j := range []rdb.NewJob{job("a", "a3"), job("b", "f2"), job("a", "f1"), job("c", "c1")} {
			assert.Equal(t, string(j.Record), records[j.ID])
		}
		for _, queue := range []string{"a", "b", "c"} {
			assert.Equal(t, []string{"1"}, s.list(t, "wake:"+queue), "one token, however many were pushed")
		}

		s.cmd(t, "SET", "queue:bad", "something else")
		some := []rdb.NewJob{job("a", "a4"), job("bad", "b2"), job("b", "b3"), job("bad", "b4")}
		answer, err := s.store.Enqueue(t.Context(), "lane", 10, some)
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{1: rdb.BadKey, 3: rdb.BadKey}, answer.Problems)
		records = s.hash(t, "jobs")
		assert.Len(t, records, 10, "what has no place has no record")
		assert.Equal(t, string(some[2].Record), records["b3"])
		again, err := s.store.Enqueue(t.Context(), "lane", 10, some)
		require.NoError(t, err)
		assert.Equal(t, answer, again)
		_, err = s.store.Enqueue(t.Context(), "lane", 9, some)
		assert.ErrorContains(t, err, "STALE")
	})
}

// What is kept to make the next call from forgets the one before, however many queues that had.
func TestEnqueueOfMoreAndFewerQueues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		stored := 0
		for i, queues := range []int{2, 15, 16, 17, 100, 3, 40, 17, 500} {
			jobs := make([]rdb.NewJob, rdb.MaxBatch)
			for j := range jobs {
				jobs[j] = job(fmt.Sprintf("q%d", j*7%queues), fmt.Sprintf("%d-%d", i, j))
			}
			answer, err := s.store.Enqueue(t.Context(), "lane", int64(i), jobs)
			require.NoError(t, err)
			assert.Empty(t, answer.Problems)
			stored += len(jobs)
			assert.Len(t, s.hash(t, "jobs"), stored)
			for _, at := range []int{0, 1, 499} {
				assert.Contains(t, s.list(t, "queue:"+jobs[at].Queue), jobs[at].ID)
				assert.Equal(t, string(jobs[at].Record), s.hash(t, "jobs")[jobs[at].ID])
			}
		}
	})
}

func TestEnqueueSentAgainAnswersTheSameAndStoresNothing(t *testing.T) {
	t.Parallel()
	chosen := job("a", "mine")
	chosen.Chosen = true
	for name, row := range map[string]struct {
		jobs     []rdb.NewJob
		problems map[int]rdb.Problem
	}{
		"of one queue":  {jobs: []rdb.NewJob{job("a", "a1"), job("a", "a2")}},
		"of two queues": {jobs: []rdb.NewJob{job("a", "a1"), job("b", "a2")}},
		"of chosen ids": {jobs: []rdb.NewJob{chosen, job("a", "a1"), chosen},
			problems: map[int]rdb.Problem{2: rdb.Duplicate}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				const number = 1_234_567_890_123_456_789 / 1000 // as large as a clock in microseconds
				first, err := s.store.Enqueue(t.Context(), "lane", number, row.jobs)
				require.NoError(t, err)
				assert.Equal(t, row.problems, first.Problems)

				w := s.worker(t, "w1", "a", "b")
				require.Empty(t, settle(t, w, w.Complete(ended(s.take(t, w, 1, 10, "a", "b")...))))
				s.pass(t, 5*time.Millisecond)
				again, err := s.store.Enqueue(t.Context(), "lane", number, row.jobs)
				require.NoError(t, err)
				assert.Equal(t, first, again)
				assert.Empty(t, s.list(t, "queue:a"))
				assert.Empty(t, s.list(t, "queue:b"))
				assert.Empty(t, s.hash(t, "jobs"))
			})
		})
	}
}

func TestEnqueueThatCameAfterANewerIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		_, err := s.store.Enqueue(t.Context(), "lane", 9, []rdb.NewJob{job("a", "a9")})
		require.NoError(t, err)
		chosen := job("b", "b8")
		chosen.Chosen = true
		for _, late := range [][]rdb.NewJob{
			{job("a", "a8")}, {job("a", "a8"), job("b", "b8")}, {job("a", "a8"), chosen},
		} {
			_, err = s.store.Enqueue(t.Context(), "lane", 8, late)
			var refused *redisconn.ServerError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, "STALE", refused.Code)
		}
		_, err = s.store.Enqueue(t.Context(), "another", 1, []rdb.NewJob{job("a", "a1")})
		require.NoError(t, err)
		assert.Equal(t, []string{"a9", "a1"}, s.list(t, "queue:a"))
	})
}

func TestEnqueueRefusesAChosenIDThatLives(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "x")
		again, fresh, later := job("b", "x"), job("b", "y"), job("b", "z")
		again.Chosen, fresh.Chosen, later.Chosen = true, true, true
		later.Place, later.When = rdb.In, 1000
		answer, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{job("b", "b1"), again, fresh, later, later})
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{1: rdb.Duplicate, 4: rdb.Duplicate}, answer.Problems)
		assert.Equal(t, []string{"x"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"b1", "y"}, s.list(t, "queue:b"))
	})
}

func TestEnqueueNamesAQueueKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "SET", "queue:bad", "something else")
		s.cmd(t, "SET", "wake:a", "something else")
		answer, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{
			job("a", "a1"), job("bad", "b1"), job("c", "c1"), job("bad", "b2"),
		})
		require.NoError(t, err)
		assert.Equal(t, map[int]rdb.Problem{1: rdb.BadKey, 3: rdb.BadKey}, answer.Problems)
		assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"), "a broken list of tokens costs time, never a job")
		assert.Equal(t, []string{"c1"}, s.list(t, "queue:c"))
		assert.Equal(t, []string{"a", "c"}, s.set(t, "ready"))
		assert.Len(t, s.hash(t, "jobs"), 2, "what has no place has no record")
	})
}

func TestEnqueueRefusesAKeyOfAnotherTypeBeforeItWrites(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"jobs", "queues", "ready", "scheduled", "names", "lanes"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "SET", key, "something else")
				later := job("a", "a2")
				later.Place, later.When = rdb.In, 1000
				_, err := s.store.Enqueue(t.Context(), "lane", 1, []rdb.NewJob{job("a", "a1"), later})
				var refused *redisconn.ServerError
				require.ErrorAs(t, err, &refused)
				assert.Contains(t, refused.Message, "wrong")
				assert.False(t, s.exists(t, "queue:a"))
			})
		})
	}
}

// A call with one queue and nothing but records asks about the list of queues only where it writes there.
func TestAPlainEnqueueRefusesAKeyOfAnotherTypeBeforeItWrites(t *testing.T) {
	t.Parallel()
	front := job("a", "a2")
	front.Place = rdb.Front
	for name, plain := range map[string][]rdb.NewJob{
		"of one place": {job("a", "a1"), job("a", "a2")}, "of two places": {job("a", "a2"), front, job("a", "a1")},
	} {
		for _, key := range []string{"jobs", "queues", "ready", "lanes"} {
			t.Run(name+", "+key, func(t *testing.T) {
				t.Parallel()
				onEach(t, func(t *testing.T, s *site) {
					s.cmd(t, "SET", key, "something else")
					_, err := s.store.Enqueue(t.Context(), "lane", 1, plain)
					var refused *redisconn.ServerError
					require.ErrorAs(t, err, &refused)
					assert.Contains(t, refused.Message, "wrong")
					assert.False(t, s.exists(t, "queue:a"))

					s.cmd(t, "DEL", key)
					_, err = s.store.Enqueue(t.Context(), "lane", 1, plain)
					require.NoError(t, err)
					assert.Len(t, s.list(t, "queue:a"), len(plain))
					assert.True(t, s.exists(t, "ready"))
				})
			})
		}
	}
}

// A queue that has jobs already gets the new ones before the records are written: it is as it was, where those cannot
// be.
func TestAPlainEnqueueTakesBackWhatItHasPushed(t *testing.T) {
	t.Parallel()
	for place, before := range map[rdb.Place]string{rdb.Back: "back", rdb.Front: "front"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "SET", "jobs", "something else")
				s.cmd(t, "RPUSH", "queue:a", "old1", "old2", "old3")
				jobs := []rdb.NewJob{job("a", "a1"), job("a", "a2")}
				jobs[0].Place, jobs[1].Place = place, place
				_, err := s.store.Enqueue(t.Context(), "lane", 1, jobs)
				require.ErrorContains(t, err, "BADKEY")
				assert.Equal(t, []string{"old3", "old2", "old1"}, s.list(t, "queue:a"), "the front one first")
				assert.False(t, s.exists(t, "lanes"), "it can be sent again")
			})
		})
	}
}

func TestEnqueueToAPausedQueueWakesNobody(t *testing.T) {
	t.Parallel()
	for name, jobs := range map[string][]rdb.NewJob{
		"of one queue": {job("a", "a1")}, "of two queues": {job("a", "a1"), job("b", "b1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "HSET", "limits", "a", "1 - - - -")
				_, err := s.store.Enqueue(t.Context(), "lane", 1, jobs)
				require.NoError(t, err)
				assert.False(t, s.exists(t, "wake:a"))
				assert.Equal(t, len(jobs) > 1, s.exists(t, "wake:b"))
				assert.Contains(t, s.set(t, "ready"), "a")
			})
		})
	}
}
