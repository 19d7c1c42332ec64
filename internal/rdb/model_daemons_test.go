package rdb_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

func (m *machine) beat(t *rapid.T) { m.beatOn(t, m.choose(t, "worker", serving)) }

func (m *machine) beatOn(t *rapid.T, a *actor) {
	beat := rdb.Beat{Life: modelLife, Epoch: a.epoch, Waits: rapid.Bool().Draw(t, "waits")}
	if rapid.Bool().Draw(t, "wants the lease") {
		beat.Lease = modelLeased
	}
	for _, claim := range a.sortedHeld() {
		if rapid.Bool().Draw(t, "checks in") {
			number := claim.Element[:len(claim.Element)-len(idOf(claim.Element))-1]
			beat.CheckIns = append(beat.CheckIns, rdb.CheckIn{ID: idOf(claim.Element), Number: number, Message: "at " +
				claim.Element})
		}
	}
	for _, id := range a.spoke {
		if !slices.ContainsFunc(a.sortedHeld(), func(c rdb.Claim) bool { return idOf(c.Element) == id }) {
			beat.Ended = append(beat.Ended, id)
		}
	}
	id, reached, fell := a.id, a.reached, false
	answer, ok := m.request(t, step{
		title: fmt.Sprintf("%s beats, %d check-ins, lease %s", id, len(beat.CheckIns), beat.Lease),
		send: func(store *rdb.Store) (any, error) {
			w := workerAt(store, id, reached)
			pulse, err := w.Beat(background, conn{store.Driver()}, beat)
			fell = pulse.State == rdb.Registered && m.last[id] < reached
			m.requireFell(t, w, fell)
			pulse.Time = time.Time{}
			return pulse, err
		},
		execute: func() any { return m.beaten(id, beat) },
	})
	for _, c := range beat.CheckIns {
		a.spoke = append(a.spoke, c.ID)
	}
	if ok {
		a.spoke = slices.DeleteFunc(a.spoke, func(id string) bool { return slices.Contains(beat.Ended, id) })
		a.felt(answer.(rdb.Pulse).State)
		a.rewound(m, fell)
	}
}

func (m *machine) beaten(id string, beat rdb.Beat) rdb.Pulse {
	heart, alive := m.hearts[id], m.alive(id, m.before)
	if alive {
		m.hearts[id] = modelHeart{heart.since, m.before + beat.Life.Milliseconds()}
	}
	if m.epoch != beat.Epoch {
		return rdb.Pulse{State: rdb.Lost}
	}
	if !m.workers[id] {
		return rdb.Pulse{State: rdb.Fenced}
	}
	if !alive {
		m.hearts[id] = modelHeart{m.before, m.before + beat.Life.Milliseconds()}
	}
	m.timed[id] = true
	if m.running[id] == nil {
		m.running[id] = map[string]string{}
	}
	for _, c := range beat.CheckIns {
		if claim := m.claimed[c.ID]; claim.worker == id && claim.element == c.Number+":"+c.ID {
			m.running[id][c.ID] = c.Message
		}
	}
	for _, ended := range beat.Ended {
		delete(m.running[id], ended)
	}
	pulse := rdb.Pulse{State: rdb.Registered, Flags: len(m.cancelled), Workers: m.registered(),
		Called: beat.Waits && len(m.ready(id)) > 0}
	pulse.Leased, pulse.Deputy = m.placed(id, beat.Lease)
	if !pulse.Leased {
		return pulse
	}
	for shelf, next := range map[rdb.Shelf]*time.Time{rdb.ShelfScheduled: &pulse.NextScheduled,
		rdb.ShelfRetry: &pulse.NextRetry} {
		if order := m.order(shelf); len(order) > 0 {
			*next = millisTime(m.shelves[shelf][order[0]])
		}
	}
	return pulse
}

// registered is how many workers are.
func (m *machine) registered() (n int) {
	for _, is := range m.workers {
		if is {
			n++
		}
	}
	return n
}

