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

// A key whose jobs were taken away need not wait for their turns: its next job is among the next.
func TestAKeyWaitsForNoTurnsOfJobsThatAreGone(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, s *site, ids []string) {
		jobs := make([]rdb.UnheldJob, len(ids))
		for i, id := range ids {
			jobs[i] = rdb.UnheldJob{Spot: rdb.SpotTurns, Ending: rdb.Ending{ID: id, Queue: "a", State: "deleted"}}
		}
		results, err := s.store.EndUnheld(t.Context(), jobs)
		require.NoError(t, err)
		assert.Equal(t, rdb.EndDone, results[0])
	}
	for name, take := range map[string]func(t *testing.T, s *site, ids []string){
		"purged": func(t *testing.T, s *site, ids []string) {
			purged, err := s.store.Purge(t.Context(), "a", 0, ids)
			require.NoError(t, err)
			assert.Equal(t, len(ids), purged.Removed)
		},
		"deleted": remove,
		"put off by hand": func(t *testing.T, s *site, ids []string) {
			scores := s.scores(t, "turns")
			for _, id := range ids {
				from := rdb.JobPlace{ID: id, Queue: "a", Shelf: "turns", Score: scores[id]}
				results, err := s.store.Execute(t.Context(),
					[]rdb.Order{s.store.Move(from, rdb.Destination{Shelf: rdb.ShelfMorgue})})
				require.NoError(t, err)
				assert.Equal(t, rdb.AnswerDone, results[0].Answer)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				many := keyedJobs("a", "x", 1, 300)
				s.store500(t, many)
				s.store500(t, keyedJobs("a", "y", 1, 10))
				var ids []string
				for _, j := range many {
					ids = append(ids, j.ID)
				}
				take(t, s, ids)
				next := keyedJobs("a", "x", 1, 1)
				next[0].ID = "next"
				s.store500(t, next)
				s.store500(t, []rdb.NewJob{{Queue: "a", ID: "z", Place: rdb.Back, Record: record("z"),
					Turn: rdb.Turn{Key: "z", Weight: 1}}})
				w := s.worker(t, "w", "a")
				drawn, _ := s.bring(t, w, 1, 100)
				require.Len(t, drawn, 12)
				assert.Contains(t, drawn, "next")
				more := keyedJobs("a", "y", 1, 20)
				for i := range more {
					more[i].ID = fmt.Sprint("more", i)
				}
				s.store500(t, more)
				last := keyedJobs("a", "x", 1, 1)
				last[0].ID = "last"
				s.store500(t, last)
				drawn, _ = s.bring(t, w, 2, 4)
				assert.Contains(t, drawn, "last", "it waits for none of the turns that are gone")
			})
		})
	}
}

// What is given back stands before what lines up later, also where the turns of its queue are far apart.
func TestWhatIsGivenBackIsBeforeWhatComesLater(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 3))
		w := s.worker(t, "w", "a")
		_, jobs := s.bring(t, w, 1, 1)
		settled, err := w.Settle(t.Context(),
			[]redisconn.Call{w.Release(rdb.Released{Queue: "a", Elements: []string{jobs[0].Element}})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		s.store500(t, keyedJobs("a", "quick", rdb.MaxWeight, 1))
		ids, _ := s.bring(t, w, 2, 1)
		assert.Equal(t, []string{"x1"}, ids)
	})
}

// Several jobs that are given back a few at a time stand in their old order, whatever their ids are.
func TestTheOrderOfWhatIsGivenBackIsKeptFromTheStart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const n = 1500
		jobs := keyedJobs("a", "x", 1, n)
		var want []string
		for i := range jobs {
			jobs[i].ID = fmt.Sprintf("%04d", n-i) // the first one has the last id
			want = append(want, jobs[i].ID)
		}
		s.store500(t, jobs)
		w := s.worker(t, "w", "a")
		var elements []string
		for i := range 3 {
			_, got := s.bring(t, w, int64(i+1), 500)
			for _, job := range got {
				elements = append(elements, job.Element)
			}
		}
		require.Len(t, elements, n)
		for i := 2; i >= 0; i-- { // the newest first, as those do who take a dead worker apart
			settle(t, w, w.Release(rdb.Released{Queue: "a", Died: "w", Elements: elements[500*i : 500*i+500]}))
		}
		var drawn []string
		for i := range 3 {
			ids, _ := s.bring(t, w, int64(i+10), 500)
			drawn = append(drawn, ids...)
		}
		assert.Equal(t, want, drawn)
	})
}

// Jobs that get the places of others come in the order in which they were parked, whatever their ids are.
func TestPlacesAreGivenInOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a\x00x", "1 1 - - - -")
		jobs := keyedJobs("a", "x", 1, 9)
		for i := range jobs {
			jobs[i].ID = fmt.Sprint(9 - i)
		}
		s.store500(t, jobs)
		s.store500(t, keyedJobs("a", "y", 1, 30))
		w := s.worker(t, "w", "a")
		_, first := s.bring(t, w, 1, 50) // all others of x are parked
		s.keyRule(t, "a\x00x", "2 4 - - - -")
		require.NoError(t, s.store.GrantParked(t.Context(), "a", ""))
		s.end(t, w, first[0])
		s.keyRule(t, "a\x00x", "3 9 - - - -")
		require.NoError(t, s.store.GrantParked(t.Context(), "a", ""))
		ids, _ := s.bring(t, w, 2, 8)
		assert.Equal(t, []string{"8", "7", "6", "5", "4", "3", "2", "1"}, ids)
	})
}

// A stopped key has none of its jobs begin, whoever gives them back; and one that has fewer places has no more running
// than these.
func TestWhatIsGivenBackBeginsOnlyWhereTheRuleLetsIt(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rule string
		want int
	}{"stopped": {"2 0 - - - -", 0}, "fewer": {"2 2 - - - -", 1}, "as many": {"2 4 - - - -", 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.store500(t, keyedJobs("a", "x", 1, 6))
				w := s.worker(t, "w", "a")
				_, jobs := s.bring(t, w, 1, 4)
				s.keyRule(t, "a\x00x", of.rule)
				settle(t, w, w.Release(rdb.Released{Queue: "a",
					Elements: []string{jobs[1].Element, jobs[2].Element, jobs[3].Element}}))
				var ids []string
				for i := range 5 { // one at a time, so that each fetch sees a part
					some, _ := s.bring(t, w, int64(i+2), 1)
					ids = append(ids, some...)
				}
				assert.Equal(t, []string{"x2", "x3", "x4"}[:of.want], append([]string{}, ids...))
				s.keyRule(t, "a\x00x", "")
				s.cmd(t, "HDEL", "keyrules", "a\x00x")
				require.NoError(t, s.store.GrantParked(t.Context(), "a", "x"))
				s.pass(t, time.Millisecond)
				rest, _ := s.bring(t, w, 20, 10)
				assert.Len(t, rest, 5-of.want, "all begin once nothing restrains the key")
			})
		})
	}
}
