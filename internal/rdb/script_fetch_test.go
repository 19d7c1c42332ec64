package rdb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// ids of what was fetched, as "queue/id".
func fetchedIDs(fetched rdb.Fetched) []string {
	ids := []string{}
	for i := range fetched.Jobs {
		ids = append(ids, fetched.Jobs[i].Queue+"/"+fetched.Jobs[i].ID)
	}
	return ids
}

func TestFetchGivesSharesFirstAndThenFillsUp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		wanted int
		shares []rdb.Share
		want   []string
	}{
		"each its share": {4, []rdb.Share{{Queue: "a", Jobs: 1}, {Queue: "b", Jobs: 3}},
			[]string{"a/a1", "b/b1", "b/b2", "b/b3"}},
		"no share at all": {3, []rdb.Share{{Queue: "a", Jobs: 0}, {Queue: "b", Jobs: 0}},
			[]string{"a/a1", "a/a2", "b/b1"}},
		"filled up": {6, []rdb.Share{{Queue: "a", Jobs: 5}, {Queue: "b", Jobs: 1}},
			[]string{"a/a1", "a/a2", "b/b1", "b/b2", "b/b3", "b/b4"}},
		"all there is": {50, []rdb.Share{{Queue: "a", Jobs: 25}, {Queue: "b", Jobs: 25}},
			[]string{"a/a1", "a/a2", "b/b1", "b/b2", "b/b3", "b/b4"}},
		"an unknown queue": {2, []rdb.Share{{Queue: "none", Jobs: 2}, {Queue: "a", Jobs: 0}},
			[]string{"a/a1", "a/a2"}},
		"the same one only": {2, []rdb.Share{{Queue: "b", Jobs: 2}}, []string{"b/b1", "b/b2"}},
		"shares over all": {3, []rdb.Share{{Queue: "a", Jobs: 2}, {Queue: "b", Jobs: 4}},
			[]string{"a/a1", "a/a2", "b/b1"}},
		"as many as it may": {6, []rdb.Share{{Queue: "a", Jobs: 5, Most: 1}, {Queue: "b", Jobs: 0, Most: 3}},
			[]string{"a/a1", "b/b1", "b/b2", "b/b3"}},
		"nothing wanted": {0, []rdb.Share{{Queue: "a", Jobs: 1}, {Queue: "b", Jobs: 1}}, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2")
				s.enqueue(t, "b", "b1", "b2", "b3", "b4")
				fetched, err := s.worker(t, "w1", "a", "b").Fetch(t.Context(), 1, tt.wanted, false, tt.shares)
				require.NoError(t, err)
				assert.Equal(t, rdb.Registered, fetched.State)
				assert.Equal(t, tt.want, fetchedIDs(fetched))
				for _, share := range tt.shares {
					left := len(s.list(t, "queue:"+share.Queue))
					most := 1 // a queue from which nothing was taken is as it was
					if share.Jobs > 0 || strings.Contains(fmt.Sprint(tt.want), share.Queue+"/") {
						most = 2
					}
					assert.Len(t, s.list(t, "wake:"+share.Queue), min(left, most), "waking doubles while jobs are left")
				}
			})
		})
	}
}

func TestFetchAnswersWhatIsStored(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2")
		s.cmd(t, "HSET", "trail", "a2", "what happened")
		s.cmd(t, "HSET", "crashes", "a2", "v1 v2")
		fetched, err := s.worker(t, "w1", "a").Fetch(t.Context(), 7, 2, false, []rdb.Share{{Queue: "a", Jobs: 2}})
		require.NoError(t, err)
		assert.Equal(t, []rdb.FetchedJob{
			{Claim: rdb.Claim{Queue: "a", Element: "7:a1"}, ID: "a1", Record: record("a1")},
			{Claim: rdb.Claim{Queue: "a", Element: "7:a2"}, ID: "a2", Record: record("a2"),
				Trail: []byte("what happened"), Crashes: "v1 v2"},
		}, fetched.Jobs)
		assert.Equal(t, []string{"7:a1", "7:a2"}, s.list(t, "worker:w1:inprocess:a"))
		micros := fetched.Time.UnixMicro()
		claim := fmt.Sprintf("w1 7 %d.%03d a", micros/1000, micros%1000)
		assert.Equal(t, map[string]string{"a1": claim, "a2": claim}, s.hash(t, "claimed"))
		assert.Equal(t, "7", s.hash(t, "worker:w1:info")["n"])
		assert.Empty(t, s.set(t, "ready"))
		assert.False(t, s.exists(t, "wake:a"), "a fetch that empties a queue takes its token away")
	})
}

