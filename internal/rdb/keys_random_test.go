package rdb_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// keysRun is one random run of jobs with keys, by the rules of a queue: all that may happen to them, with replies that
// are lost and calls that are sent twice. After each step it checks what is in Redis, and what has happened so far.
type keysRun struct {
	*site
	t       *testing.T
	random  *rand.Rand
	rule    rdb.KeyRule
	changes bool // the rule may change; then nothing is known of the order and of the rate

	born, number int64
	workers      []string
	held         map[string]rdb.FetchedJob // by id: claimed, and not given up by whoever has it
	holder       map[string]string         // by id: its worker
	lost         map[string]string         // claimed by a fetch without a reply, by id: its worker
	keys         map[string]string         // of each living job
	begun        map[string]string         // by key: the job that has begun and not ended, of an ordered queue
	last         map[string]int64          // by key: the last of its jobs that began, in the order of enqueue
	begins       map[string][]time.Time
	before       map[string]int // by key: how many held places after the step before
	script       []string
}

var runKeys = []string{"k", "l", "m n", "o"}

func newKeysRun(t *testing.T, s *site, seed uint64, rule rdb.KeyRule, changes bool) *keysRun {
	t.Helper()
	on := s.fresh(fmt.Sprintf("%s-%d-%s", s.namespace, seed, strings.ReplaceAll(rule.Text(), " ", "")))
	on.clock = s.clock
	r := &keysRun{site: on, t: t, random: rand.New(rand.NewPCG(seed, 1)), rule: rule, changes: changes,
		held: map[string]rdb.FetchedJob{}, holder: map[string]string{}, lost: map[string]string{},
		keys: map[string]string{}, begun: map[string]string{}, last: map[string]int64{},
		begins: map[string][]time.Time{}, before: map[string]int{}}
	if text := rule.Text(); text != "" {
		on.keyRule(t, "q", text)
	}
	return r
}

func (r *keysRun) logf(format string, args ...any) {
	r.script = append(r.script, fmt.Sprintf(format, args...))
}

// step does one thing at random.
func (r *keysRun) step() {
	switch n := r.random.IntN(20); {
	case n < 4:
		r.enqueue()
	case n < 9:
		r.fetch()
	case n < 14:
		r.settle()
	case n < 16:
		r.due()
	case n == 16:
		r.crash()
	case n == 17:
		r.remove()
	case n == 18:
		d := time.Duration(1+r.random.IntN(40)) * time.Millisecond
		if r.clock == nil {
			d = time.Millisecond
		}
		r.logf("%s pass", d)
		r.pass(r.t, d)
	case r.changes:
		r.change()
	}
	r.check()
}

// twice sends calls, sometimes once more, as who gets no reply does.
func (r *keysRun) twice(w *rdb.Worker, call redisconn.Call) rdb.Settled {
	settled, err := w.Settle(r.t.Context(), []redisconn.Call{call})
	require.NoError(r.t, err)
	require.NoError(r.t, settled[0].Err)
	if r.random.IntN(3) == 0 {
		again, err := w.Settle(r.t.Context(), []redisconn.Call{call})
		require.NoError(r.t, err)
		require.NoError(r.t, again[0].Err)
		require.False(r.t, again[0].Roomy, "sent twice, it gives no second place")
	}
	return settled[0]
}

func (r *keysRun) enqueue() {
	key, jobs := runKeys[r.random.IntN(len(runKeys))], []rdb.NewJob(nil)
	for range 1 + r.random.IntN(4) {
		r.born++
		id := fmt.Sprintf("j%06d", r.born)
		j := rdb.NewJob{Queue: "q", ID: id, Place: rdb.Back, Record: []byte(`{"jid":"` + id + `","name":"q"}`),
			Turn: rdb.Turn{Key: key, Weight: 1 + r.random.IntN(3)}}
		if r.changes {
			switch r.random.IntN(6) {
			case 0:
				j.Place = rdb.Front
			case 1:
				j.Place, j.When = rdb.In, 5
			case 2:
				j.Turn = rdb.Turn{}
			}
		}
		if j.Turn.Key != "" {
			r.keys[id] = key
		} else {
			r.keys[id] = ""
		}
		jobs = append(jobs, j)
	}
	r.calls++
	r.logf("enqueue %d of %s, up to %d", len(jobs), key, r.born)
	for range 1 + r.random.IntN(2) {
		_, err := r.store.Enqueue(r.t.Context(), "lane", r.calls, jobs)
		require.NoError(r.t, err)
	}
}

