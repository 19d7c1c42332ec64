package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// A rate of keys against exact arithmetic: in any time d no more than burst + d*jobs/per begin of a key, and while
// there are jobs that many do, whenever somebody asks: right at the time that a fetch tells, or a little ahead.
func TestARateOfKeysIsNeverExceededAndIsReached(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "one goroutine reckons with the clock of an embedded Redis, whose Lua is slow")
	server := redistest.Embedded(t) // its clock is moved
	random := rand.New(rand.NewPCG(5, 6))
	for run := range 24 {
		rule := rdb.KeyRule{Limit: rdb.Limit{Jobs: 1 + random.IntN(40), Burst: 1 + random.IntN(6),
			Per: time.Duration(1+random.IntN(2_000)) * time.Millisecond}, Revision: 1}
		ahead := time.Duration(random.IntN(2)) * 10 * time.Millisecond
		t.Run(fmt.Sprintf("%d: %d in %s, burst %d, ahead %s", run, rule.Jobs, rule.Per, rule.Burst, ahead),
			func(t *testing.T) {
				s := newSite(t, server.DSN(), server.Embedded())
				rateOfKeys(t, s, rule, ahead)
			})
	}
}

func rateOfKeys(t *testing.T, s *site, rule rdb.KeyRule, ahead time.Duration) {
	t.Helper()
	const each = 60
	s.keyRule(t, "a", rule.Text())
	for _, key := range []string{"x", "y"} {
		s.store500(t, keyedJobs("a", key, 1, each))
	}
	w := s.worker(t, "w1", "a")
	w.Ahead = ahead
	begins := map[string][]time.Time{}
	for number := int64(1); len(begins["x"])+len(begins["y"]) < 2*each; number++ {
		require.Less(t, number, int64(2_000), "jobs never begin")
		fetched, err := w.Fetch(t.Context(), number, 100, true, []rdb.Share{{Queue: "a", Jobs: 100}})
		require.NoError(t, err)
		for _, job := range fetched.Jobs {
			require.LessOrEqual(t, job.In, ahead+time.Millisecond)
			begins[job.ID[:1]] = append(begins[job.ID[:1]], fetched.Time.Add(job.In))
		}
		if len(fetched.Jobs) > 0 {
			s.end(t, w, fetched.Jobs...)
		}
		if wait, waits := fetched.Later["a"]; waits {
			s.pass(t, max(wait-ahead/2, time.Millisecond))
		}
	}
	pace := float64(rule.Per) / float64(rule.Jobs)
	for key, times := range begins {
		slices.SortFunc(times, time.Time.Compare)
		for i := range times {
			for j := i; j < len(times); j++ {
				most := float64(rule.Burst) + float64(times[j].Sub(times[i]))/pace
				require.LessOrEqual(t, float64(j-i+1), most+1e-6, "%s began %d in %s", key, j-i+1,
					times[j].Sub(times[i]))
			}
		}
		// each job is told its time in whole us, rounded up; who does not ask ahead asks in whole ms, once for a burst
		slack := time.Duration(each) * time.Microsecond
		if ahead == 0 {
			slack += each * time.Millisecond
		}
		took, wanted := times[each-1].Sub(times[0]), time.Duration(float64(each-rule.Burst)*pace)
		assert.LessOrEqual(t, took, wanted+slack, key)
	}
}

// A queue all of whose keys wait for their rate is asked by nobody while a rule holds it: who begins its jobs must then
// hear that it may go on, and when.
func TestAQueueOfKeysThatWaitForTheirRateCallsAWorkerWhenItMayGoOn(t *testing.T) {
	t.Parallel()
	one, two := rdb.Rule{Limit: rdb.Limit{Concurrent: 1}}.Text(), rdb.Rule{Limit: rdb.Limit{Concurrent: 2}}.Text()
	say := func(paused bool) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			changed, err := s.store.SetPauses(background, []rdb.Pause{{Name: "a", Paused: paused}})
			require.NoError(t, err)
			require.Equal(t, []rdb.Changed{{Done: true}}, changed)
		}
	}
	set := func(before, after string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			done, err := s.store.SetRule(background, "a", before, after, false)
			require.NoError(t, err)
			require.True(t, done)
		}
	}
	for name, row := range map[string]struct {
		hold, free func(*testing.T, *site)
	}{
		"resumed":               {say(true), say(false)},
		"a limit is raised":     {set("", one), set(one, two)},
		"a limit is taken away": {set("", one), set(one, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				rationed(t, s)
				s.cmd(t, "SADD", "running:a", "x1")
				row.hold(t, s)
				s.cmd(t, "UNLINK", "wake:a")
				row.free(t, s)
				assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
				fetched, err := s.store.Worker("w1").Fetch(background, 2, 1, true, []rdb.Share{{Queue: "a", Jobs: 1}})
				require.NoError(t, err)
				assert.Positive(t, fetched.Later["a"])
			})
		})
	}
}