func TestFetchSaysWhichQueuesAreReady(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		wanted int
		ask    bool
		asked  bool
		ready  []string
	}{
		"not asked, all that was wanted": {1, false, false, nil},
		"asked":                          {1, true, true, []string{"a", "b"}},
		"not asked, something is free":   {3, false, true, []string{"b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				for _, queue := range []string{"a", "b", "of another worker"} {
					s.enqueue(t, queue, queue+"1", queue+"2")
				}
				w := s.worker(t, "w1", "a", "b", "c")
				fetched, err := w.Fetch(t.Context(), 1, tt.wanted, tt.ask, []rdb.Share{{Queue: "a"}})
				require.NoError(t, err)
				assert.Equal(t, tt.asked, fetched.Asked)
				assert.ElementsMatch(t, tt.ready, fetched.Ready)
			})
		})
	}
}

func TestFetchRefusesWhatIsNotNewOrNotRegistered(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		stranger, err := s.store.Worker("stranger").Fetch(t.Context(), 1, 1, false, []rdb.Share{{Queue: "a"}})
		require.NoError(t, err)
		assert.Equal(t, rdb.Fetched{State: rdb.Fenced}, stranger)

		w := s.worker(t, "w1", "a")
		s.take(t, w, 9, 1, "a")
		for _, number := range []int64{9, 8} {
			late, err := w.Fetch(t.Context(), number, 1, false, []rdb.Share{{Queue: "a"}})
			require.NoError(t, err)
			assert.Equal(t, rdb.Fetched{State: rdb.Stale}, late)
		}
		assert.Equal(t, []string{"10:a2"}, elements(s.take(t, w, 10, 1, "a")), "10 is more than 9")
	})
}

func TestFetchDropsWhatIsNoJobToRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		w := s.worker(t, "w1", "a")
		s.take(t, w, 1, 1, "a")
		s.enqueue(t, "a", "a2", "a3")
		s.cmd(t, "LPUSH", "queue:a", "a1", "no-record", "a2", "a3")
		s.enqueue(t, "a", "a4")

		fetched, err := w.Fetch(t.Context(), 2, 3, false, []rdb.Share{{Queue: "a", Jobs: 3}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/a2", "a/a3", "a/a4"}, fetchedIDs(fetched))
		assert.Equal(t, 4, fetched.Dropped)
		assert.Empty(t, s.list(t, "queue:a"))
		assert.Equal(t, []string{"1:a1", "2:a2", "2:a3", "2:a4"}, s.list(t, "worker:w1:inprocess:a"))
	})
}

func TestFetchPopsABoundedNumberOfWhatItDrops(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for range 10 {
			junk := make([]any, 1000)
			for i := range junk {
				junk[i] = "no-record"
			}
			s.cmd(t, "LPUSH", "queue:a", junk...)
		}
		s.cmd(t, "SADD", "ready", "a")
		s.enqueue(t, "a", "a1")
		fetched, err := s.worker(t, "w1", "a").Fetch(t.Context(), 1, 400, false, []rdb.Share{{Queue: "a", Jobs: 400}})
		require.NoError(t, err)
		assert.Empty(t, fetched.Jobs)
		assert.LessOrEqual(t, fetched.Dropped, 2*rdb.MaxBatch)
		assert.Positive(t, fetched.Dropped)
		assert.Equal(t, []string{"a"}, fetched.Ready)
		assert.Len(t, s.list(t, "wake:a"), 2)
	})
}

func TestFetchNeverTakesMoreThanABatch(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for batch := range 24 {
			ids := make([]string, rdb.MaxBatch)
			for i := range ids {
				ids[i] = fmt.Sprintf("%d-%d", batch, i)
			}
			s.enqueue(t, "a", ids...)
		}
		claims := s.take(t, s.worker(t, "w1", "a"), 1, 12_000, "a")
		assert.Len(t, claims, rdb.MaxBatch)
		assert.Len(t, s.list(t, "queue:a"), 23*rdb.MaxBatch)
	})
}

func TestFetchIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for i := range 100 {
			j := job("a", fmt.Sprint(i))
			j.Record = []byte(strings.Repeat("x", 200<<10))
			_, err := s.store.Enqueue(t.Context(), "lane", int64(i+1), []rdb.NewJob{j})
			require.NoError(t, err)
		}
		w := s.worker(t, "w1", "a")
		for number, left := int64(1), 100; left > 0; number++ {
			fetched, err := w.Fetch(t.Context(), number, 100, false, []rdb.Share{{Queue: "a", Jobs: 100}})
			require.NoError(t, err)
			require.NotEmpty(t, fetched.Jobs)
			require.LessOrEqual(t, len(fetched.Jobs), 22, "4 MiB are 21 records")
			left -= len(fetched.Jobs)
		}
	})
}

func TestFetchServesTheOthersWhenOneKeyIsBroken(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"queue:bad", "worker:w1:inprocess:bad", "wake:bad"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1")
				s.enqueue(t, "c", "c1", "c2")
				s.cmd(t, "SET", key, "something else")
				w := s.worker(t, "w1", "a", "bad", "c")
				fetched, err := w.Fetch(t.Context(), 1, 6, false,
					[]rdb.Share{{Queue: "a", Jobs: 2}, {Queue: "bad", Jobs: 2}, {Queue: "c", Jobs: 2}})
				require.NoError(t, err)
				assert.Equal(t, []string{"a/a1", "c/c1", "c/c2"}, fetchedIDs(fetched))
				if !strings.HasPrefix(key, "wake:") {
					assert.Equal(t, []string{s.key(key)}, fetched.Broken)
				}
			})
		})
	}
}

func TestFetchThatNeedsNothingOfABrokenQueueLeavesIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		s.cmd(t, "SET", "queue:bad", "something else")
		w := s.worker(t, "w1", "a", "bad")
		fetched, err := w.Fetch(t.Context(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}, {Queue: "bad"}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/a1"}, fetchedIDs(fetched))
		assert.Empty(t, fetched.Broken)
	})
}

func TestFetchGoesOnWithoutTheReadyQueuesOfAWorkerWhoseSetIsBroken(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		w := s.worker(t, "w1", "a")
		s.cmd(t, "UNLINK", "worker:w1:queues")
		s.cmd(t, "SET", "worker:w1:queues", "something else")
		fetched, err := w.Fetch(t.Context(), 1, 5, true, []rdb.Share{{Queue: "a", Jobs: 2}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/a1"}, fetchedIDs(fetched))
		assert.False(t, fetched.Asked)
		assert.Equal(t, []string{s.key("worker:w1:queues")}, fetched.Broken)
	})
}

func TestFetchGoesOnWithoutTheSetOfReadyQueues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "LPUSH", "queue:a", "a1")
		s.cmd(t, "HSET", "jobs", "a1", "{}")
		w := s.worker(t, "w1", "a")
		s.cmd(t, "SET", "ready", "something else")
		fetched, err := w.Fetch(t.Context(), 1, 5, true, []rdb.Share{{Queue: "a", Jobs: 2}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a/a1"}, fetchedIDs(fetched))
		assert.False(t, fetched.Asked)
		assert.Equal(t, []string{s.key("ready")}, fetched.Broken)
	})
}

func TestFetchRefusesAKeyOfAnotherTypeBeforeItWrites(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"claimed", "jobs", "trail", "crashes", "turning", "limits", "cancelled",
		"worker:w1:info", "workers"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "LPUSH", "queue:a", "a1")
				w := s.worker(t, "w1", "a")
				s.cmd(t, "UNLINK", key)
				s.cmd(t, "SET", key, "something else")
				_, err := w.Fetch(t.Context(), 1, 5, true, []rdb.Share{{Queue: "a", Jobs: 2}})
				var refused *redisconn.ServerError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, []string{"a1"}, s.list(t, "queue:a"))
			})
		})
	}
}