func (r *keysRun) newWorker() *rdb.Worker {
	id := fmt.Sprintf("w%d", len(r.workers)+1)
	r.workers = append(r.workers, id)
	return r.worker(r.t, id, "q")
}

// fetch has a worker fetch. Where the reply is lost the jobs are claimed all the same.
func (r *keysRun) fetch() {
	for len(r.workers) < 2 || r.random.IntN(20) == 0 {
		r.newWorker()
	}
	id := r.workers[len(r.workers)-1-r.random.IntN(2)]
	r.number++
	w := r.store.Worker(id)
	w.Ahead = time.Duration(r.random.IntN(3)) * 4 * time.Millisecond
	wanted := 1 + r.random.IntN(6)
	fetched, err := w.Fetch(r.t.Context(), r.number, wanted, true, []rdb.Share{{Queue: "q", Jobs: wanted}})
	require.NoError(r.t, err)
	require.Equal(r.t, rdb.Registered, fetched.State)
	lost := r.random.IntN(6) == 0
	for _, job := range fetched.Jobs {
		r.begins_(job, fetched.Time)
		if lost {
			r.lost[job.ID] = id
		} else {
			r.held[job.ID], r.holder[job.ID] = job, id
		}
		r.logf("%s fetches %s of %q, in %s (lost: %v)", id, job.ID, r.keys[job.ID], job.In, lost)
	}
	if len(fetched.Jobs) == 0 {
		r.logf("%s fetches nothing, later %v, held %v", id, fetched.Later, fetched.Held)
	}
	if lost {
		r.giveBackLost()
	}
}

// begins_ checks that the job may begin.
func (r *keysRun) begins_(job rdb.FetchedJob, now time.Time) {
	key := r.keys[job.ID]
	if key == "" || r.changes {
		return
	}
	if r.rule.Jobs > 0 {
		r.begins[key] = append(r.begins[key], now.Add(job.In))
	}
	if !r.rule.Ordered {
		return
	}
	nth, _ := strconv.ParseInt(job.ID[1:], 10, 64)
	if other := r.begun[key]; other != "" {
		require.Equal(r.t, other, job.ID, "a job of an ordered key begins while another has not ended\n%s", r.story())
	} else if !r.rule.BackAgain {
		require.Greater(r.t, nth, r.last[key], "the order of the key is broken\n%s", r.story())
	}
	r.begun[key], r.last[key] = job.ID, max(nth, r.last[key])
}

func (r *keysRun) story() string {
	return strings.Join(r.script[max(0, len(r.script)-60):], "\n")
}

// giveBackLost is what a survey does: it gives back what a fetch claimed whose reply was lost.
func (r *keysRun) giveBackLost() {
	for _, id := range slices.Sorted(maps.Keys(r.lost)) {
		w := r.store.Worker(r.lost[id])
		for _, element := range r.list(r.t, "worker:"+w.ID+":inprocess:q") {
			if idOf(element) == id {
				r.logf("the lost %s is given back", id)
				r.twice(w, w.Release(rdb.Released{Queue: "q", Elements: []string{element}}))
			}
		}
		delete(r.lost, id)
	}
}

// settle ends what became of a job.
func (r *keysRun) settle() {
	if len(r.held) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(r.held))
	id := ids[r.random.IntN(len(ids))]
	job, w := r.held[id], r.store.Worker(r.holder[id])
	delete(r.held, id)
	keyed := r.keys[id] != ""
	shelve := func(shelf rdb.Shelf) redisconn.Call {
		return w.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: shelf, Delay: time.Millisecond, Keyed: keyed})
	}
	var call redisconn.Call
	ended := false
	what := r.random.IntN(9)
	r.logf("%s settles %s: %d", w.ID, id, what)
	switch what {
	case 0:
		call = shelve(rdb.ShelfRetry)
	case 1:
		call = shelve(rdb.ShelfScheduled)
	case 2:
		call, ended = shelve(rdb.ShelfMorgue), !r.rule.DeathStop
	case 3:
		call = w.Release(rdb.Released{Queue: "q", Elements: []string{job.Element}})
	case 4:
		call, ended = w.End(job.Claim, rdb.Ending{ID: id, Queue: "q", State: "done"}), true
		delete(r.keys, id)
	default:
		call, ended = w.Complete([]rdb.Ended{{Claim: job.Claim, ID: id, Keyed: keyed}}), true
		defer delete(r.keys, id)
	}
	r.twice(w, call)
	if key := r.keys[id]; ended || r.rule.BackAgain && what < 2 {
		for of, other := range r.begun {
			if other == id && (key == of || key == "") {
				delete(r.begun, of)
			}
		}
	}
}

