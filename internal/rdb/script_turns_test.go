package rdb_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// keyedJobs are jobs of a queue with a key: from "k1" on.
func keyedJobs(queue, key string, weight, n int) []rdb.NewJob {
	jobs := make([]rdb.NewJob, n)
	for i := range jobs {
		id := fmt.Sprintf("%s%d", key, i+1)
		record := `{"jid":"` + id + `","name":"` + queue + `"}`
		jobs[i] = rdb.NewJob{Queue: queue, ID: id, Place: rdb.Back, Record: []byte(record),
			Turn: rdb.Turn{Key: key, Weight: weight}}
	}
	return jobs
}

// store stores jobs, in calls of as many as one takes.
func (s *site) store500(t *testing.T, jobs []rdb.NewJob) {
	t.Helper()
	for part := range slices.Chunk(jobs, rdb.MaxBatch) {
		s.calls++
		answer, err := s.store.Enqueue(t.Context(), "keys", s.calls, part)
		require.NoError(t, err)
		require.Empty(t, answer.Problems)
	}
}

// draw fetches n jobs of a queue, and ends them.
func (s *site) draw(t *testing.T, w *rdb.Worker, number int64, queue string, n int) []string {
	t.Helper()
	fetched, err := w.Fetch(t.Context(), number, n, false, []rdb.Share{{Queue: queue, Jobs: n}})
	require.NoError(t, err)
	ids, ended := make([]string, len(fetched.Jobs)), make([]rdb.Ended, len(fetched.Jobs))
	for i, job := range fetched.Jobs {
		ids[i], ended[i] = job.ID, rdb.Ended{Claim: job.Claim, ID: job.ID, Keyed: true}
	}
	if len(ended) > 0 {
		replies, err := s.driver.Pipeline(t.Context(), w.Complete(ended))
		require.NoError(t, err)
		require.NoError(t, replies[0].Err)
	}
	return ids
}

func TestKeysHaveTurns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 4))
		s.store500(t, keyedJobs("a", "y", 1, 2))
		w := s.worker(t, "w1", "a")
		assert.Equal(t, []string{"x1", "y1", "x2", "y2", "x3", "x4"}, s.draw(t, w, 1, "a", 10))
		assert.Empty(t, s.draw(t, w, 2, "a", 10))
		for _, key := range []string{"turns", "keyed", "jobs", "claimed", "passes"} {
			assert.Equal(t, int64(0), s.cmd(t, "EXISTS", key), key)
		}
		assert.Empty(t, s.set(t, "ready"))
	})
}

func TestAKeyHasAsManyTurnsAsItsWeightSays(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 3, 6))
		s.store500(t, keyedJobs("a", "y", 1, 3))
		w := s.worker(t, "w1", "a")
		assert.Equal(t, []string{"x1", "x2", "x3", "y1", "x4", "x5", "x6", "y2", "y3"}, s.draw(t, w, 1, "a", 10))
	})
}

// Whatever waits: 5,000 jobs of another key, or a million with WORK_FAULT_LONG=1, which takes minutes.
func TestANewcomerIsInTheNextFetch(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		many := 5_000
		if os.Getenv("WORK_FAULT_LONG") == "1" {
			many = 1_000_000
		}
		s.store500(t, keyedJobs("a", "many", 1, many))
		require.Equal(t, int64(many), s.cmd(t, "HLEN", "jobs"))
		w := s.worker(t, "w1", "a")
		s.draw(t, w, 1, "a", 100)
		s.store500(t, keyedJobs("a", "new", 1, 3))
		assert.Contains(t, s.draw(t, w, 2, "a", 2), "new1")
		assert.Subset(t, s.draw(t, w, 3, "a", 5), []string{"new2", "new3"})
	})
}

