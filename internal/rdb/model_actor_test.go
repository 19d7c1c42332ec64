package rdb_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// actor is a worker as its own process sees it. What Redis thinks of it may differ, and is in the model.
type actor struct {
	id, former string
	queues     []string
	known      bool // its registration was answered
	fenced     bool
	doubts     bool   // Redis does not know it, and a heartbeat will say why
	epoch      string // of the Redis that it registered with
	bereft     bool   // that Redis has lost its data
	restoring  bool   // it stores what it holds again, until that is answered
	unsure     bool   // a fetch was not answered: it surveys before the next
	number     int64
	unanswered map[string]bool     // elements of the last restore, while it is not answered
	reached    int64               // the last number that was acknowledged to it
	from       int64               // what it fetched later it restores
	calls      int64               // how often it has restored something
	held       map[string]rdb.Held // by element: fetched, and the outcome not acknowledged
	lost       []rdb.Claim         // found by a survey and not held
	unsettled  []intent
	spoke      []string // ids that checked in
	debts      []string // queues whose token it took
}

// choose draws an actor for which the condition holds.
func (m *machine) choose(t *rapid.T, what string, holds func(a *actor) bool) *actor {
	var fit []*actor
	for _, a := range m.actors {
		if holds(a) {
			fit = append(fit, a)
		}
	}
	if len(fit) == 0 {
		t.Skip("no worker for this")
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(t, what)]
}

func serving(a *actor) bool { return a.known && !a.fenced }

// work is what the process of a worker does next by itself.
func (m *machine) work(t *rapid.T) {
	a := m.choose(t, "worker", func(*actor) bool { return true })
	switch idle := len(a.held) == 0; {
	case a.fenced:
		m.reborn(t, a)
	case !a.known:
		m.registerOn(t, a)
	case a.doubts:
		m.beatOn(t, a)
	case a.restoring:
		m.restoreOn(t, a)
	case a.unsure:
		m.surveyOn(t, a)
	case len(a.lost) > 0:
		m.giveBackOn(t, a)
	case idle || len(a.held) < 4 && rapid.Bool().Draw(t, "fetch"):
		m.fetchOf(t, a)
	case len(a.unbegun()) > 0 && rapid.Bool().Draw(t, "begin"):
		m.beginOn(t, a)
	case rapid.IntRange(0, 2).Draw(t, "suspect") == 0:
		m.suspectOn(t, a)
	default:
		m.settleOn(t, a, m.decide(t, a))
	}
}

func (m *machine) register(t *rapid.T) {
	if len(m.actors) < 2 || len(m.actors) < 4 && rapid.Bool().Draw(t, "new worker") {
		m.newActor(t, modelQueues[rapid.IntRange(0, 1).Draw(t, "first queue"):])
		return
	}
	a := m.choose(t, "worker", func(a *actor) bool { return a.fenced || !a.known })
	m.reborn(t, a)
}

// reborn registers a worker, under a new id if it was fenced.
func (m *machine) reborn(t *rapid.T, a *actor) {
	if a.fenced {
		*a = actor{id: m.name("w"), former: a.id, queues: a.queues, held: map[string]rdb.Held{}}
	}
	m.registerOn(t, a)
}

func (m *machine) newActor(t *rapid.T, queues []string) *actor {
	a := &actor{id: m.name("w"), queues: queues, held: map[string]rdb.Held{}}
	m.actors = append(m.actors, a)
	m.registerOn(t, a)
	return a
}

func (m *machine) registerOn(t *rapid.T, a *actor) {
	id, former, queues, fresh := a.id, a.former, a.queues, m.name("epoch")
	answer, ok := m.request(t, step{
		title: a.id + " registers for " + strings.Join(queues, ",") + ", before " + former,
		send: func(store *rdb.Store) (any, error) {
			_, epoch, err := store.Worker(id).Register(background, rdb.Registration{
				Life: modelLife, Epoch: fresh, Former: former, Queues: queues,
				Info: map[string]string{"host": "h", "prefetch": prefetchOf(id)},
			})
			return epoch, err
		},
		execute: func() any {
			heart := m.hearts[id]
			if !m.alive(id, m.before) {
				heart.since = m.before
			}
			m.hearts[id] = modelHeart{heart.since, m.before + modelLife.Milliseconds()}
			if !m.dead[id] {
				m.workers[id], m.timed[id] = true, true
			}
			if former != "" {
				delete(m.workers, former)
				delete(m.timed, former)
				m.dead[former] = true
			}
			m.serves[id] = queues
			for _, queue := range queues {
				m.once[queue] = true
			}
			m.epoch = cmp.Or(m.epoch, fresh)
			return m.epoch
		},
	})
	if a.known = ok; ok {
		a.registered(t, answer.(string))
	}
}

func (m *machine) fetchSome(t *rapid.T) {
	m.fetchOf(t, m.choose(t, "worker", func(a *actor) bool { return serving(a) && !a.unsure }))
}

