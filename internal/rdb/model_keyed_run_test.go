package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// This model test is about jobs that have keys, as model_run_test.go is about all others: random requests of several
// enqueuers, workers and people, some of which lose their reply, or land late or twice, while workers die and rules
// change. After each of them what is in Redis is compared with the model.

func TestModelOfKeysOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "its Lua is slow, and the same runs are made on a real one")
	runKeyedModel(t, patientSite(t, redistest.Embedded(t)), modelRuns(4))
}

func TestModelOfKeysOnARealRedis(t *testing.T) {
	t.Parallel()
	runKeyedModel(t, patientSite(t, redistest.Real(t)), modelRuns(3))
}

// runKeyedModel makes random runs. Only the first ones, of which there are so many, do anything until one fails.
func runKeyedModel(t *testing.T, on *site, runs int) {
	t.Helper()
	run, requests, told := 0, 0, story{}
	rapid.Check(t, func(rt *rapid.T) {
		if run++; run > runs && !told.failed {
			return
		}
		m := newKeyedMachine(on, fmt.Sprintf("%s-%d", on.namespace, run))
		defer func() {
			told.tell(t, rt, m.account())
			requests += len(m.script)
			m.site.eraseAll(rt)
		}()
		m.begin(rt)
		rt.Repeat(m.actions())
		m.recover(rt)
	})
	t.Logf("%d runs, %d requests", min(run, runs), requests)
}

// Jobs of a key that becomes ordered while they run keep their places on a shelf, and come back in the order in which
// they are due, which random runs hardly ever see.
func TestModelOfKeysHasPlacesThatWereKeptInTheirOrder(t *testing.T) {
	t.Parallel()
	on, tried := patientSite(t, redistest.Embedded(t)), 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newKeyedMachine(on, fmt.Sprintf("%s-%d", on.namespace, tried))
		if tried++; tried > 2 {
			return
		}
		m.begin(rt)
		m.calm = true
		m.ruleOfAll(rt, rdb.KeyRule{})
		jobs := keyedJobs("a", "k", keyedWeight("k"), 3)
		for i := range jobs {
			jobs[i].Record = []byte(`{"jid":"` + jobs[i].ID + `","name":"a","key":"k"}`)
		}
		m.request(rt, m.enqueuing(rt, "l3", 1, jobs))
		hand := m.newActor(rt)
		m.fetchOn(rt, hand, 500, []string{"a"})
		m.ruleOfAll(rt, rdb.KeyRule{Ordered: true})
		elements := hand.elements()
		if tried == 2 {
			slices.Reverse(elements)
		}
		for _, element := range elements {
			m.settleOn(rt, hand, m.ending(hand, element, "retry"))
		}
		m.site.pass(rt, keyedDelay)
		for range 2 {
			m.dueOn(rt, rdb.ShelfRetry)
			m.check(rt)
		}
		m.recover(rt)
	})
}

// ruleOfAll puts a rule of all keys of queue a into force.
func (m *keyedMachine) ruleOfAll(t *rapid.T, rule rdb.KeyRule) {
	m.setRule(t, rdb.KeyRuleOf{Queue: "a"}, rule)
	m.check(t)
}

// account is what happened, and what Redis and the model had at the last check.
func (m *keyedMachine) account() []string {
	account := append(m.script, fmt.Sprintf("Redis had %v and %v", m.seen.lists, m.seen.maps))
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		account = append(account, fmt.Sprintf("the model has %s: %+v", id, *m.jobs[id]))
	}
	for _, name := range keyedQueues {
		account = append(account, fmt.Sprintf("the model has %+v", *m.queues[name]))
	}
	return account
}

// begin puts rules into force in most runs, and makes some workers and jobs.
func (m *keyedMachine) begin(t *rapid.T) {
	m.calm = true
	// with no rule at all nobody is given places: what the first one does is tried in script_keyplaces_test.go
	done, err := m.site.store.SetKeyRule(background, rdb.KeyRuleOf{Queue: "other"}, "", "1 1 - - - - -")
	require.NoError(t, err)
	require.True(t, done)
	for _, queue := range keyedQueues {
		m.setRule(t, rdb.KeyRuleOf{Queue: queue}, drawRule(t, false))
	}
	m.calm = false
	for range 2 {
		m.newActor(t)
		m.enqueue(t)
	}
}

// recover ends every run: all workers die, and a new one must bring every job to its end, by the rules that are in
// force. Only a stopped key waits for somebody, and a key that stops with a death for who removes the dead job.
func (m *keyedMachine) recover(t *rapid.T) {
	m.logf(t, "all die; a new worker must finish what is left")
	m.actors, m.late, m.calm = nil, nil, true
	m.letGo(t)
	for _, queue := range keyedQueues {
		m.grant(t, rdb.KeyRuleOf{Queue: queue})
	}
	m.takeAllApart(t)
	m.check(t)
	hand := m.newActor(t)
	for round := 0; round == 0 || len(m.jobs) > 0; round++ { // a fetch takes a queue that has nothing out of ready
		require.Less(t, round, 1000, "some jobs never end: %v", m.jobs)
		m.fetchOn(t, hand, 1+round%7, keyedQueues)
		m.check(t)
		if len(hand.held) > 0 {
			for _, element := range hand.elements() {
				m.settleOn(t, hand, m.ending(hand, element, "done"))
			}
			m.check(t)
			continue
		}
		m.removeDead(t)
		m.site.pass(t, keyedDelay)
		for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry, rdb.ShelfScheduled, rdb.ShelfRetry} {
			m.dueOn(t, shelf)
		}
		m.resumeAll(t)
		m.check(t)
	}
	for _, key := range []string{"turns", "keyed", "parked", "holding", "claimed", "ready", "queue:a", "queue:b",
		"names", "cancelled"} {
		require.False(t, m.site.exists(t, key), "%s is left", key)
	}
	for id := range m.acknowledged {
		require.True(t, m.ended[id], "%s was acknowledged, and has not ended", id)
	}
}

// letGo takes back the rules by which a key is stopped.
func (m *keyedMachine) letGo(t *rapid.T) {
	for _, queue := range keyedQueues {
		for _, key := range keyedKeys {
			if own, is := m.queues[queue].own[key]; is && own.Stopped {
				m.setRule(t, rdb.KeyRuleOf{Queue: queue, Key: key}, rdb.KeyRule{})
			}
		}
	}
}

// removeDead deletes what is in the morgue.
func (m *keyedMachine) removeDead(t *rapid.T) {
	for _, id := range m.on(rdb.ShelfMorgue) {
		m.remove(t, id, rdb.Spot(rdb.ShelfMorgue))
	}
}

// resumeAll gives what is stalled back to its queues.
func (m *keyedMachine) resumeAll(t *rapid.T) {
	for _, id := range m.on(rdb.ShelfStalled) {
		if m.jobs[id].flagged {
			m.endAt(t, id, rdb.Spot(rdb.ShelfStalled), "cancelled")
			continue
		}
		m.move(t, id, rdb.Destination{})
	}
}

// takeAllApart gives back what workers held that nobody is any more.
func (m *keyedMachine) takeAllApart(t *rapid.T) {
	for {
		orphans := m.orphans()
		if len(orphans) == 0 {
			return
		}
		m.takeApartOn(t, m.jobs[orphans[0]].worker, m.jobs[orphans[0]].queue, rdb.MaxBatch)
	}
}

// on are the ids on a shelf.
func (m *keyedModel) on(shelf rdb.Shelf) (ids []string) {
	for id, j := range m.jobs {
		if j.shelf == shelf {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