// placed gives a worker that wants one of the two places what is free, and takes what it does not want.
func (m *machine) placed(id string, lease time.Duration) (leased, deputy bool) {
	for _, place := range []*modelLease{&m.lease, &m.deputy} {
		if place.until <= m.before || lease == 0 && place.holder == id {
			*place = modelLease{}
		}
	}
	mine := modelLease{id, m.before + lease.Milliseconds()}
	switch {
	case lease == 0:
	case m.lease.holder == "" || m.lease.holder == id:
		m.lease, leased = mine, true
		if m.deputy.holder == id {
			m.deputy = modelLease{}
		}
	case m.deputy.holder == "" || m.deputy.holder == id:
		m.deputy, deputy = mine, true
	}
	return leased, deputy
}

func millisTime(ms int64) time.Time { return time.UnixMilli(ms) }

func (m *machine) dueSome(t *rapid.T) {
	m.dueOn(t, rapid.SampledFrom([]rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry}).Draw(t, "shelf"))
}

func (m *machine) dueOn(t *rapid.T, shelf rdb.Shelf) {
	call := rdb.DueCall{Move: m.pages[shelf], Ahead: 10 * time.Second}
	var at int64 // by the script's clock: on a busy machine much may fall due while it is on its way
	answer, ok := m.request(t, step{
		title: "what is due of " + string(shelf) + " moves, " + strconv.Itoa(len(call.Move)) + " known",
		send: func(store *rdb.Store) (any, error) {
			due, err := store.Due(background, shelf, call)
			at, due.Time = due.Time.UnixMilli(), time.Time{}
			return due, err
		},
		execute: func() any {
			require.True(t, m.before <= at && at <= m.after, "what is due was reckoned with another clock")
			return m.model.due(shelf, call, at)
		},
	})
	if ok {
		m.pages[shelf] = answer.(rdb.Due).Page
	}
}

func (m *machine) declareDead(t *rapid.T) {
	reaper := m.choose(t, "reaper", serving)
	known := slices.Sorted(maps.Keys(m.workers))
	known = append(known, slices.Sorted(maps.Keys(m.dead))...)
	if len(known) == 0 {
		t.Skip("no worker")
	}
	m.declareDeadBy(t, reaper.id, rapid.SampledFrom(known).Draw(t, "target"))
}

func (m *machine) declareDeadBy(t *rapid.T, reaper, target string) {
	m.request(t, step{
		title: reaper + " declares dead " + target,
		send: func(store *rdb.Store) (any, error) {
			dead, err := store.Worker(reaper).DeclareDead(background, modelSteady, target)
			return len(dead) == 1, err
		},
		execute: func() any {
			if !m.alive(reaper, m.before) || m.before-m.hearts[reaper].since < modelSteady.Milliseconds() {
				return false
			}
			delete(m.timed, target)
			if m.dead[target] {
				return true
			}
			if m.alive(target, m.before) && m.workers[target] {
				m.timed[target] = true
			}
			if m.alive(target, m.before) || !m.workers[target] {
				return false
			}
			delete(m.workers, target)
			m.dead[target] = true
			return true
		},
	})
}

// die lets a worker crash and the others see it, which single steps seldom bring about.
func (m *machine) die(t *rapid.T) {
	corpse := m.choose(t, "worker", func(a *actor) bool { return serving(a) && len(a.held) > 0 })
	m.logf(t, "%s dies", corpse.id)
	m.actors = slices.DeleteFunc(m.actors, func(a *actor) bool { return a == corpse })
	m.calm = true
	defer func() { m.calm = false }()
	for range 2 {
		m.elapse(t, 20*time.Second)
		for _, a := range m.actors {
			if serving(a) {
				m.beatOn(t, a)
			}
		}
	}
	if reaper := slices.IndexFunc(m.actors, serving); reaper >= 0 {
		m.declareDeadBy(t, m.actors[reaper].id, corpse.id)
	}
}

// takeApart puts some of what a dead worker holds of one queue back. Anyone may do a step of it.
func (m *machine) takeApart(t *rapid.T) {
	target := m.someDead(t)
	queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
	m.takeApartOn(t, target, queue, rapid.IntRange(1, 3).Draw(t, "at a time"))
}

