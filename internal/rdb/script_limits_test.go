package rdb_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func TestARuleReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	limit := rdb.Limit{Concurrent: 7, Jobs: 100, Per: time.Minute, Burst: 3}
	for name, row := range map[string]struct {
		rule rdb.Rule
		text string
	}{
		"nothing":   {rdb.Rule{}, ""},
		"paused":    {rdb.Rule{Paused: true}, "1 - - - - code - - -"},
		"limited":   {rdb.Rule{Limit: limit, Operator: true}, "0 7 100 60000 3 operator 7 - -"},
		"being set": {rdb.Rule{Limit: limit, Filling: "ab"}, "0 0 100 60000 3 code 7:ab - -"},
		"by the code": {rdb.Rule{Limit: limit, Service: "my shop", Code: limit},
			"0 7 100 60000 3 code 7 my+shop 7,100,60000,3"},
		"of both": {rdb.Rule{Operator: true, Service: "s", Code: rdb.Limit{Concurrent: 1}},
			"0 - - - - operator - s 1,-,-,-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.text, row.rule.Text())
			got, err := rdb.ParseRule(row.text)
			require.NoError(t, err)
			assert.Equal(t, row.rule, got)
		})
	}
	for _, text := range []string{"1", "0 x - - - code x - -", "0 1 - - - code 1 %zz -", "0 1 - - - code 1 s a,-,-,-"} {
		t.Run("broken: "+text, func(t *testing.T) {
			t.Parallel()
			_, err := rdb.ParseRule(text)
			assert.ErrorContains(t, err, fmt.Sprintf("the rule %q", text))
		})
	}
}

// What ran before there was a rule counts, and so does nothing that has ended meanwhile.
func TestALimitCountsWhatRanBefore(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "a1", "a2", "a3", "a4", "a5")
		w := s.worker(t, "w1", "a")
		before := s.take(t, w, 1, 3, "a")
		s.cmd(t, "SADD", "running:a", "left behind")
		filling := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Filling: "token"}
		set, err := s.store.SetRule(t.Context(), "a", "", filling.Text(), true)
		require.NoError(t, err)
		require.True(t, set)
		assert.Empty(t, s.take(t, w, 2, 5, "a"), "none begins while what runs is counted")
		require.NoError(t, s.store.Fill(t.Context(), "a"))
		assert.Equal(t, []string{"a1", "a2", "a3"}, s.set(t, "running:a"))
		settle(t, w, w.Complete(ended(before[1])))
		s.cmd(t, "UNLINK", "wake:a")
		filled := filling
		filled.Filling = ""
		set, err = s.store.SetRule(t.Context(), "a", filling.Text(), filled.Text(), false)
		require.NoError(t, err)
		require.True(t, set)
		assert.Equal(t, []string{"1"}, s.list(t, "wake:a"), "there is room for one: it is called for")
		assert.Equal(t, []string{"3:a4"}, elements(s.take(t, w, 3, 5, "a")))
		assert.Equal(t, []string{"a1", "a3", "a4"}, s.set(t, "running:a"))

		set, err = s.store.SetRule(t.Context(), "a", filling.Text(), "", false)
		require.NoError(t, err)
		assert.False(t, set, "it reads otherwise by now")
	})
}

func TestAnotherRateTakesOverWhatIsOwed(t *testing.T) {
	t.Parallel()
	rule := func(jobs, burst int) rdb.Rule {
		return rdb.Rule{Limit: rdb.Limit{Jobs: jobs, Per: time.Hour, Burst: burst}}
	}
	for name, row := range map[string]struct {
		to   rdb.Rule
		want int // may begin at once under the new rule
	}{
		"the same pace, a larger burst": {rule(10, 8), 4},
		"faster, so that it costs less": {rule(3600, 8), 4},
		"slower, and a smaller burst":   {rule(1, 2), 0},
		"none":                          {rdb.Rule{Paused: false}, 12},
		"of running ones only":          {rdb.Rule{Limit: rdb.Limit{Concurrent: 6}}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				var ids []string
				for i := range 16 {
					ids = append(ids, fmt.Sprint("a", i))
				}
				s.enqueue(t, "a", ids...)
				w := s.worker(t, "w1", "a")
				s.limit(t, "a", rule(10, 4))
				first := s.take(t, w, 1, 20, "a")
				require.Len(t, first, 4)
				settle(t, w, w.Complete(ended(first...)))
				before, err := s.store.RuleOf(t.Context(), "a")
				require.NoError(t, err)
				set, err := s.store.SetRule(t.Context(), "a", before, row.to.Text(), false)
				require.NoError(t, err)
				require.True(t, set)
				assert.Len(t, s.take(t, w, 2, 20, "a"), row.want)
			})
		})
	}
}

