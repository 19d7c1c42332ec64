package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// stands is where a job of queue a stands that waits by turns or is on a shelf.
func (s *site) stands(t *testing.T, id string, shelf rdb.Shelf) rdb.JobPlace {
	t.Helper()
	at := rdb.JobPlace{ID: id, Queue: "a", Shelf: shelf}
	score, _ := s.cmd(t, "ZSCORE", string(shelf), id).([]byte)
	require.NotEmpty(t, score, "%s is not in %s", id, shelf)
	at.Score = string(score)
	return at
}

// granted has two jobs of key x wait that hold a place, and three that are parked; y1 is ended, of which they have the
// places.
func (s *site) granted(t *testing.T, rule string) *rdb.Worker {
	t.Helper()
	s.keyRule(t, "a", rule)
	s.store500(t, keyedJobs("a", "x", 1, 6))
	w := s.worker(t, "w1", "a")
	_, jobs := s.bring(t, w, 1, 10)
	require.Len(t, jobs, 1)
	s.end(t, w, jobs...)
	holding, parked := s.places(t, "x")
	require.Equal(t, []string{"x2"}, holding)
	require.Equal(t, []string{"x3", "x4", "x5", "x6"}, parked)
	return w
}

// What is taken by hand out of the places of its key gives its place on, and is done once however often it is sent.
func TestWhatIsMovedByHandGivesItsPlaceOn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		to      rdb.Destination
		holding []string // once x2 was moved, which has a place
		fetched []string
	}{
		"to the morgue": {rdb.Destination{Shelf: rdb.ShelfMorgue}, []string{"x3"}, []string{"x3"}},
		"stalled":       {rdb.Destination{Shelf: rdb.ShelfStalled}, []string{"x3"}, []string{"x3"}},
		"postponed": {rdb.Destination{Shelf: rdb.ShelfScheduled, At: 9_000_000_000_001}, []string{"x3"},
			[]string{"x3"}},
		"to the front":     {rdb.Destination{Front: true}, []string{"x2"}, []string{"x2"}},
		"to the back":      {rdb.Destination{}, []string{"x2"}, []string{"x2"}},
		"deleted":          {rdb.Destination{Trail: []byte("delete")}, []string{"x3"}, []string{"x3"}},
		"purged":           {rdb.Destination{Trail: []byte("purge")}, []string{"x3"}, []string{"x3"}},
		"purged as a list": {rdb.Destination{Trail: []byte("front, purge")}, []string{"x3"}, []string{"x3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.granted(t, "1 1 - - - -")
				from := s.stands(t, "x2", rdb.Turns)
				for range 2 {
					s.handle(t, from, row.to)
				}
				holding, parked := s.places(t, "x")
				assert.Equal(t, row.holding, holding)
				assert.Len(t, parked, 5-len(holding)-map[bool]int{true: 1}[holding[0] == "x3"])
				assert.Equal(t, []string{"a"}, s.set(t, "ready"))
				assert.Positive(t, s.cmd(t, "LLEN", "wake:a"), "whoever waits is told")
				ids, _ := s.bring(t, w, 2, 10)
				assert.Equal(t, row.fetched, ids)
			})
		})
	}
}

// handle does by hand with a job what a destination says.
func (s *site) handle(t *testing.T, from rdb.JobPlace, to rdb.Destination) {
	t.Helper()
	reach := 0
	switch string(to.Trail) {
	case "delete":
		s.obey(t, s.store.Remove(from, rdb.Ending{State: "deleted"}))
		return
	case "front, purge":
		s.obey(t, s.store.Move(from, rdb.Destination{Front: true}))
		reach = 10
	case "purge":
	default:
		s.obey(t, s.store.Move(from, to))
		return
	}
	_, err := s.store.Purge(t.Context(), from.Queue, reach, []string{from.ID})
	require.NoError(t, err)
}

// What is parked leaves nothing behind where it stood.
func TestWhatIsParkedIsMovedByHand(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]rdb.Destination{
		"stalled": {Shelf: rdb.ShelfStalled}, "to the front": {Front: true}, "to the back": {},
		"deleted": {Trail: []byte("delete")}, "purged": {Trail: []byte("purge")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.granted(t, "1 1 - - - -")
				from := s.stands(t, "x4", rdb.Turns)
				for range 2 {
					s.handle(t, from, to)
				}
				holding, parked := s.places(t, "x")
				assert.Equal(t, []string{"x2"}, holding)
				assert.Equal(t, []string{"x3", "x5", "x6"}, parked)
				var order []string
				for number := int64(2); number < 9; number++ {
					ids, jobs := s.bring(t, w, number, 10)
					order = append(order, ids...)
					s.end(t, w, jobs...)
				}
				want := map[string][]string{"to the front": {"x2", "x4", "x3", "x5", "x6"},
					"to the back": {"x2", "x3", "x5", "x6", "x4"}}[name]
				if want == nil {
					want = []string{"x2", "x3", "x5", "x6"}
				}
				assert.Equal(t, want, order)
				holding, parked = s.places(t, "x")
				assert.Empty(t, holding)
				assert.Empty(t, parked)
			})
		})
	}
}