// What is fetched one by one must be as fair as what is fetched together: whoever was passed over keeps its place.
func TestJobsWithoutAKeyHaveTurnsTogether(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for i := range 20 {
			s.enqueue(t, "a", fmt.Sprintf("plain%d", i))
		}
		s.store500(t, keyedJobs("a", "x", 1, 20))
		s.store500(t, keyedJobs("a", "y", 1, 20))
		w := s.worker(t, "w1", "a")
		counts := map[string]int{}
		for n := range 30 {
			for _, id := range s.draw(t, w, int64(n+1), "a", 1) {
				counts[id[:1]]++
			}
		}
		assert.Equal(t, map[string]int{"p": 10, "x": 10, "y": 10}, counts)
	})
}

// The reference scheduler: shares over 10,000 jobs of 100 keys with random weights, all of which always have jobs.
func TestSharesAreThoseOfTheWeights(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		random := rand.New(rand.NewPCG(1, 2)) // so that it can be repeated
		weights, total := map[string]int{}, 0
		var jobs []rdb.NewJob
		for k := range 100 {
			key, weight := fmt.Sprintf("k%02d-", k), 1+random.IntN(10)
			weights[key], total = weight, total+weight
			jobs = append(jobs, keyedJobs("a", key, weight, 300)...)
		}
		random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		s.store500(t, jobs)
		w := s.worker(t, "w1", "a")
		counts, number := map[string]int{}, int64(0)
		for drawn := 0; drawn < 10_000; {
			number++
			ids := s.draw(t, w, number, "a", 1+random.IntN(100))
			require.NotEmpty(t, ids)
			drawn += len(ids)
			for _, id := range ids {
				counts[id[:4]]++
			}
		}
		drawn := 0
		for _, n := range counts {
			drawn += n
		}
		for key, weight := range weights {
			share, wanted := float64(counts[key])/float64(drawn), float64(weight)/float64(total)
			assert.InDelta(t, wanted, share, 0.02*wanted+1/float64(drawn), "key %s of weight %d", key, weight)
		}
	})
}

func TestAKeyThatWasAwayHasNoTurnsToCatchUpWith(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 50))
		w := s.worker(t, "w1", "a")
		s.draw(t, w, 1, "a", 20)
		s.store500(t, keyedJobs("a", "y", 1, 10))
		ids := s.draw(t, w, 2, "a", 10)
		assert.Subset(t, ids, []string{"y1", "y5", "x21", "x25"}, "half of them each")
		assert.Len(t, ids, 10)
	})
}

// What one queue has fetched is taken from its own turns and passes, wherever these begin.
func TestQueuesHaveTurnsOfTheirOwn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for _, queue := range []string{"a", "b", "c"} {
			jobs := keyedJobs(queue, "x", 1, 3)
			for i := range jobs {
				jobs[i].ID = queue + jobs[i].ID
			}
			s.store500(t, jobs)
		}
		w := s.worker(t, "w1", "a", "b", "c")
		assert.Equal(t, []string{"bx1", "bx2"}, s.draw(t, w, 1, "b", 2))
		assert.Equal(t, []string{"cx1", "cx2", "cx3"}, s.draw(t, w, 2, "c", 9))
		assert.Empty(t, s.draw(t, w, 3, "c", 9))
		passes := slices.Sorted(maps.Keys(s.scores(t, "passes")))
		assert.Equal(t, []string{"a\x00x", "b\x00", "b\x00x"}, passes)
		assert.Equal(t, []string{"ax1", "ax2", "ax3"}, s.draw(t, w, 4, "a", 9))
		assert.Equal(t, []string{"bx3"}, s.draw(t, w, 5, "b", 9))
		assert.Equal(t, int64(0), s.cmd(t, "EXISTS", "turns"))
	})
}

