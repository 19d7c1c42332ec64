package rdb_test

import (
	"slices"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// keyedModel is what should be in Redis of jobs that have keys, by the rules of keys alone: who waits, in which order
// among those of its key; who holds a place of its key; how many places there are. Which key is next, and which of the
// jobs that have no place yet are looked at by nobody, is for the scripts to choose: the model learns it, and checks
// that it may be so.
type keyedModel struct {
	jobs   map[string]*keyedJob
	queues map[string]*keyedQueue
	lanes  map[string]int64
	last   map[string]int64 // worker -> number of its last fetch
	ended  map[string]bool
}

// keyedJob is a living job. It stands in one place: its queue, a worker, or a shelf.
type keyedJob struct {
	queue, key, record string
	weight             int

	shelf           rdb.Shelf // "" for one that waits or is held
	due             float64   // its score there
	worker, element string    // of one that is held

	holds   bool // it has one of the places of its key
	aside   bool // it was drawn out of turn and found no room: which of several such ones is first, no rule says
	flagged bool // it is to be cancelled
}

func (j *keyedJob) waits() bool { return j.shelf == "" && j.worker == "" }

// keyedQueue is what waits in a queue, and the rules of its keys.
type keyedQueue struct {
	name  string
	list  []string            // ids that take no turns, the front first: without a key, or put there by hand
	lines map[string][]string // by key: ids in their order
	rule  rdb.KeyRule         // of all keys
	own   map[string]rdb.KeyRule

	// keys whose rule has changed, and whose parked jobs nobody has given their places yet
	ungranted map[string]bool
	// keys without a limit of which jobs are given their places at once: these may mix with those that need none
	mixed map[string]bool
}

var keyedQueues, keyedKeys = []string{"a", "b"}, []string{"k", "l", "m n", "o"}

func newKeyedModel() *keyedModel {
	m := &keyedModel{jobs: map[string]*keyedJob{}, queues: map[string]*keyedQueue{}, lanes: map[string]int64{},
		last: map[string]int64{}, ended: map[string]bool{}}
	for _, name := range keyedQueues {
		m.queues[name] = &keyedQueue{name: name, lines: map[string][]string{}, own: map[string]rdb.KeyRule{},
			ungranted: map[string]bool{}, mixed: map[string]bool{}}
	}
	return m
}

// most is how many places a key has, -1 where that is not limited.
func (q *keyedQueue) most(key string) int {
	rule, most := q.rule, -1
	if own, is := q.own[key]; is {
		rule = own
	}
	if rule.Stopped {
		return 0
	}
	if rule.Concurrent > 0 {
		most = rule.Concurrent
	}
	if q.rule.Ordered {
		most = 1
	}
	return most
}

// held is how many places of a key are taken.
func (m *keyedModel) held(queue, key string) (n int) {
	for _, j := range m.jobs {
		if j.queue == queue && j.key == key && j.holds {
			n++
		}
	}
	return n
}

// over is by how much more places of a key are taken than it has, negative where some are free.
func (m *keyedModel) over(queue, key string) int {
	most := m.queues[queue].most(key)
	if key == "" || most < 0 {
		return -500
	}
	return m.held(queue, key) - most
}

// mayBegin tells whether a job may begin now by the rules of its key: one of its places is free, or it has one, and no
// more are taken than there are. If more are, those count that do not wait.
func (m *keyedModel) mayBegin(id string) bool {
	j := m.jobs[id]
	over := m.over(j.queue, j.key)
	if over <= 0 || !j.holds {
		return over < 0 || j.holds
	}
	for other, of := range m.jobs {
		same := of.queue == j.queue && of.key == j.key
		if same && of.holds && slices.Contains(m.queues[of.queue].lines[of.key], other) {
			over--
		}
	}
	return over < 0
}

// keepsPlace tells whether a job that goes to a shelf keeps the place of its key.
func (q *keyedQueue) keepsPlace(to rdb.Shelf) bool {
	if to == rdb.ShelfMorgue {
		return q.rule.Ordered && q.rule.DeathStop
	}
	return q.rule.Ordered && !q.rule.BackAgain
}

// lineUp has jobs wait behind the others of their keys. Those that have kept their place come next.
func (m *keyedModel) lineUp(ids ...string) {
	for _, id := range ids {
		j := m.jobs[id]
		q := m.queues[j.queue]
		j.shelf, j.worker, j.element = "", "", ""
		switch line := q.lines[j.key]; {
		case j.key == "":
			q.list = append(q.list, id)
		case j.holds:
			q.lines[j.key] = slices.Insert(line, m.holdersIn(line), id)
		default:
			q.lines[j.key] = append(line, id)
		}
	}
}

// holdersIn is how many of a line have a place; they come first.
func (m *keyedModel) holdersIn(line []string) int {
	for n, id := range line {
		if !m.jobs[id].holds {
			return n
		}
	}
	return len(line)
}

// toFront puts a job before all others of its queue.
func (m *keyedModel) toFront(id string) {
	j := m.jobs[id]
	j.shelf, j.worker, j.element = "", "", ""
	q := m.queues[j.queue]
	q.list = slices.Insert(q.list, 0, id)
}

// giveBack has claims of one queue wait again, before all others, in their old order. Their places stay theirs.
func (m *keyedModel) giveBack(queue string, ids []string) {
	q := m.queues[queue]
	for _, id := range slices.Backward(ids) {
		j := m.jobs[id]
		j.worker, j.element = "", ""
		if j.key == "" {
			q.list = slices.Insert(q.list, 0, id)
		} else {
			q.lines[j.key] = slices.Insert(q.lines[j.key], 0, id)
		}
	}
}

// shelve puts a job on a shelf.
func (m *keyedModel) shelve(id string, to rdb.Shelf, due float64) {
	m.leave(id)
	j := m.jobs[id]
	j.shelf, j.due = to, due
}

// leave takes a job from where it stands. The place of its key it has still.
func (m *keyedModel) leave(id string) {
	j := m.jobs[id]
	if j.waits() {
		q := m.queues[j.queue]
		not := func(other string) bool { return other == id }
		q.list, q.lines[j.key] = slices.DeleteFunc(q.list, not), slices.DeleteFunc(q.lines[j.key], not)
	}
	j.shelf, j.worker, j.element, j.aside = "", "", "", false
}

func (m *keyedModel) end(id string) {
	m.leave(id)
	delete(m.jobs, id)
	m.ended[id] = true
}

// holderOf is the job of a claim, nil where that does not stand.
func (m *keyedModel) holderOf(worker, element string) *keyedJob {
	if j := m.jobs[idOf(element)]; j != nil && j.worker == worker && j.element == element {
		return j
	}
	return nil
}

// number is that of the fetch of an element.
func number(element string) string {
	n, _, _ := strings.Cut(element, ":")
	return n
}