func (r *keysRun) due() {
	for _, shelf := range []rdb.Shelf{rdb.ShelfRetry, rdb.ShelfScheduled} {
		page, err := r.store.Due(r.t.Context(), shelf, rdb.DueCall{})
		require.NoError(r.t, err)
		for range 1 + r.random.IntN(2) {
			moved, err := r.store.Due(r.t.Context(), shelf, rdb.DueCall{Move: page.Page})
			require.NoError(r.t, err)
			r.logf("%d of %s are due", moved.Moved, shelf)
		}
	}
}

// crash ends a worker: another one gives back what it held.
func (r *keysRun) crash() {
	if len(r.workers) == 0 {
		return
	}
	id := r.workers[len(r.workers)-1]
	w := r.store.Worker(id)
	var elements []string
	elements = append(elements, r.list(r.t, "worker:"+id+":inprocess:q")...)
	slices.Reverse(elements)
	for job, holder := range r.holder {
		if holder == id {
			delete(r.held, job)
		}
	}
	if len(elements) > 0 {
		r.logf("%s dies with %v", id, elements)
		r.twice(w, w.Release(rdb.Released{Queue: "q", Elements: elements, Died: id}))
	}
	r.newWorker()
}

// remove deletes a job by hand, where it rests.
func (r *keysRun) remove() {
	for _, shelf := range []string{"turns", "morgue", "retry", "scheduled"} {
		ids := slices.Sorted(maps.Keys(r.scores(r.t, shelf)))
		if len(ids) == 0 || r.random.IntN(2) == 0 {
			continue
		}
		id := ids[r.random.IntN(len(ids))]
		results, err := r.store.EndUnheld(r.t.Context(), []rdb.UnheldJob{{Spot: rdb.Spot(shelf),
			Ending: rdb.Ending{ID: id, Queue: "q", State: "deleted"}}})
		require.NoError(r.t, err)
		require.Equal(r.t, rdb.EndDone, results[0])
		r.logf("%s of %s is deleted", id, shelf)
		if key := r.keys[id]; r.begun[key] == id {
			delete(r.begun, key)
		}
		delete(r.keys, id)
		return
	}
}

// change puts another rule into force, for all keys or one.
func (r *keysRun) change() {
	rules := []rdb.KeyRule{{}, {Limit: rdb.Limit{Concurrent: 1}}, {Limit: rdb.Limit{Concurrent: 3}}, {Ordered: true},
		{Stopped: true}, {Limit: rdb.Limit{Jobs: 1, Per: 10 * time.Millisecond, Burst: 2}},
		{Ordered: true, BackAgain: true, DeathStop: true}}
	of, rule := rdb.KeyRuleOf{Queue: "q"}, rules[r.random.IntN(len(rules))]
	if r.random.IntN(3) == 0 {
		of.Key, rule.Ordered = runKeys[r.random.IntN(len(runKeys))], false
	} else if rule.Stopped {
		rule.Stopped = false
	}
	texts, err := r.store.KeyRulesOf(r.t.Context(), []rdb.KeyRuleOf{of})
	require.NoError(r.t, err)
	before, err := rdb.ParseKeyRule(texts[0])
	require.NoError(r.t, err)
	rule.Revision = before.Revision + 1
	r.logf("the rule of %+v is %q", of, rule.Text())
	for range 1 + r.random.IntN(2) {
		done, err := r.store.SetKeyRule(r.t.Context(), of, texts[0], rule.Text())
		require.NoError(r.t, err)
		require.True(r.t, done)
	}
	require.NoError(r.t, r.store.GrantParked(r.t.Context(), of.Queue, of.Key))
	r.before = nil
}

