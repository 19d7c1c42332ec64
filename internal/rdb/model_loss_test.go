package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// lose makes Redis forget everything at once. What was acknowledged before is not expected to end any more, and a call
// that landed before is not sent again: Redis cannot know that it did.
func (m *machine) lose(t *rapid.T) {
	// else there is little to lose
	m.choose(t, "holds jobs", func(a *actor) bool { return serving(a) && len(a.held) > 0 })
	m.logf(t, "Redis loses its data")
	for _, lane := range slices.Sorted(maps.Keys(m.lanes)) {
		m.giveUpLanded(t, lane)
	}
	m.site.eraseAll(t)
	m.model, m.photo = newModel(), nil
	for _, a := range m.actors {
		if serving(a) && rapid.Bool().Draw(t, "beats") {
			m.beatOn(t, a)
		}
		if a.bereft {
			m.registerOn(t, a)
		}
		if a.restoring {
			m.restoreOn(t, a)
		}
		if a.restoring && len(a.held) > 0 && rapid.Bool().Draw(t, "settles before it restores again") {
			m.settleOn(t, a, m.decide(t, a))
			m.restoreOn(t, a)
		}
	}
}

// registered is what a worker does with the answer to its registration: it may restore what a Redis has lost.
func (a *actor) registered(t *rapid.T, epoch string) {
	a.epoch = epoch
	if a.bereft {
		a.reached, a.from = 0, 0
		a.bereft, a.restoring = false, len(a.held) > 0 && rapid.Bool().Draw(t, "restores")
	}
}

// felt is what a worker learns from the answer to its heartbeat.
func (a *actor) felt(state rdb.State) {
	a.doubts, a.fenced = false, state == rdb.Fenced
	if state == rdb.Lost {
		a.known, a.bereft = false, true
	}
}

// restoreOn stores what the worker holds again, of fetches that Redis does not know. A job whose outcome is not
// acknowledged yet is held as well.
func (m *machine) restoreOn(t *rapid.T, a *actor) {
	var jobs []rdb.Held
	var titles []string
	number := int64(0)
	for _, claim := range a.sortedHeld() {
		if claim.Number() > a.from {
			jobs = append(jobs, a.held[claim.Element])
			titles = append(titles, claim.Element)
			number = max(number, claim.Number())
		}
	}
	if a.restoring = len(jobs) > 0; !a.restoring {
		a.reached = a.from
		t.Skip("nothing is held any more")
	}
	a.calls++
	id, call := a.id, a.calls
	_, answered := m.request(t, step{
		title: fmt.Sprintf("%s restores %s, number %d, call %d", id, strings.Join(titles, " "), number, call),
		send: func(store *rdb.Store) (any, error) {
			done, state, err := store.Worker(id).Restore(background, number, call, jobs)
			return restored{done, state}, err
		},
		execute: func() any { return m.model.restore(id, number, call, jobs) },
	})
	if a.restoring = !answered; answered {
		a.reached = min(a.reached, a.from)
	}
}

type restored struct {
	rdb.Restored
	state rdb.State
}

// restore makes jobs known again like lua/job/restore.lua.
func (m *model) restore(worker string, number, call int64, jobs []rdb.Held) restored {
	switch {
	case !m.workers[worker]:
		return restored{state: rdb.Fenced}
	case m.restores[worker] >= call:
		return restored{state: rdb.Stale}
	}
	m.last[worker], m.restores[worker] = max(m.last[worker], number), call
	done := rdb.Restored{Others: []string{}}
	for _, job := range jobs {
		claim, held := m.claimed[job.ID]
		known := m.jobs[job.ID]
		switch {
		case held && claim.worker == worker && claim.element == job.Element:
			done.Known++
			continue
		case held || known != nil && known.record != string(job.Record):
			done.Others = append(done.Others, job.Element)
			continue
		case known != nil:
			m.unplace(job.ID, job.Queue)
			done.Reclaimed++
		default:
			m.jobs[job.ID] = &modelJob{queue: job.Queue, record: string(job.Record), trail: string(job.Trail)}
			m.acknowledged[job.ID] = true
			m.freed[job.ID] = true
			delete(m.ended, job.ID)
			done.Stored++
		}
		m.claim(worker, job.Claim)
		if _, taken := m.locks[job.Lock]; job.Lock != "" && !taken {
			m.locks[job.Lock] = modelLock{owner: job.ID, kind: job.Kind}
			delete(m.freed, job.ID)
		}
		if m.rules[job.Queue].Concurrent > 0 {
			m.count(job.Queue, job.ID, true)
		}
	}
	return restored{done, rdb.Registered}
}

// unplace takes a job out of where it waits. In a queue it may stand twice: the one nearer to the front goes.
func (m *model) unplace(id, queue string) {
	for _, waiting := range m.shelves {
		if _, there := waiting[id]; there {
			delete(waiting, id)
			return
		}
	}
	if at := slices.Index(m.queues[queue], id); at >= 0 {
		m.queues[queue] = slices.Delete(m.queues[queue], at, at+1)
	}
}
