package rdb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// keyRule puts a rule of keys into force.
func (s *site) keyRule(t *testing.T, of, text string) {
	t.Helper()
	s.cmd(t, "HSET", "keyrules", of, text, "\x00", "done")
	require.NoError(t, s.store.SeatRunning(t.Context()))
}

// bring fetches up to n jobs of queue a, and returns their ids and their claims.
func (s *site) bring(t *testing.T, w *rdb.Worker, number int64, n int) (ids []string, jobs []rdb.FetchedJob) {
	t.Helper()
	fetched, err := w.Fetch(t.Context(), number, n, true, []rdb.Share{{Queue: "a", Jobs: n}})
	require.NoError(t, err)
	require.Equal(t, rdb.Registered, fetched.State)
	require.Zero(t, fetched.Dropped)
	for _, job := range fetched.Jobs {
		ids = append(ids, job.ID)
	}
	return ids, fetched.Jobs
}

// end ends jobs, and tells whether the queue may have room by that.
func (s *site) end(t *testing.T, w *rdb.Worker, jobs ...rdb.FetchedJob) bool {
	t.Helper()
	ended := make([]rdb.Ended, len(jobs))
	for i, job := range jobs {
		ended[i] = rdb.Ended{Claim: job.Claim, ID: job.ID, Keyed: true}
	}
	settled, err := w.Settle(t.Context(), []redisconn.Call{w.Complete(ended)})
	require.NoError(t, err)
	require.NoError(t, settled[0].Err)
	require.Empty(t, settled[0].Gone)
	return settled[0].Roomy
}

// places are the ids that have places of a key, and those that are parked, first come first.
func (s *site) places(t *testing.T, key string) (holding, parked []string) {
	t.Helper()
	last := func(set string) (ids []string) {
		for _, member := range texts(t, s.cmd(t, "ZRANGE", set, 0, -1)) {
			if parts := strings.Split(member, "\x00"); parts[1] == key {
				ids = append(ids, parts[len(parts)-1])
			}
		}
		return ids
	}
	return last("holding"), last("parked")
}

func TestAKeyHasAsManyRunningAsItsRuleSays(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 2 - - - -")
		s.store500(t, keyedJobs("a", "x", 1, 5))
		s.store500(t, keyedJobs("a", "y", 1, 1))
		w := s.worker(t, "w1", "a")
		ids, jobs := s.bring(t, w, 1, 10)
		assert.Equal(t, []string{"x1", "y1", "x2"}, ids)
		holding, parked := s.places(t, "x")
		assert.Equal(t, []string{"x1", "x2"}, holding)
		assert.Equal(t, []string{"x3", "x4", "x5"}, parked)
		assert.Empty(t, s.set(t, "ready"), "what is parked is not to be fetched")
		ids, _ = s.bring(t, w, 2, 10)
		assert.Empty(t, ids)

		assert.True(t, s.end(t, w, jobs[0]), "a place is free")
		holding, parked = s.places(t, "x")
		assert.Equal(t, []string{"x2", "x3"}, holding)
		assert.Equal(t, []string{"x4", "x5"}, parked)
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		s.store500(t, keyedJobs("a", "z", 1, 1))
		ids, _ = s.bring(t, w, 3, 10)
		assert.ElementsMatch(t, []string{"x3", "z1"}, ids)
		assert.False(t, s.end(t, w, jobs[1]), "nobody waits for the place of y")
	})
}