// finish brings all that is left to its end, and looks that nothing is.
func (r *keysRun) finish() {
	r.giveBackLost()
	for len(r.held) > 0 || r.exists(r.t, "claimed") {
		r.crash()
		for _, id := range r.workers {
			w := r.store.Worker(id)
			if elements := r.list(r.t, "worker:"+id+":inprocess:q"); len(elements) > 0 {
				slices.Reverse(elements)
				r.twice(w, w.Release(rdb.Released{Queue: "q", Elements: elements, Died: id}))
			}
		}
		clear(r.held)
		r.check()
	}
	if r.changes { // somebody lets go on what was stopped
		for field := range r.hash(r.t, "keyrules") {
			queue, key, _ := strings.Cut(field, "\x00")
			text := r.hash(r.t, "keyrules")[field]
			if key != "" {
				_, err := r.store.SetKeyRule(r.t.Context(), rdb.KeyRuleOf{Queue: queue, Key: key}, text, "")
				require.NoError(r.t, err)
				require.NoError(r.t, r.store.GrantParked(r.t.Context(), queue, key))
			}
		}
		r.before = nil
	}
	w := r.newWorker()
	for round := 0; r.exists(r.t, "jobs"); round++ {
		require.Less(r.t, round, 3000, "jobs never end\n%s", r.story())
		r.number++
		fetched, err := w.Fetch(r.t.Context(), r.number, 50, true, []rdb.Share{{Queue: "q", Jobs: 50}})
		require.NoError(r.t, err)
		var ended []rdb.Ended
		for _, job := range fetched.Jobs {
			r.begins_(job, fetched.Time)
			ended = append(ended, rdb.Ended{Claim: job.Claim, ID: job.ID, Keyed: true})
			r.logf("at last %s of %q", job.ID, r.keys[job.ID])
		}
		r.check()
		if len(ended) > 0 {
			r.twice(w, w.Complete(ended))
			for _, e := range ended {
				if key := r.keys[e.ID]; r.begun[key] == e.ID {
					delete(r.begun, key)
				}
			}
		} else {
			r.pass(r.t, 2*time.Millisecond)
			r.due()
			r.removeDead()
		}
		r.check()
	}
	for _, key := range []string{"turns", "keyed", "parked", "holding", "claimed", "queue:q", "ready"} {
		if key == "ready" && r.exists(r.t, "waking") {
			continue
		}
		assert.False(r.t, r.exists(r.t, key), "%s is left", key)
	}
	r.checkRate()
}

func (r *keysRun) removeDead() {
	for id := range r.scores(r.t, "morgue") {
		_, err := r.store.EndUnheld(r.t.Context(), []rdb.UnheldJob{{Spot: "morgue",
			Ending: rdb.Ending{ID: id, Queue: "q", State: "deleted"}}})
		require.NoError(r.t, err)
		if key := r.keys[id]; r.begun[key] == id {
			delete(r.begun, key)
		}
		r.logf("dead %s is deleted", id)
	}
}

// Whatever happens, and whatever the rule says: no more hold places of a key than it has, the order of an ordered key
// is not broken, no rate is, and nothing is parked for ever.
func TestRandomRunsOfKeysKeepTheRules(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rule    rdb.KeyRule
		changes bool
	}{
		"no rule": {rdb.KeyRule{}, false},
		"one":     {rdb.KeyRule{Limit: rdb.Limit{Concurrent: 1}}, false},
		"two":     {rdb.KeyRule{Limit: rdb.Limit{Concurrent: 2}}, false},
		"a rate":  {rdb.KeyRule{Limit: rdb.Limit{Jobs: 3, Per: 70 * time.Millisecond, Burst: 2}}, false},
		"two and a rate": {rdb.KeyRule{Limit: rdb.Limit{Concurrent: 2, Jobs: 1, Per: 9 * time.Millisecond, Burst: 1}},
			false},
		"ordered":                  {rdb.KeyRule{Ordered: true}, false},
		"ordered, retries at back": {rdb.KeyRule{Ordered: true, BackAgain: true}, false},
		"ordered, deaths stop":     {rdb.KeyRule{Ordered: true, DeathStop: true}, false},
		"ordered, with a rate": {rdb.KeyRule{Ordered: true, Limit: rdb.Limit{Jobs: 1, Per: 11 * time.Millisecond,
			Burst: 1}}, false},
		"rules that come":   {rdb.KeyRule{}, true},
		"rules that change": {rdb.KeyRule{Limit: rdb.Limit{Concurrent: 2}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				runs := uint64(3)
				if s.clock == nil {
					runs = 2
				}
				for seed := range runs {
					r := newKeysRun(t, s, seed, of.rule, of.changes)
					for range 150 {
						r.step()
					}
					r.finish()
				}
			})
		})
	}
}