func TestWhatIsWantedOfAWorker(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		commands []rdb.Command
		wanted   string
	}{
		"pause":                 {[]rdb.Command{rdb.CommandPause}, "pause"},
		"go on":                 {[]rdb.Command{rdb.CommandPause, rdb.CommandResume}, ""},
		"go on without a pause": {[]rdb.Command{rdb.CommandResume}, ""},
		"quiet for good":        {[]rdb.Command{rdb.CommandQuiet, rdb.CommandResume, rdb.CommandPause}, "quiet"},
		"stop, and nothing after that": {
			[]rdb.Command{rdb.CommandQuiet, rdb.CommandStop, rdb.CommandQuiet, rdb.CommandResume},
			"stop"},
		"at once":                        {[]rdb.Command{rdb.CommandPause, rdb.CommandNow, rdb.CommandNow}, "now"},
		"a stop that is to be at once":   {[]rdb.Command{rdb.CommandStop, rdb.CommandNow}, "now"},
		"at once, and nothing less then": {[]rdb.Command{rdb.CommandNow, rdb.CommandStop, rdb.CommandResume}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker(t, "w1", "a")
				for _, command := range row.commands {
					known, err := s.store.SendCommand(t.Context(), "w1", command)
					require.NoError(t, err)
					require.True(t, known)
				}
				for _, lease := range []time.Duration{0, time.Minute} {
					pulse := s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Lease: lease})
					assert.Equal(t, row.wanted, pulse.Wanted, "lease %s", lease)
				}
				known, err := s.store.SendCommand(t.Context(), "nobody", rdb.CommandStop)
				require.NoError(t, err)
				assert.False(t, known || s.exists(t, "worker:nobody:info"))
			})
		})
	}
}

func TestAHeartbeatAnswersAPing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		_, err := s.store.SendCommand(t.Context(), "w1", rdb.CommandPing)
		require.NoError(t, err)
		pinged, err := s.store.Pinged(t.Context(), "w1")
		require.NoError(t, err)
		assert.True(t, pinged)
		s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
		pinged, err = s.store.Pinged(t.Context(), "w1")
		require.NoError(t, err)
		assert.False(t, pinged)
	})
}

func TestAPurgeRemovesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		crowded(t, s)
		s.cmd(t, "HSET", "waited", "a5", "1", "a3", "1")
		s.cmd(t, "SADD", "cancelled", "a1")
		purged, err := s.store.Purge(t.Context(), "a", 4, []string{"a3", "a4", "a5", "a6", "a1", "nobody"})
		require.NoError(t, err)
		want := rdb.Purged{Removed: 1, Waited: []string{"a5"}, Cancelled: []string{"a3"}}
		assert.Equal(t, want, purged, "a6 is further behind, a1 is held, a5 is waited for, a3 is to be cancelled")
		assert.Equal(t, []string{"a3", "a5", "a6"}, s.list(t, "queue:a"))
		assert.Equal(t, []string{"a1", "a3"}, s.set(t, "cancelled"))
		assert.Len(t, s.hash(t, "jobs"), 6)
		assert.Empty(t, s.hash(t, "trail")["a4"])
		assert.Equal(t, map[string]string{"a2": "w0"}, s.hash(t, "crashes"))
		assert.Equal(t, []string{"a"}, s.set(t, "ready"))
		s.cmd(t, "UNLINK", "waited")
		s.cmd(t, "SREM", "cancelled", "a3")
		purged, err = s.store.Purge(t.Context(), "a", 400, []string{"a3", "a5", "a6"})
		require.NoError(t, err)
		assert.Equal(t, rdb.Purged{Removed: 3, Waited: []string{}, Cancelled: []string{}}, purged)
		assert.False(t, s.exists(t, "queue:a") || s.exists(t, "wake:a"))
		assert.Empty(t, s.set(t, "ready"))
	})
}

func TestTheFrontOfAQueueIsReadInParts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var jobs []rdb.NewJob
		for i := range 100 {
			jobs = append(jobs, job("a", fmt.Sprintf("%03d", i)))
		}
		jobs[20].Record = []byte(strings.Repeat("x", 3<<20))
		_, err := s.store.Enqueue(t.Context(), "lane", 1, jobs)
		require.NoError(t, err)
		var front rdb.FrontReader
		var sizes []int
		for seen := 0; seen < 100; {
			part, err := front.Next(t.Context(), s.store, "a", 90)
			require.NoError(t, err)
			ids := make([]string, len(part))
			for i, waiter := range part {
				require.Equal(t, jobs[seen+i].ID, waiter.ID)
				require.Equal(t, jobs[seen+i].Record, waiter.Record)
				ids[i] = waiter.ID
			}
			purged, err := s.store.Purge(t.Context(), "a", len(ids), ids)
			require.NoError(t, err)
			require.Equal(t, len(ids), purged.Removed)
			seen += len(part)
			sizes = append(sizes, len(part))
		}
		assert.Equal(t, []int{16, 64, 20}, sizes[:3])
	})
}