func (m *machine) fetchOf(t *rapid.T, a *actor) {
	var shares []rdb.Share
	for _, queue := range rapid.Permutation(a.queues).Draw(t, "queues") {
		shares = append(shares, rdb.Share{Queue: queue, Jobs: rapid.IntRange(0, 2).Draw(t, "share")})
	}
	shares = shares[:rapid.IntRange(1, len(shares)).Draw(t, "named")]
	m.fetchOn(t, a, rapid.IntRange(1, 5).Draw(t, "wanted"), rapid.Bool().Draw(t, "ask"), shares)
}

func (m *machine) fetchOn(t *rapid.T, a *actor, wanted int, ask bool, shares []rdb.Share) {
	a.number++
	id, number, reached := a.id, a.number, a.reached
	var text strings.Builder
	for _, share := range shares {
		text.WriteString(" " + share.Queue + ":" + strconv.Itoa(share.Jobs))
	}
	var held map[string]time.Duration
	answer, ok := m.request(t, step{
		title: a.id + " fetches " + strconv.Itoa(wanted) + " of" + text.String() + ", number " +
			strconv.FormatInt(number, 10),
		send: func(store *rdb.Store) (any, error) {
			w := workerAt(store, id, reached)
			fetched, err := w.Fetch(background, number, wanted, ask, shares)
			m.requireFell(t, w, fetched.State == rdb.Rewound)
			held, fetched.Held = fetched.Held, nil
			fetched.Time = time.Time{}
			slices.Sort(fetched.Ready)
			sortByQueue(fetched.Jobs)
			for i := range fetched.Jobs {
				fetched.Jobs[i].Crashes = withoutTimes(fetched.Jobs[i].Crashes)
			}
			return fetched, err
		},
		execute: func() any { return m.fetchExecuted(t, id, fetching{number, reached, wanted, ask, shares}, held) },
	})
	if !ok {
		a.unsure = true
		return
	}
	fetched := answer.(rdb.Fetched)
	require.NotEqual(t, rdb.Stale, fetched.State, "its own newest number")
	a.doubts = fetched.State == rdb.Fenced
	if a.rewound(m, fetched.State == rdb.Rewound) {
		return
	}
	if fetched.State == rdb.Registered {
		a.reached = number
	}
	for i := range fetched.Jobs {
		job := &fetched.Jobs[i]
		held := rdb.Held{Claim: job.Claim, ID: job.ID, Record: job.Record, Trail: job.Trail}
		if lock := lockOf(string(job.Record)); lock.Kind == rdb.UntilEnded || lock.Kind == rdb.UntilBegun {
			held.Lock, held.Kind = lock.Digest, lock.Kind
		}
		a.held[job.Element] = held
	}
	a.debts = slices.DeleteFunc(a.debts, func(queue string) bool {
		return !a.doubts && slices.ContainsFunc(shares,
			func(s rdb.Share) bool { return s.Queue == queue && s.Jobs > 0 })
	})
}

// sortByQueue leaves the order within each queue as it is: that among queues does not matter.
func sortByQueue(jobs []rdb.FetchedJob) {
	slices.SortStableFunc(jobs, func(a, b rdb.FetchedJob) int { return strings.Compare(a.Queue, b.Queue) })
}

// fetching is what a fetch asks for.
type fetching struct {
	number  int64
	reached int64
	wanted  int
	ask     bool
	shares  []rdb.Share
}

func (m *machine) fetchExecuted(t *rapid.T, id string, asked fetching, held map[string]time.Duration) rdb.Fetched {
	if !m.workers[id] {
		return rdb.Fetched{State: rdb.Fenced}
	}
	if asked.number <= m.last[id] {
		return rdb.Fetched{State: rdb.Stale}
	}
	if m.last[id] < asked.reached {
		return rdb.Fetched{State: rdb.Rewound}
	}
	answer := rdb.Fetched{State: rdb.Registered, Broken: []string{}}
	f := m.model.fetch(id, asked.number, asked.wanted, asked.shares, m.before)
	answer.Jobs, answer.Dropped = f.Jobs, f.Dropped
	for _, share := range asked.shares {
		taken := 0
		for _, job := range f.Jobs {
			if job.Queue == share.Queue {
				taken++
			}
		}
		m.spend(t, share.Queue, taken)
		if _, kept := f.held[share.Queue]; kept { // as it is once they have begun
			_, f.held[share.Queue], _ = m.room(share.Queue, m.before)
		}
	}
	m.requireHeld(t, f.held, held)
	m.requireWithin(t, f.Jobs)
	sortByQueue(answer.Jobs)
	if answer.Asked = asked.ask || len(answer.Jobs) < asked.wanted; answer.Asked {
		answer.Ready = m.model.ready(id)
	}
	return answer
}

type surveyed struct {
	state  rdb.State
	claims []rdb.Claim
}

func (m *machine) survey(t *rapid.T) { m.surveyOn(t, m.choose(t, "worker", serving)) }

