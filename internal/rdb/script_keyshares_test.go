package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// The reference scheduler with limits: four workers fetch and end jobs of ten keys at random. No key ever has more
// running than its limit, and as long as a key has jobs that wait it has nearly that: counted by events, since how long
// each takes says nothing.
func TestALimitOfKeysIsReached(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const keys, each, most = 10, 120, 5
		s.keyRule(t, "a", fmt.Sprintf("1 %d - - - - -", most))
		random := rand.New(rand.NewPCG(3, 4)) // so that it can be repeated
		left := map[string]int{}
		var jobs []rdb.NewJob
		for k := range keys {
			key := fmt.Sprintf("k%d-", k)
			left[key] = each
			jobs = append(jobs, keyedJobs("a", key, 1+random.IntN(5), each)...)
		}
		random.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		s.store500(t, jobs)
		var workers []*rdb.Worker
		for w := range 4 {
			workers = append(workers, s.worker(t, fmt.Sprintf("w%d", w), "a"))
		}
		type running struct {
			rdb.FetchedJob
			by *rdb.Worker
		}
		var number int64
		var run []running
		now := map[string]int{}
		seen, reached := 0, 0
		for ended := 0; ended < keys*each; {
			number++
			w := workers[random.IntN(len(workers))]
			_, fetched := s.bring(t, w, number, 200)
			for _, job := range fetched {
				key := job.ID[:3]
				now[key]++
				left[key]--
				require.LessOrEqual(t, now[key], most, "jobs of %s run at once", key)
				run = append(run, running{job, w})
			}
			for key, waiting := range left {
				if waiting > 0 { // all that may begin was fetched
					seen, reached = seen+most, reached+now[key]
				}
			}
			for range 1 + random.IntN(20) {
				if len(run) == 0 {
					break
				}
				i := random.IntN(len(run))
				s.end(t, run[i].by, run[i].FetchedJob)
				now[run[i].ID[:3]]--
				run[i] = run[len(run)-1]
				run, ended = run[:len(run)-1], ended+1
			}
		}
		assert.GreaterOrEqual(t, float64(reached), 0.95*float64(seen))
		for _, key := range []string{"turns", "parked", "holding", "keyed", "jobs"} {
			assert.False(t, s.exists(t, key), key)
		}
	})
}

// Who is new begins within one fetch, whatever waits and whatever is parked.
func TestANewcomerAmongParkedJobsIsInTheNextFetch(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 2 - - - - -")
		s.store500(t, keyedJobs("a", "many", 1, 3_000))
		w := s.worker(t, "w1", "a")
		ids, _ := s.bring(t, w, 1, 10)
		require.Equal(t, []string{"many1", "many2"}, ids, "others of the key are parked, some in each fetch")
		_, parked := s.places(t, "many")
		assert.Greater(t, len(parked), 400)
		assert.Less(t, len(parked), 1_000)
		s.store500(t, keyedJobs("a", "new", 1, 3))
		ids, _ = s.bring(t, w, 2, 10)
		assert.Equal(t, []string{"new1", "new2"}, ids)
	})
}

// A rule that changes while jobs run holds from then on: while there are more than it allows none begins, and where
// there is more room now it is used at once, whoever ends.
func TestARuleOfKeysMayChangeWhileJobsRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		change := func(before, after string) {
			t.Helper()
			done, err := s.store.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, before, after)
			require.NoError(t, err)
			require.True(t, done)
			require.NoError(t, s.store.GrantParked(t.Context(), "a", ""))
		}
		running := func() int {
			holding, _ := s.places(t, "x")
			return len(holding)
		}
		change("", "1 3 - - - - s")
		s.store500(t, keyedJobs("a", "x", 1, 20))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 20)
		require.Len(t, jobs, 3)

		change("1 3 - - - - s", "2 1 - - - - s") // the newer program of a deploy
		refused, err := s.store.SetKeyRule(t.Context(), rdb.KeyRuleOf{Queue: "a"}, "1 3 - - - - s", "2 5 - - - - s")
		require.NoError(t, err)
		require.False(t, refused, "who has read the older one reads again")
		assert.False(t, s.end(t, w, jobs[0]))
		assert.False(t, s.end(t, w, jobs[1]))
		assert.Equal(t, 1, running())
		assert.True(t, s.end(t, w, jobs[2]))
		assert.Equal(t, 1, running())
		_, jobs = s.bring(t, w, 2, 20)
		require.Len(t, jobs, 1)

		s.cmd(t, "UNLINK", "wake:a")
		change("2 1 - - - - s", "3 4 - - - - s")
		assert.Equal(t, 4, running(), "places are given without an end")
		assert.True(t, s.exists(t, "wake:a"), "and somebody is called")
		_, jobs = s.bring(t, w, 3, 20)
		require.Len(t, jobs, 3)
		change("3 4 - - - - s", "")
		_, jobs = s.bring(t, w, 4, 20)
		assert.Len(t, jobs, 20-3-1-3)
		_, parked := s.places(t, "x")
		assert.Empty(t, parked)
	})
}