func TestSurveyTellsWhatIsHeldAndKeepsOlderFetchesOut(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3")
		s.enqueue(t, "b", "b1")
		w := s.worker(t, "w1", "a", "b")
		s.take(t, w, 1, 2, "a")
		s.take(t, w, 2, 1, "b")
		for range 2 {
			state, claims, err := w.Survey(t.Context(), 5, []string{"a", "b", "none"})
			require.NoError(t, err)
			assert.Equal(t, rdb.Registered, state)
			assert.Equal(t, []rdb.Claim{{"a", "1:a1"}, {"a", "1:a2"}, {"b", "2:b1"}}, claims)
		}
		for _, number := range []int64{3, 5} {
			late, err := w.Fetch(t.Context(), number, 1, false, []rdb.Share{{Queue: "a"}})
			require.NoError(t, err)
			assert.Equal(t, rdb.Stale, late.State)
		}
		state, _, err := w.Survey(t.Context(), 4, []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, rdb.Stale, state)
		state, _, err = s.store.Worker("stranger").Survey(t.Context(), 4, []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, rdb.Fenced, state)
	})
}

func TestSurveyTellsAllThatAWorkerMayHold(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		const most = 512 + rdb.MaxBatch
		for i := range most {
			s.cmd(t, "LPUSH", "worker:w1:inprocess:a", fmt.Sprintf("1:%d", i))
		}
		_, claims, err := w.Survey(t.Context(), 5, []string{"a"})
		require.NoError(t, err)
		require.Len(t, claims, most)
		assert.Equal(t, "1:0", claims[0].Element)
	})
}

func TestTokensWakeAndAreGivenBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1")
		conn, err := s.driver.Dial(t.Context())
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck the test is over

		queue, err := s.store.Wait(t.Context(), conn, []string{"b", "a"}, 1e9)
		require.NoError(t, err)
		assert.Equal(t, "a", queue)
		queue, err = s.store.Wait(t.Context(), conn, []string{"b", "a"}, 5e6)
		require.NoError(t, err)
		assert.Empty(t, queue, "there was one token")

		for range 2 {
			require.NoError(t, s.store.Wake(t.Context(), []string{"a", "b"}))
			assert.Equal(t, []string{"1"}, s.list(t, "wake:a"))
			assert.False(t, s.exists(t, "wake:b"), "never for a queue that is not runnable")
		}
		s.cmd(t, "SET", "queue:b", "something else")
		s.cmd(t, "LPUSH", "wake:a", "1", "1", "1")
		require.NoError(t, s.store.Wake(t.Context(), []string{"b", "a"}))
		assert.Len(t, s.list(t, "wake:a"), 2)
	})
}

// Two workers of a pool fetch in one millisecond, and the one whose fetch was numbered first may come last: what they
// hold tells in which order they came all the same.
func TestClaimsTellWhichOfTwoFetchesCameFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		const fetches = 40
		var order []string
		workers := []*rdb.Worker{s.worker(t, "w1", "a"), s.worker(t, "w2", "a")}
		for i := range fetches {
			order = append(order, fmt.Sprint("a", i))
		}
		s.enqueue(t, "a", order...)
		var told []time.Time
		for i := range fetches {
			if s.clock != nil { // it stands still in these tests
				s.clock.SetTime(time.UnixMilli(1_800_000_000_000).Add(time.Duration(i) * time.Microsecond))
			}
			fetched := fetch(t, workers[i%2], int64(1000+i-2*(i%2)), 1) // the second has the smaller number
			require.Equal(t, "a/"+order[i], fetchedIDs(fetched)[0])
			told = append(told, fetched.Time)
		}
		for i := range told[1:] {
			assert.True(t, told[i].Before(told[i+1]), "each is later than the one before: %v", told)
		}

		since := map[string]time.Time{}
		for _, w := range workers {
			left, err := w.DeadClaims(t.Context(), []string{"a"}, true)
			require.NoError(t, err)
			for _, claim := range left[0].Claims {
				_, id, _ := strings.Cut(claim.Element, ":")
				since[id] = claim.Fetched
			}
		}
		for i, id := range order {
			assert.Equal(t, told[i], since[id], "the claim says what the answer said")
		}
	})
}