// Rules are set, changed and taken away while jobs are fetched, end, fail, are given back and lose their worker. At any
// moment no more are claimed than the limit in force allows, but for those that were claimed before it.
func TestALimitHoldsWhateverHappens(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		rounds := 1000
		if s.clock == nil {
			rounds = 200
		}
		r := newLimitRace(t, s)
		for range rounds {
			r.step()
		}
		r.drain()
	})
}

// limitRace knows how many jobs may run at the most, and which are claimed.
type limitRace struct {
	t       *testing.T
	s       *site
	random  *rand.Rand
	workers []*rdb.Worker
	number  int64
	born    int
	claims  []heldClaim
	rule    rdb.Rule
	most    int // 0 is no limit
	grace   int // claimed before the limit came, more than it allows
}

type heldClaim struct {
	rdb.Claim
	worker *rdb.Worker
}

func newLimitRace(t *testing.T, s *site) *limitRace {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := &limitRace{t: t, s: s, random: rand.New(rand.NewPCG(seed, 1))}
	for _, id := range []string{"w1", "w2", "w3"} {
		r.workers = append(r.workers, s.worker(t, id, "a"))
	}
	s.cmd(t, "HSET", "limits", "other", rdb.Rule{Limit: rdb.Limit{Concurrent: 1}}.Text())
	return r
}

func (r *limitRace) step() {
	switch r.random.IntN(9) {
	case 0:
		for range r.random.IntN(8) {
			r.born++
			r.s.enqueue(r.t, "a", fmt.Sprint("a", r.born))
		}
	case 1, 2:
		r.fetch()
	case 3:
		r.change()
	case 4:
		r.s.cmd(r.t, "SADD", "running:a", "ghost")
		removed, err := r.s.store.Recount(r.t.Context(), "a")
		require.NoError(r.t, err)
		require.Equal(r.t, map[string]int{"a": 1}, removed)
	default:
		r.end()
	}
	r.check()
}

func (r *limitRace) fetch() {
	w := r.workers[r.random.IntN(len(r.workers))]
	r.number++
	for _, claim := range r.s.take(r.t, w, r.number, 1+r.random.IntN(5), "a") {
		r.claims = append(r.claims, heldClaim{claim, w})
	}
}

func (r *limitRace) change() {
	r.most = r.random.IntN(5)
	r.grace = max(0, len(r.claims)-r.most)
	next := rdb.Rule{Limit: rdb.Limit{Concurrent: r.most}}
	switch {
	case r.most > 0 && r.rule.Concurrent == 0:
		r.s.limit(r.t, "a", next)
	default:
		set, err := r.s.store.SetRule(r.t.Context(), "a", r.rule.Text(), next.Text(), false)
		require.NoError(r.t, err)
		require.True(r.t, set)
	}
	r.rule = next
}

func (r *limitRace) end() {
	if len(r.claims) == 0 {
		return
	}
	at := r.random.IntN(len(r.claims))
	c := r.claims[at]
	r.claims = append(r.claims[:at], r.claims[at+1:]...)
	call := []redisconn.Call{
		c.worker.Complete(ended(c.Claim)),
		c.worker.End(c.Claim, rdb.Ending{ID: idOf(c.Element), Queue: "a", State: "done"}),
		c.worker.Shelve(rdb.Shelved{Claim: c.Claim, Shelf: rdb.ShelfMorgue}),
		c.worker.Release(rdb.Released{Queue: "a", Elements: []string{c.Element}}),
	}[r.random.IntN(4)]
	require.Empty(r.t, settle(r.t, c.worker, call))
	require.Equal(r.t, []string{c.Element}, settle(r.t, c.worker, call), "once more: nothing happens")
}

func (r *limitRace) check() {
	r.grace = min(r.grace, max(0, len(r.claims)-r.most))
	if r.most == 0 {
		return
	}
	require.LessOrEqual(r.t, len(r.claims), r.most+r.grace)
	ids := make([]string, 0, len(r.claims))
	for _, c := range r.claims {
		ids = append(ids, idOf(c.Element))
	}
	require.ElementsMatch(r.t, ids, r.s.set(r.t, "running:a"))
}

func (r *limitRace) drain() {
	for len(r.claims) > 0 {
		r.end()
	}
	r.most = 2
	r.s.limit(r.t, "a", rdb.Rule{Limit: rdb.Limit{Concurrent: 2}})
	r.s.enqueue(r.t, "a", "x1", "x2", "x3", "x4")
	r.fetch()
	r.fetch()
	r.number++
	r.s.take(r.t, r.workers[0], r.number, 5, "a")
	assert.Len(r.t, r.s.hash(r.t, "claimed"), 2, "there is room for exactly as many as before")
}
