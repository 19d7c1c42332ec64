package rdb_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// keyedDelay is longer than what is put off waits.
const keyedDelay = 12 * time.Millisecond

// keyedMachine drives Redis and the model with the same random requests.
type keyedMachine struct {
	*keyedModel
	courier

	actors       []*keyedActor
	enqueuers    []*enqueuer
	pages        map[rdb.Shelf][]rdb.Waiting
	acknowledged map[string]bool
	born         int
	seen         redisState // by the last check
}

// keyedActor is a worker as its own process sees it.
type keyedActor struct {
	id      string
	number  int64
	held    map[string]rdb.FetchedJob // by element: fetched, and the outcome not acknowledged
	outcome map[string]keyedIntent    // that was sent, and not acknowledged
}

// keyedIntent is an outcome that is sent until it was acknowledged.
type keyedIntent struct {
	title, element string
	call           func(w *rdb.Worker) redisconn.Call
	execute        func() rdb.Settled
}

func newKeyedMachine(on *site, namespace string) *keyedMachine {
	w := &wire{Driver: on.driver}
	m := &keyedMachine{keyedModel: newKeyedModel(), enqueuers: []*enqueuer{{lane: "l1"}, {lane: "l2"}},
		pages: map[rdb.Shelf][]rdb.Waiting{}, acknowledged: map[string]bool{}}
	m.courier = courier{wire: w, delivered: func() {},
		site: &site{driver: on.driver, store: rdb.NewStore(w, namespace), namespace: namespace, clock: on.clock}}
	return m
}

func (m *keyedMachine) name(kind string) string {
	m.born++
	return fmt.Sprintf("%s%04d", kind, m.born)
}

// actions are what may happen; "" is checked after each of them.
func (m *keyedMachine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"something happens": oneOf(m.enqueue, m.enqueue, m.enqueue, m.enqueue, m.fetch, m.fetch, m.fetch, m.fetch,
			m.fetch, m.settle, m.settle, m.settle, m.settle, m.settle, m.settle, m.arrive, m.arrive, m.due, m.due,
			m.takeApart, oneOf(m.die, m.takeApart, m.survey, m.survey), oneOf(m.cancel, m.endFlagged, m.removeSome),
			oneOf(m.purge, m.moveSome, m.moveSome), oneOf(m.changeRule, m.changeRule, m.grantSome)),
	}
}

func (m *keyedMachine) newActor(t *rapid.T) *keyedActor {
	a := &keyedActor{id: m.name("w"), held: map[string]rdb.FetchedJob{}, outcome: map[string]keyedIntent{}}
	m.site.worker(t, a.id, keyedQueues...)
	m.actors = append(m.actors, a)
	return a
}

func (m *keyedMachine) someActor(t *rapid.T) *keyedActor {
	if len(m.actors) < 2 {
		return m.newActor(t)
	}
	return m.actors[rapid.IntRange(0, len(m.actors)-1).Draw(t, "worker")]
}

// keyedWeight is the weight of a key, the same in each of its jobs: so the turns that it may have can be told.
func keyedWeight(key string) int {
	return map[string]int{"l": 2, "m n": 3, "o": 5}[key] + map[bool]int{true: 1}[key == "k" || key == ""]
}

func (m *keyedMachine) enqueue(t *rapid.T) {
	e := m.enqueuers[rapid.IntRange(0, len(m.enqueuers)-1).Draw(t, "lane")]
	if len(e.jobs) > 0 && rapid.Bool().Draw(t, "give up") {
		e.jobs = nil
	}
	if len(e.jobs) == 0 {
		e.number++
		for range rapid.IntRange(1, 6).Draw(t, "jobs") {
			e.jobs = append(e.jobs, m.newJob(t))
		}
	}
	jobs := e.jobs
	answer, ok := m.request(t, m.enqueuing(t, e.lane, e.number, jobs))
	if !ok {
		return
	}
	e.jobs = nil
	require.Equal(t, "stored", answer, "the newest call of its lane")
	for _, j := range jobs {
		m.acknowledged[j.ID] = true
	}
}

func (m *keyedMachine) newJob(t *rapid.T) rdb.NewJob {
	j := rdb.NewJob{Queue: rapid.SampledFrom(keyedQueues).Draw(t, "queue"), ID: m.name("j"),
		Place: rapid.SampledFrom([]rdb.Place{rdb.Back, rdb.Back, rdb.Back, rdb.Back, rdb.Front, rdb.In}).
			Draw(t, "place")}
	if rapid.IntRange(0, 6).Draw(t, "keyed") > 0 {
		key := rapid.SampledFrom(keyedKeys).Draw(t, "key")
		j.Turn = rdb.Turn{Key: key, Weight: keyedWeight(key)}
	}
	if j.Place == rdb.In {
		j.When = 5
	}
	j.Record = []byte(`{"jid":"` + j.ID + `","name":"` + j.Queue + `","key":"` + j.Turn.Key + `"}`)
	return j
}