func TestPassesAreKeptOfKeysThatHaveJobsOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var jobs []rdb.NewJob
		for k := range 2_000 {
			jobs = append(jobs, keyedJobs("a", fmt.Sprintf("k%d-", k), 1, 1)...)
		}
		s.store500(t, jobs)
		s.store500(t, keyedJobs("a", "long", 1, 100))
		w := s.worker(t, "w1", "a")
		for number, drawn := int64(1), 0; drawn < 2_050; number++ {
			drawn += len(s.draw(t, w, number, "a", 100))
		}
		assert.Less(t, s.cmd(t, "ZCARD", "passes"), int64(10))
		for number := int64(100); len(s.draw(t, w, number, "a", 100)) > 0; number++ {
		}
		assert.Equal(t, int64(0), s.cmd(t, "EXISTS", "passes"))
	})
}

func TestEachPlaceOfAKeyedJobIsFound(t *testing.T) {
	t.Parallel()
	name := func([]byte) string { return "a" }
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 3))
		found, err := s.store.Lookup(t.Context(), []string{"x1", "x3"}, name)
		require.NoError(t, err)
		for i, before := range []int{0, 2} {
			require.NoError(t, found[i].Err)
			assert.Equal(t, rdb.WhereQueue, found[i].Where)
			assert.Equal(t, before, found[i].Waits.Before)
			assert.NotEmpty(t, found[i].Pass)
		}
		counts, err := s.store.JobCounts(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, counts.Queued)
		heads, err := s.store.QueueHeads(t.Context(), []string{"a", "none"})
		require.NoError(t, err)
		assert.Equal(t, []rdb.QueueHead{{Length: 3, First: "x1", Keys: 1}, {}}, heads)
		load, err := s.store.Load(t.Context(), []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, 3, load)

		page, err := s.store.Turns(t.Context(), "a", &rdb.ShelfCursor{}, 2)
		require.NoError(t, err)
		require.Len(t, page, 2)
		results, err := s.store.Execute(t.Context(), []rdb.Order{
			s.store.Move(page[1].JobPlace, rdb.Destination{Shelf: rdb.ShelfStalled}),
			s.store.Remove(page[0].JobPlace, rdb.Ending{ID: "x1", Queue: "a", State: "deleted"})})
		require.NoError(t, err)
		assert.Equal(t, []rdb.OrderResult{{Answer: rdb.AnswerDone}, {Answer: rdb.AnswerDone}}, results)
		w := s.worker(t, "w1", "a")
		assert.Equal(t, []string{"x3"}, s.draw(t, w, 1, "a", 10))

		cursor := rdb.ShelfCursor{}
		stalled, err := s.store.ShelfPage(t.Context(), rdb.ShelfStalled, &cursor, 2)
		require.NoError(t, err)
		require.Len(t, stalled, 1)
		s.store500(t, keyedJobs("a", "y", 1, 1))
		stalled[0].Queue = "a"
		_, err = s.store.Execute(t.Context(), []rdb.Order{s.store.Move(stalled[0].JobPlace, rdb.Destination{})})
		require.NoError(t, err)
		assert.Equal(t, int64(2), s.cmd(t, "ZCARD", "turns"), "it is in line again")
		assert.ElementsMatch(t, []string{"y1", "x2"}, s.draw(t, w, 2, "a", 10))
		assert.Equal(t, int64(0), s.cmd(t, "EXISTS", "keyed"))
	})
}

func TestAKeyedJobThatIsDueLinesUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		job := keyedJobs("a", "x", 2, 1)
		job[0].Place, job[0].When = rdb.In, 1
		s.store500(t, job)
		assert.Equal(t, int64(0), s.cmd(t, "EXISTS", "turns"))
		s.pass(t, 10*time.Millisecond)
		due, err := s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{})
		require.NoError(t, err)
		due, err = s.store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Move: due.Page})
		require.NoError(t, err)
		assert.Equal(t, 1, due.Moved)
		assert.Equal(t, int64(1), s.cmd(t, "ZCARD", "turns"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		assert.Equal(t, []string{"x1"}, s.draw(t, s.worker(t, "w1", "a"), 1, "a", 10))
	})
}