func TestWhatEndsOtherwiseLeavesItsPlace(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(w *rdb.Worker, job rdb.FetchedJob) redisconn.Call{
		"end": func(w *rdb.Worker, job rdb.FetchedJob) redisconn.Call {
			return w.End(job.Claim, rdb.Ending{ID: job.ID, Queue: "a", State: "done"})
		},
		"retry": func(w *rdb.Worker, job rdb.FetchedJob) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfRetry, Delay: time.Hour, Keyed: true})
		},
		"morgue": func(w *rdb.Worker, job rdb.FetchedJob) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfMorgue, Keyed: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.keyRule(t, "a", "1 1 - - - -")
				s.store500(t, keyedJobs("a", "x", 1, 3))
				w := s.worker(t, "w1", "a")
				_, jobs := s.bring(t, w, 1, 10)
				require.Len(t, jobs, 1)
				settled, err := w.Settle(t.Context(), []redisconn.Call{leave(w, jobs[0])})
				require.NoError(t, err)
				assert.True(t, settled[0].Roomy, "%+v", settled[0])
				ids, _ := s.bring(t, w, 2, 10)
				assert.Equal(t, []string{"x2"}, ids)
			})
		})
	}
}

// Whoever is given back keeps its place, and is first.
func TestWhatIsGivenBackKeepsItsPlace(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - og")
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		settled, err := w.Settle(t.Context(),
			[]redisconn.Call{w.Release(rdb.Released{Queue: "a", Elements: []string{jobs[0].Element}})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		ids, _ := s.bring(t, w, 2, 10)
		assert.Equal(t, []string{"x1"}, ids)
	})
}

// A retry of an ordered key holds it, and is next when it is due; where it goes to the back, others go on.
func TestARetryHoldsAnOrderedKey(t *testing.T) {
	t.Parallel()
	for order, wanted := range map[string][]string{"hg": {"x1"}, "bg": {"x2"}} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.keyRule(t, "a", "1 - - - - o"+order)
				s.store500(t, keyedJobs("a", "x", 1, 3))
				w := s.worker(t, "w1", "a")
				_, jobs := s.bring(t, w, 1, 10)
				require.Len(t, jobs, 1)
				_, err := w.Settle(t.Context(), []redisconn.Call{w.Shelve(rdb.Shelved{Claim: jobs[0].Claim,
					Shelf: rdb.ShelfRetry, Delay: time.Millisecond, Keyed: true})})
				require.NoError(t, err)
				if order == "hg" {
					ids, _ := s.bring(t, w, 2, 10)
					assert.Empty(t, ids)
				}
				s.pass(t, 5*time.Millisecond)
				due, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{})
				require.NoError(t, err)
				_, err = s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: due.Page})
				require.NoError(t, err)
				ids, _ := s.bring(t, w, 3, 10)
				assert.Equal(t, wanted, ids)
			})
		})
	}
}

// A key whose dead job stops it goes on once somebody has decided.
func TestADeathMayStopAnOrderedKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 - - - - ohs")
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		_, err := w.Settle(t.Context(), []redisconn.Call{w.Shelve(rdb.Shelved{Claim: jobs[0].Claim,
			Shelf: rdb.ShelfMorgue, Keyed: true})})
		require.NoError(t, err)
		ids, _ := s.bring(t, w, 2, 10)
		assert.Empty(t, ids)
		holding, _ := s.places(t, "x")
		assert.Equal(t, []string{"x1"}, holding)
	})
}

func TestAKeyBeginsNoMoreThanItsRateLets(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 - 2 1000 1 -")
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w1", "a")
		ids, _ := s.bring(t, w, 1, 10)
		assert.Equal(t, []string{"x1"}, ids)
		_, parked := s.places(t, "x")
		assert.Equal(t, []string{"x2", "x3"}, parked)
		assert.Equal(t, []string{"a"}, s.set(t, "ready"), "somebody is to wait for the rate")
		fetched, err := w.Fetch(t.Context(), 2, 10, true, []rdb.Share{{Queue: "a", Jobs: 10}})
		require.NoError(t, err)
		assert.Positive(t, fetched.Later["a"])
		assert.LessOrEqual(t, fetched.Later["a"], 501*time.Millisecond, "in whole ms")
		s.pass(t, fetched.Later["a"]+time.Millisecond)
		ids, _ = s.bring(t, w, 3, 10)
		assert.Equal(t, []string{"x2"}, ids)
		ids, _ = s.bring(t, w, 4, 10)
		assert.Empty(t, ids)
	})
}