func (m *keyedMachine) enqueuing(t *rapid.T, lane string, number int64, jobs []rdb.NewJob) step {
	var titles []string
	for _, j := range jobs {
		titles = append(titles, fmt.Sprintf("%s %s of %q %s", j.Queue, j.ID, j.Turn.Key, j.Place))
	}
	return step{
		title: fmt.Sprintf("%s enqueues %d: %s", lane, number, strings.Join(titles, ", ")),
		send: func(store *rdb.Store) (any, error) {
			_, err := store.Enqueue(background, lane, number, jobs)
			var refused *redisconn.ServerError
			if errors.As(err, &refused) && refused.Code == "STALE" {
				return "stale", nil
			}
			return "stored", err
		},
		execute: func() any {
			if number < m.lanes[lane] {
				return "stale"
			}
			if number > m.lanes[lane] {
				m.lanes[lane] = number
				m.store(t, jobs)
			}
			return "stored"
		},
	}
}

// store puts new jobs in their places.
func (m *keyedMachine) store(t *rapid.T, jobs []rdb.NewJob) {
	for i := range jobs {
		j := &jobs[i]
		made := &keyedJob{queue: j.Queue, key: j.Turn.Key, weight: j.Turn.Weight, record: string(j.Record)}
		m.jobs[j.ID] = made
		switch j.Place {
		case rdb.In:
			made.shelf, made.due = rdb.ShelfScheduled, m.dueOf(t, rdb.ShelfScheduled, j.ID)
		case rdb.Front:
			m.toFront(j.ID)
		default:
			m.lineUp(j.ID)
		}
	}
}

// dueOf reads the score that Redis has given a job on a shelf.
func (m *keyedMachine) dueOf(t *rapid.T, shelf rdb.Shelf, id string) float64 {
	return asFloat(t, text(m.site.cmd(t, "ZSCORE", string(shelf), id)))
}

func (m *keyedMachine) fetch(t *rapid.T) {
	queues := rapid.Permutation(keyedQueues).Draw(t, "queues")
	m.fetchOn(t, m.someActor(t), rapid.IntRange(1, 6).Draw(t, "wanted"),
		queues[:rapid.IntRange(1, len(queues)).Draw(t, "named")])
}

func (m *keyedMachine) fetchOn(t *rapid.T, a *keyedActor, wanted int, queues []string) {
	a.number++
	number, shares := a.number, make([]rdb.Share, len(queues))
	for i, queue := range queues {
		shares[i] = rdb.Share{Queue: queue, Jobs: wanted/len(queues) + 1}
	}
	var got rdb.Fetched
	answer, ok := m.request(t, step{
		title: fmt.Sprintf("%s fetches %d of %v, number %d", a.id, wanted, queues, number),
		send: func(store *rdb.Store) (any, error) {
			fetched, err := store.Worker(a.id).Fetch(background, number, wanted, true, shares)
			got = fetched
			return fetched.State, err
		},
		execute: func() any {
			if number <= m.last[a.id] {
				return rdb.Stale
			}
			m.last[a.id] = number
			require.Zero(t, got.Dropped)
			for _, queue := range queues {
				others := func(j rdb.FetchedJob) bool { return j.Queue != queue }
				ofQueue := slices.DeleteFunc(slices.Clone(got.Jobs), others)
				m.logf(t, "  of %s: %v", queue, idsOf(ofQueue))
				m.fetched(t, a.id, queue, ofQueue)
			}
			if len(got.Jobs) < wanted {
				for _, queue := range queues {
					m.exhausted(t, m.queues[queue])
				}
			}
			return rdb.Registered
		},
	})
	if !ok || answer != rdb.Registered {
		return
	}
	for _, job := range got.Jobs {
		a.held[job.Element] = job
	}
}

func idsOf(jobs []rdb.FetchedJob) (ids []string) {
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

func (a *keyedActor) elements() []string {
	return slices.SortedFunc(maps.Keys(a.held), func(a, b string) int {
		x, _ := strconv.Atoi(number(a))
		y, _ := strconv.Atoi(number(b))
		if x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
}