func (m *machine) takeApartOn(t *rapid.T, target, queue string, most int) {
	held, err := inProcess(background, m.site.store.Worker(target), queue)
	require.NoError(t, err)
	require.Equal(t, append([]string{}, m.inProcess[target][queue]...), held)
	if len(held) == 0 {
		return
	}
	newest := held[max(0, len(held)-most):] // so that what is older comes before it
	m.request(t, m.settlement(target,
		[]intent{m.releasing(target, rdb.Released{Queue: queue, Elements: newest, Died: target})}))
}

func (m *machine) someDead(t *rapid.T) string {
	if len(m.dead) == 0 {
		t.Skip("nobody is dead")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.dead))).Draw(t, "dead worker")
}

func (m *machine) forgetDead(t *rapid.T) { m.forgetDeadOn(t, m.someDead(t)) }

func (m *machine) forgetDeadOn(t *rapid.T, target string) {
	queues, err := m.site.store.Worker(target).Queues(background)
	require.NoError(t, err)
	require.ElementsMatch(t, m.serves[target], queues)
	slices.Sort(queues)
	m.request(t, m.forgetting(target, queues))
}

// reapAll is what a steady worker does in the end to all that have no heartbeat.
func (m *machine) reapAll(t *rapid.T, reaper *actor) {
	for _, target := range slices.Sorted(maps.Keys(m.workers)) {
		m.declareDeadBy(t, reaper.id, target)
	}
	registered, dead, err := m.site.store.Workers(background)
	require.NoError(t, err)
	require.Equal(t, []string{reaper.id}, registered)
	slices.Sort(dead)
	for _, target := range dead {
		for _, queue := range modelQueues {
			m.takeApartOn(t, target, queue, rdb.MaxBatch)
		}
		m.forgetDeadOn(t, target)
		m.check(t)
	}
}

func (m *machine) walkClaims(t *rapid.T) {
	page := m.holdings(t)
	if len(page) == 0 {
		t.Skip("nothing is claimed")
	}
	m.orphanOn(t, page[rapid.IntRange(0, len(page)-1).Draw(t, "claim")])
}

func (m *machine) holdings(t *rapid.T) []rdb.Holding {
	next, page, err := m.site.store.Holdings(background, "0")
	require.NoError(t, err)
	require.Equal(t, "0", next)
	slices.SortFunc(page, func(a, b rdb.Holding) int { return cmp.Compare(a.ID, b.ID) })
	return page
}

func (m *machine) orphanAll(t *rapid.T) {
	for _, h := range m.holdings(t) {
		m.orphanOn(t, h)
	}
	m.check(t)
}

func (m *machine) orphanOn(t *rapid.T, h rdb.Holding) {
	m.request(t, step{
		title: "the claim " + h.Element() + " of " + h.Worker + " is looked at",
		send:  func(store *rdb.Store) (any, error) { return store.ReturnClaim(background, h) },
		execute: func() any {
			list := m.inProcess[h.Worker][h.Queue]
			held := slices.Contains(list, h.Element())
			stands := m.claimed[h.ID] == modelClaim{h.Worker, h.Element(), h.Queue}
			if !stands || m.dead[h.Worker] || m.workers[h.Worker] && held {
				return false
			}
			if held {
				m.unclaim(h.Worker, h.Queue, h.Element())
			}
			delete(m.claimed, h.ID)
			m.count(h.Queue, h.ID, false)
			delete(m.limbo, h.ID)
			m.queues[h.Queue] = append([]string{h.ID}, m.queues[h.Queue]...)
			return true
		},
	})
}

func (m *machine) removeExpired(t *rapid.T) {
	var named []string
	for shelf := range m.past {
		state, queue, _ := strings.Cut(shelf, ":")
		named = append(named, fmt.Sprintf(`{"state":%q,"name":%q`, state, queue))
	}
	slices.Sort(named)
	named = named[:len(named)-rapid.IntRange(0, len(named)).Draw(t, "not named")]
	m.request(t, step{
		title: "outcomes are swept",
		send: func(store *rdb.Store) (any, error) {
			expired, err := store.RemoveExpiredOutcomes(background, named)
			slices.Sort(expired.Unknown)
			return expired, err
		},
		execute: func() any { return m.sweep(m.before, named) },
	})
}
