package rdb_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// Times are far apart, so that the few seconds that a run lasts on a real Redis change no comparison: delays are odd
// multiples of 5 s, and time passes in multiples of 10 s. A run that lasts longer ends there.
const (
	modelLife   = 25 * time.Second
	modelSteady = 15 * time.Second
	modelLeased = 15 * time.Second
	modelLasts  = 4 * time.Second
)

var modelQueues = []string{"a", "b", "c"}

var background = context.Background()

// machine drives Redis and the model with the same random requests.
type machine struct {
	*model
	courier

	actors    []*actor
	enqueuers []*enqueuer
	pages     map[rdb.Shelf][]rdb.Waiting // what the scheduler and the retrier know
	photo     *photo                      // what a replica knows that lags behind; nil for none
	born      int                         // how many workers and jobs there were
	started   time.Time
}

func newMachine(on *site, namespace string) *machine {
	w := &wire{Driver: on.driver}
	m := &machine{
		model: newModel(), pages: map[rdb.Shelf][]rdb.Waiting{}, enqueuers: []*enqueuer{{lane: "l1"}, {lane: "l2"}},
		started: time.Now(),
	}
	m.courier = courier{
		wire:      w,
		site:      &site{driver: on.driver, store: rdb.NewStore(w, namespace), namespace: namespace, clock: on.clock},
		delivered: m.noteFull,
	}
	return m
}

// tooSlow tells whether more time has passed by itself than the comparisons allow.
func (m *machine) tooSlow() bool { return m.site.clock == nil && time.Since(m.started) > modelLasts }

// inTime is an action, or nothing once the run is too slow.
func (m *machine) inTime(action func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		if !m.tooSlow() {
			action(t)
		}
	}
}

// noteFull notes the queues that have no room now.
func (m *machine) noteFull() {
	for _, queue := range modelQueues {
		if room, _, _ := m.room(queue, m.after); room == 0 {
			m.owed[queue] = true // by whoever makes room
		}
	}
}

func (m *machine) name(kind string) string {
	m.born++
	return kind + strconv.Itoa(m.born)
}

// actions are what may happen; "" is checked after each of them.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"something happens": m.inTime(oneOf(
			m.work, m.work, m.work, m.work, m.work, m.work, m.enqueue, m.enqueue, m.enqueue, m.fetchSome, m.fetchSome,
			m.settle,
			m.beat, m.arrive, m.arrive, m.die, m.takeApart, m.timePasses, m.damage, m.lookUp, m.awaitSome,
			oneOf(m.limitSome, m.limitSome, m.limitSome, m.fillSome, m.recountSome, m.holdAll), m.limitSome,
			oneOf(m.beginSome, m.amendSome, m.voidSome),
			oneOf(m.cancelSome, m.purgeSome),
			oneOf(m.dueSome, m.dueSome, m.dueSome, m.declareDead, m.forgetDead, m.walkClaims, m.removeExpired, m.trim,
				m.removeStaleLanes),
			oneOf(m.stallSome, m.moveToQueue, m.reschedule, m.removeSome),
			oneOf(m.register, m.survey, m.giveBackLost, m.suspect, m.suspect, m.absolveSome, m.wait, m.wait, m.wakeSome,
				m.crash, m.stop, oneOf(m.lose, m.photograph, m.failOver, m.failOver)),
		)),
	}
}

// oneOf is one of the actions, each as often as the others. (rapid itself draws the first of a list far more often than
// the last.)
func oneOf(actions ...func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		which := 0
		for range 8 {
			which *= 2
			if rapid.Bool().Draw(t, "bit") {
				which++
			}
		}
		actions[which%len(actions)](t)
	}
}

// timePasses moves the embedded clock; on a real Redis it moves what is stored into the past.
func (m *machine) timePasses(t *rapid.T) {
	m.elapse(t, time.Duration(rapid.SampledFrom([]int{10, 20, 30}).Draw(t, "seconds"))*time.Second)
}

func (m *machine) elapse(t *rapid.T, d time.Duration) {
	m.logf(t, "%s pass", d)
	m.photo = nil // else its times would have to be moved too
	if m.site.clock != nil {
		m.site.clock.Advance(d)
		return
	}
	for key := range map[string]bool{"scheduled": true, "retry": true, "morgue": true, "stalled": true,
		"outcomes:until": true} {
		for member, score := range m.site.scores(t, key) {
			at := asFloat(t, score) - float64(d.Milliseconds()) // with the fraction, which is the order within a ms
			m.site.cmd(t, "ZADD", key, strconv.FormatFloat(at, 'f', -1, 64), member)
		}
	}
	m.ageLanes(t, d.Milliseconds())
	m.ageLocks(t, d.Milliseconds())
	m.ageRates(t, d.Milliseconds())
	m.model.shift(d.Milliseconds())
	age := func(key string) {
		if left := m.site.cmd(t, "PTTL", key).(int64) - d.Milliseconds(); left > 0 {
			m.site.cmd(t, "PEXPIRE", key, left)
		} else {
			m.site.cmd(t, "UNLINK", key)
		}
	}
	age("lease")
	age("deputy")
	for worker := range m.hearts {
		age("worker:" + worker)
		if m.site.exists(t, "worker:"+worker) {
			m.site.cmd(t, "SET", "worker:"+worker, fmt.Sprintf("RUN %d", m.hearts[worker].since), "KEEPTTL")
		}
	}
}

// damage takes away what no script would: an element, a worker, or it adds an id that is no job.
func (m *machine) damage(t *rapid.T) {
	switch rapid.SampledFrom([]string{"none", "none", "none", "none", "none", "none", "junk", "element", "element",
		"worker", "owner"}).Draw(t, "what") {
	case "none":
		t.Skip("no damage")
	case "junk":
		queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
		id := m.name("junk")
		if len(m.queues[queue]) > 0 { // else ready would not know it
			m.logf(t, "damage: %s in queue %s has no record", id, queue)
			m.site.cmd(t, "LPUSH", "queue:"+queue, id)
			m.queues[queue] = append(m.queues[queue], id)
		}
	case "element":
		if len(m.claimed) == 0 {
			t.Skip("nothing is claimed")
		}
		id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.claimed))).Draw(t, "id")
		c := m.claimed[id]
		m.logf(t, "damage: element %s of %s is lost", c.element, c.worker)
		m.site.cmd(t, "LREM", "worker:"+c.worker+":inprocess:"+c.queue, 0, c.element)
		list := m.inProcess[c.worker]
		list[c.queue] = slices.DeleteFunc(list[c.queue], func(e string) bool { return e == c.element })
		m.limbo[id] = true
	case "owner":
		m.loseOwner(t)
	case "worker":
		ids := slices.Sorted(maps.Keys(m.workers))
		if len(ids) == 0 {
			t.Skip("no worker")
		}
		m.loseWorker(t, rapid.SampledFrom(ids).Draw(t, "worker"))
	}
}

func (m *machine) loseWorker(t *rapid.T, id string) {
	m.logf(t, "damage: all of %s but its lists is lost", id)
	m.site.cmd(t, "SREM", "workers", id)
	m.site.cmd(t, "ZREM", "deadlines", id)
	m.site.cmd(t, "UNLINK", "worker:"+id, m.site.key("worker:"+id+":queues"), m.site.key("worker:"+id+":info"),
		m.site.key("worker:"+id+":running"))
	m.erase(id)
}