// A million jobs of a stopped key cost later fetches nothing; when it goes on each of them is found.
func TestAStoppedKeyGoesOnInSteps(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		of := rdb.KeyRuleOf{Queue: "a", Key: "x"}
		done, err := s.store.SetKeyRule(t.Context(), of, "", rdb.KeyRule{Stopped: true, Revision: 1}.Text())
		require.NoError(t, err)
		require.True(t, done)
		s.store500(t, keyedJobs("a", "x", 1, 1_700))
		s.store500(t, keyedJobs("a", "y", 1, 2))
		w := s.worker(t, "w1", "a")
		var got []string
		for number := int64(1); number <= 8; number++ {
			ids, _ := s.bring(t, w, number, 10)
			got = append(got, ids...)
		}
		assert.Equal(t, []string{"y1", "y2"}, got)
		assert.Empty(t, s.set(t, "ready"))
		require.NoError(t, s.store.GrantParked(t.Context(), "a", "x"))
		assert.Empty(t, s.set(t, "ready"), "it is stopped")

		done, err = s.store.SetKeyRule(t.Context(), of, rdb.KeyRule{Stopped: true, Revision: 1}.Text(), "")
		require.NoError(t, err)
		require.True(t, done)
		require.NoError(t, s.store.GrantParked(t.Context(), "a", "x"))
		holding, parked := s.places(t, "x")
		assert.Len(t, holding, 1_700)
		assert.Empty(t, parked)
		ids, _ := s.bring(t, w, 9, 3)
		assert.Equal(t, []string{"x1", "x2", "x3"}, ids)
	})
}

// A limit of the name and one of its keys hold both.
func TestLimitsOfNamesAndOfKeysHoldTogether(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.limit(t, "a", rdb.Rule{Limit: rdb.Limit{Concurrent: 3}})
		s.keyRule(t, "a", "1 2 - - - - -")
		for _, key := range []string{"x", "y", "z"} {
			s.store500(t, keyedJobs("a", key, 1, 4))
		}
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		require.Len(t, jobs, 3)
		more, _ := s.bring(t, w, 2, 10)
		require.Empty(t, more)
		require.True(t, s.end(t, w, jobs[0]))
		_, jobs = s.bring(t, w, 3, 10)
		require.Len(t, jobs, 1)
		assert.Equal(t, 3, int(s.cmd(t, "SCARD", "running:a").(int64)))
	})
}

// A job without a key beside them is not limited, and one with a key at the front of the list is.
func TestAKeyedJobAtTheFrontIsLimitedToo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		front := keyedJobs("a", "x", 1, 3)
		for i := range front {
			front[i].Place = rdb.Front
		}
		s.store500(t, front)
		s.enqueue(t, "a", "plain1", "plain2")
		w := s.worker(t, "w1", "a")
		ids, jobs := s.bring(t, w, 1, 10)
		assert.Equal(t, []string{"x3", "plain1", "plain2"}, ids)
		_, parked := s.places(t, "x")
		assert.Equal(t, []string{"x2", "x1"}, parked, "in the order of the list")
		require.True(t, s.end(t, w, jobs[0]))
		ids, _ = s.bring(t, w, 2, 10)
		assert.Equal(t, []string{"x2"}, ids)
	})
}

func TestTextsOfKeyRulesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, rule := range map[string]rdb.KeyRule{
		"":                    {},
		"1 2 - - - - -":       {Limit: rdb.Limit{Concurrent: 2}, Revision: 1},
		"7 0 - - - - -":       {Stopped: true, Revision: 7},
		"2 - 5 60000 3 - a+b": {Limit: rdb.Limit{Jobs: 5, Per: time.Minute, Burst: 3}, Service: "a b", Revision: 2},
		"1 - - - - ohg s":     {Ordered: true, Service: "s", Revision: 1},
		"1 - - - - obs s":     {Ordered: true, BackAgain: true, DeathStop: true, Service: "s", Revision: 1},
		"3 1 1 1000 1 ohs s%2Fo": {Limit: rdb.Limit{Concurrent: 1, Jobs: 1, Per: time.Second, Burst: 1},
			Ordered: true, DeathStop: true, Service: "s/o", Revision: 3},
	} {
		assert.Equal(t, text, rule.Text())
		read, err := rdb.ParseKeyRule(text)
		require.NoError(t, err, text)
		assert.Equal(t, rule, read, text)
	}
	for _, text := range []string{"1", "1 2 - - - -", "x 2 - - - - -", "1 x - - - - -", "1 2 - - - - %zz"} {
		_, err := rdb.ParseKeyRule(text)
		assert.Error(t, err, text)
	}
}

// Passes of jobs that are parked are kept: were all to begin anew, who comes now would be before them for as long as
// they had waited.
func TestPassesGoOnWhileJobsAreParked(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - - -")
		s.store500(t, keyedJobs("a", "x", 1, 5))
		w := s.worker(t, "w1", "a")
		_, jobs := s.bring(t, w, 1, 10)
		for number := int64(2); number <= 4; number++ {
			s.end(t, w, jobs[0])
			_, jobs = s.bring(t, w, number, 10)
			require.Len(t, jobs, 1)
		}
		assert.Positive(t, s.cmd(t, "ZCARD", "passes"), "one is parked")
		s.store500(t, keyedJobs("a", "y", 1, 3))
		s.end(t, w, jobs[0])
		ids, _ := s.bring(t, w, 9, 1)
		assert.Equal(t, []string{"x5"}, ids, "it was there before y")
	})
}
