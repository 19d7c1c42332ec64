package rdb_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	again := a.unanswered != nil
	for _, claim := range a.sortedHeld() {
		if claim.Number() > a.from && (!again || a.unanswered[claim.Element]) {
			jobs = append(jobs, a.held[claim.Element])
			titles = append(titles, claim.Element)
			number = max(number, claim.Number())
		}
	}
	if len(jobs) == 0 {
		a.unanswered, a.restoring = nil, again
		if !again {
			a.reached = a.from
		}
		t.Skip("nothing is held any more")
	}
	if !again {
		a.calls++
		a.unanswered = map[string]bool{}
		for _, title := range titles {
			a.unanswered[title] = true
		}
	}
	id, call := a.id, a.calls
	_, answered := m.request(t, step{
		title: fmt.Sprintf("%s restores %s, number %d, call %d", id, strings.Join(titles, " "), number, call),
		send: func(store *rdb.Store) (any, error) {
			done, state, err := store.Worker(id).Restore(background, number, call, jobs)
			return restored{done, state}, err
		},
		execute: func() any { return m.model.restore(id, number, call, jobs) },
	})
	if !answered {
		a.restoring = true
		return
	}
	a.unanswered, a.restoring = nil, again // then there may be others
	if !again {
		a.reached = max(a.from, number)
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
	case m.restores[worker] > call:
		return restored{state: rdb.Stale}
	}
	again := m.restores[worker] == call
	m.last[worker], m.restores[worker] = max(m.last[worker], number), call
	done := rdb.Restored{Others: []string{}}
	for _, job := range jobs {
		claim, held := m.claimed[job.ID]
		known := m.jobs[job.ID]
		if again {
			known = nil
		}
		switch {
		case held && claim.worker == worker && claim.element == job.Element:
			done.Known++
			continue
		case held || known != nil &&
			(known.record != string(job.Record) || tries(known.trail) > tries(string(job.Trail))):
			done.Others = append(done.Others, job.Element)
			continue
		case again:
			continue
		case known != nil:
			m.unplace(job.ID, job.Queue)
			if len(job.Trail) > 0 {
				known.trail = string(job.Trail)
			}
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

var counted = regexp.MustCompile(`"(?:fails|interruptions)":([0-9]+)`)

// tries is how often a job with that trail has come back from who ran it.
func tries(trail string) (tries int) {
	for _, count := range counted.FindAllStringSubmatch(trail, -1) {
		n, _ := strconv.Atoi(count[1])
		tries += n
	}
	return tries
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