func (m *machine) surveyOn(t *rapid.T, a *actor) {
	a.number++
	id, number, reached, queues := a.id, a.number, a.reached, a.queues
	answer, ok := m.request(t, step{
		title: a.id + " surveys, number " + strconv.FormatInt(number, 10),
		send: func(store *rdb.Store) (any, error) {
			w := workerAt(store, id, reached)
			state, claims, err := w.Survey(background, number, queues)
			m.requireFell(t, w, state == rdb.Rewound)
			return surveyed{state, claims}, err
		},
		execute: func() any {
			if !m.workers[id] {
				return surveyed{state: rdb.Fenced}
			}
			if number < m.last[id] {
				return surveyed{state: rdb.Stale}
			}
			if m.last[id] < reached {
				return surveyed{state: rdb.Rewound}
			}
			m.last[id] = number
			answer := surveyed{state: rdb.Registered}
			for _, queue := range queues {
				for _, element := range m.inProcess[id][queue] {
					answer.claims = append(answer.claims, rdb.Claim{Queue: queue, Element: element})
				}
			}
			return answer
		},
	})
	if !ok {
		return
	}
	found := answer.(surveyed)
	if a.rewound(m, found.state == rdb.Rewound) {
		return
	}
	if found.state == rdb.Registered {
		a.reached = number
	}
	a.doubts, a.unsure, a.lost = found.state == rdb.Fenced, false, nil
	for _, claim := range found.claims {
		if _, held := a.held[claim.Element]; !held {
			a.lost = append(a.lost, claim)
		}
	}
}

// wait takes a token, which it then owes.
func (m *machine) wait(t *rapid.T) {
	a := m.choose(t, "worker", serving)
	queue := rapid.SampledFrom(a.queues).Draw(t, "queue")
	_, ok := m.request(t, step{
		title: a.id + " waits for a token of " + queue,
		send: func(store *rdb.Store) (any, error) {
			got, err := store.Wait(background, conn{store.Driver()}, []string{queue}, 2*time.Millisecond)
			if got != "" {
				m.owed[queue] = true
			}
			return nil, err
		},
		execute: func() any { return nil },
	})
	if ok {
		a.debts = append(a.debts, queue)
	}
}

// requireHeld compares what a fetch says of queues whose jobs may not begin now.
func (m *machine) requireHeld(t *rapid.T, want map[string]float64, got map[string]time.Duration) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)),
		"queues that are held back")
	for queue, wait := range want {
		if wait < 0 {
			require.Negative(t, got[queue], "the wait for %s is not known", queue)
			continue
		}
		told := got[queue].Seconds() * 1000
		require.LessOrEqual(t, told, wait, "the wait for %s", queue)
		// both clocks are cut to ms
		require.GreaterOrEqual(t, told, wait-float64(m.after-m.before)-2, "the wait for %s", queue)
	}
}

func (m *machine) wakeSome(t *rapid.T) {
	a := m.choose(t, "worker", func(a *actor) bool { return len(a.debts) > 0 })
	ok := m.wakeAll(t, slices.Clone(a.debts))
	if ok {
		a.debts = nil
	}
}

// crash ends the process of a worker: nobody knows any more what it held.
func (m *machine) crash(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "crash") > 0 {
		t.Skip("no crash")
	}
	a := m.choose(t, "worker", func(*actor) bool { return true })
	m.logf(t, "%s crashes", a.id)
	m.actors = slices.DeleteFunc(m.actors, func(other *actor) bool { return other == a })
}

func (m *machine) stop(t *rapid.T) {
	m.stopOn(t, m.choose(t, "worker", func(a *actor) bool {
		return serving(a) && !a.unsure && len(a.held)+len(a.lost)+len(a.unsettled) == 0
	}))
}

func (m *machine) stopOn(t *rapid.T, a *actor) {
	answer, ok := m.request(t, m.forgetting(a.id, a.queues))
	if ok && answer.(forgotten).gone {
		m.actors = slices.DeleteFunc(m.actors, func(other *actor) bool { return other == a })
	} else {
		a.unsure = true
	}
}

type forgotten struct {
	holding []string
	gone    bool
}

func (m *machine) forgetting(id string, queues []string) step {
	return step{
		title: id + " is forgotten",
		send: func(store *rdb.Store) (any, error) {
			holding, gone, err := store.Worker(id).Forget(background, queues, "died {"+id+"}")
			return forgotten{holding, gone}, err
		},
		execute: func() any {
			holding, gone := m.model.forget(id, queues)
			return forgotten{holding, gone}
		},
	}
}

// sortedHeld are the claims that an actor holds, in an order that does not depend on a map.
func (a *actor) sortedHeld() []rdb.Claim {
	claims := []rdb.Claim{}
	for _, element := range slices.Sorted(maps.Keys(a.held)) {
		claims = append(claims, a.held[element].Claim)
	}
	return claims
}