func TestAKeyMayHaveARuleOfItsOwn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - -")
		s.keyRule(t, "a\x00x", "1 0 - - -")
		s.keyRule(t, "a\x00y", "1 3 - - -")
		for _, key := range []string{"x", "y", "z"} {
			s.store500(t, keyedJobs("a", key, 1, 4))
		}
		ids, _ := s.bring(t, s.worker(t, "w1", "a"), 1, 100)
		slices.Sort(ids)
		assert.Equal(t, []string{"y1", "y2", "y3", "z1"}, ids)
	})
}

// Who is deleted by hand gives its place on, and somebody is called to fetch the next.
func TestWhoIsDeletedGivesItsPlaceOn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - ohg -")
		s.store500(t, keyedJobs("a", "x", 1, 4))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		require.True(t, s.end(t, w, jobs[0]))
		holding, _ := s.places(t, "x")
		require.Equal(t, []string{"x2"}, holding, "it was given the place, and waits to be fetched")
		s.cmd(t, "UNLINK", "wake:a")
		for _, id := range []string{"x2", "x4"} {
			ended, err := s.store.EndUnheld(t.Context(), []rdb.UnheldJob{{Spot: rdb.SpotTurns,
				Ending: rdb.Ending{ID: id, Queue: "a", State: "deleted"}}})
			require.NoError(t, err)
			require.Equal(t, []rdb.EndResult{rdb.EndDone}, ended)
		}
		assert.True(t, s.exists(t, "wake:a"))
		holding, parked := s.places(t, "x")
		assert.Equal(t, []string{"x3"}, holding)
		assert.Empty(t, parked)
	})
}

// Who kept the place of its key is next when it is due, before those of other keys that wait, and not at the back.
func TestARetryOfAnOrderedKeyIsNext(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 - - - - ohg -")
		s.store500(t, keyedJobs("a", "x", 1, 10))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		require.Len(t, jobs, 1)
		_, err := w.Settle(t.Context(), []redisconn.Call{w.Shelve(rdb.Shelved{Claim: jobs[0].Claim,
			Shelf: rdb.ShelfRetry, Delay: time.Millisecond, Keyed: true})})
		require.NoError(t, err)
		s.store500(t, keyedJobs("a", "y", 1, 3))
		s.pass(t, 5*time.Millisecond)
		due, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{})
		require.NoError(t, err)
		_, err = s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: due.Page})
		require.NoError(t, err)
		ids, _ := s.bring(t, w, 2, 1)
		assert.Equal(t, []string{"x1"}, ids)
	})
}

// Those that come back to places that they kept do so one behind the other, whatever their ids.
func TestWhoKeptPlacesComesBackInOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 3 - - - - -")
		s.store500(t, keyedJobs("a", "x", 1, 5))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		require.Len(t, jobs, 3)
		s.keyRule(t, "a", "1 - - - - ohg -") // a retry holds its place now
		for _, n := range []int{2, 0, 1} {
			_, err := w.Settle(t.Context(), []redisconn.Call{w.Shelve(rdb.Shelved{Claim: jobs[n].Claim,
				Shelf: rdb.ShelfRetry, Delay: time.Millisecond, Keyed: true})})
			require.NoError(t, err)
			s.pass(t, 5*time.Millisecond)
			due, err := s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{})
			require.NoError(t, err)
			_, err = s.store.Due(t.Context(), rdb.ShelfRetry, rdb.DueCall{Move: due.Page})
			require.NoError(t, err)
		}
		s.keyRule(t, "a", "1 3 - - - - -")
		ids, _ := s.bring(t, w, 2, 10)
		assert.Equal(t, []string{"x3", "x1", "x2"}, ids)
	})
}
