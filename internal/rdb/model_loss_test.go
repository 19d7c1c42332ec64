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
	m.model = newModel()
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

// restoreOn stores what the worker holds again. A job whose outcome is not acknowledged yet is held as well.
func (m *machine) restoreOn(t *rapid.T, a *actor) {
	var jobs []rdb.Held
	var titles []string
	number := int64(0)
	for _, claim := range a.sortedHeld() {
		jobs = append(jobs, a.held[claim.Element])
		titles = append(titles, claim.Element)
		of, _, _ := strings.Cut(claim.Element, ":")
		number = max(number, asInt(t, of))
	}
	if a.restoring = len(jobs) > 0; !a.restoring {
		t.Skip("nothing is held any more")
	}
	id := a.id
	_, answered := m.request(t, step{
		title: fmt.Sprintf("%s restores %s, number %d", id, strings.Join(titles, " "), number),
		send: func(store *rdb.Store) (any, error) {
			return store.Worker(id).Restore(background, number, jobs)
		},
		execute: func() any { return m.model.restore(id, number, jobs) },
	})
	a.restoring = !answered
}

// restore stores like lua/job/restore.lua and returns how many were not known.
func (m *model) restore(worker string, number int64, jobs []rdb.Held) int {
	if !m.workers[worker] {
		return 0
	}
	m.last[worker] = max(m.last[worker], number)
	restored := 0
	for _, job := range jobs {
		if _, held := m.claimed[job.ID]; held || m.jobs[job.ID] != nil {
			continue
		}
		m.jobs[job.ID] = &modelJob{queue: job.Queue, record: string(job.Record), trail: string(job.Trail)}
		m.claim(worker, job.Claim)
		m.acknowledged[job.ID] = true
		m.freed[job.ID] = true
		if _, taken := m.locks[job.Lock]; job.Lock != "" && !taken {
			m.locks[job.Lock] = modelLock{owner: job.ID, kind: job.Kind}
			delete(m.freed, job.ID)
		}
		if m.rules[job.Queue].Concurrent > 0 {
			m.count(job.Queue, job.ID, true)
		}
		delete(m.ended, job.ID)
		restored++
	}
	return restored
}