// A job of an ordered key that waits on a shelf for another attempt keeps the place, also where it is put on another
// shelf, and comes next when it is retried by hand; in the morgue it keeps the place where the key stops then. Once it
// is deleted the next one begins.
func TestAnOrderedKeyThatIsRepairedByHand(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 - - - - ohs")
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		shelve := func(job rdb.FetchedJob, on rdb.Shelf) {
			reply, err := s.driver.Pipeline(t.Context(), w.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: on,
				Delay: time.Hour, Keyed: true}))
			require.NoError(t, err)
			require.NoError(t, reply[0].Err)
		}
		next := func(number int64) []string {
			ids, more := s.bring(t, w, number, 10)
			if len(more) > 0 {
				jobs = more
			}
			return ids
		}
		shelve(jobs[0], rdb.ShelfRetry)
		for i, to := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfStalled, rdb.ShelfMorgue, rdb.ShelfRetry} {
			from := []rdb.Shelf{rdb.ShelfRetry, rdb.ShelfScheduled, rdb.ShelfStalled, rdb.ShelfMorgue}[i]
			s.obey(t, s.store.Move(s.stands(t, "x1", from), rdb.Destination{Shelf: to, At: 9_000_000_000_001}))
			assert.Empty(t, next(int64(2+i)), "%s holds the key", to)
		}
		s.obey(t, s.store.Move(s.stands(t, "x1", rdb.ShelfRetry), rdb.Destination{}))
		assert.Equal(t, []string{"x1"}, next(10), "it comes next")
		shelve(jobs[0], rdb.ShelfMorgue)
		assert.Empty(t, next(11), "the key has stopped")
		s.obey(t, s.store.Remove(s.stands(t, "x1", rdb.ShelfMorgue), rdb.Ending{State: "deleted"}))
		assert.Equal(t, []string{"x2"}, next(12))
	})
}

// A queue whose jobs hold places of their keys is not forgotten: its number would be that of another queue.
func TestAQueueIsForgottenOnceNoKeyOfItHasJobs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.granted(t, "1 1 - - - -")
		forget := func() bool {
			gone, err := s.store.ForgetQueue(t.Context(), "a", true)
			require.NoError(t, err)
			return gone
		}
		_, jobs := s.bring(t, w, 2, 10)
		assert.False(t, forget(), "some are parked")
		for _, id := range []string{"x3", "x4", "x5", "x6"} {
			s.obey(t, s.store.Remove(s.stands(t, id, rdb.Turns), rdb.Ending{State: "deleted"}))
		}
		assert.False(t, forget(), "a worker has one of them")
		s.end(t, w, jobs...)
		assert.True(t, forget())
		assert.False(t, s.exists(t, "turning"))
	})
}

// Those that are parked are counted, and listed behind those that may be drawn.
func TestWhatIsParkedIsCountedAndListed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.granted(t, "1 1 - - - -")
		s.store500(t, keyedJobs("a", "y", 1, 2))
		s.store500(t, keyedJobs("b", "z", 1, 1))
		n, err := s.store.Length(t.Context(), "a", "")
		require.NoError(t, err)
		assert.Equal(t, 7, n)
		s.cmd(t, "SREM", "ready", "a")
		waiting, err := s.store.Waiting(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []int{7, 1}, waiting, "also where nothing is to be fetched")
		for newest, want := range map[bool][]string{false: {"x2", "y1", "y2", "x3", "x4", "x5", "x6"},
			true: {"x6", "x5", "x4", "x3", "y2", "y1", "x2"}} {
			cursor, ids := rdb.ShelfCursor{Newest: newest}, []string(nil)
			for {
				page, err := s.store.Turns(t.Context(), "a", &cursor, 2)
				require.NoError(t, err)
				for _, job := range page {
					assert.Equal(t, "a", job.Queue)
					ids = append(ids, job.ID)
				}
				if len(page) == 0 {
					break
				}
			}
			assert.ElementsMatch(t, want, ids)
			assert.Equal(t, want[:1], ids[:1])
			assert.Equal(t, want[6], ids[6])
		}
	})
}

// What goes to the front by hand before any job of its queue has waited by turns keeps the rule of its key as well.
func TestWhatGoesToTheFrontKeepsTheRuleOfItsKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		jobs := keyedJobs("a", "x", 1, 2)
		for i := range jobs {
			jobs[i].Place, jobs[i].When = rdb.In, 60_000
		}
		s.store500(t, jobs)
		var orders []rdb.Order
		for id, score := range s.scores(t, "scheduled") {
			from := rdb.JobPlace{ID: id, Queue: "a", Shelf: rdb.ShelfScheduled, Score: score}
			orders = append(orders, s.store.Move(from, rdb.Destination{Front: true}))
		}
		results, err := s.store.Execute(t.Context(), orders)
		require.NoError(t, err)
		assert.Equal(t, []rdb.OrderResult{{Answer: rdb.AnswerDone}, {Answer: rdb.AnswerDone}}, results)
		held := s.take(t, s.worker(t, "w1", "a"), 1, 10, "a")
		assert.Len(t, held, 1, "of the key one may run")
	})
}
