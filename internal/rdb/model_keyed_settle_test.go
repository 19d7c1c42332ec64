package rdb_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// settle sends what became of a job that a worker holds, or sends it again.
func (m *keyedMachine) settle(t *rapid.T) {
	a := m.someActor(t)
	elements := a.elements()
	if len(elements) == 0 {
		t.Skip("it holds nothing")
	}
	element := rapid.SampledFrom(elements).Draw(t, "job")
	outcome, sent := a.outcome[element]
	if !sent {
		outcome = m.ending(a, element, rapid.SampledFrom([]string{"done", "done", "done", "ended", "retry", "scheduled",
			"morgue", "stalled", "back"}).Draw(t, "outcome"))
	}
	m.settleOn(t, a, outcome)
}

// settleOn sends an outcome. Of a job that is to be cancelled it is sent again as that.
func (m *keyedMachine) settleOn(t *rapid.T, a *keyedActor, outcome keyedIntent) {
	a.outcome[outcome.element] = outcome
	answer, ok := m.request(t, m.settlement(a.id, outcome))
	if !ok {
		return
	}
	if len(answer.(rdb.Settled).Cancelled) > 0 {
		m.settleOn(t, a, m.ending(a, outcome.element, "cancelled"))
		return
	}
	delete(a.held, outcome.element)
	delete(a.outcome, outcome.element)
}

func (m *keyedMachine) settlement(worker string, outcome keyedIntent) step {
	return step{
		title: worker + " settles " + outcome.element + ": " + outcome.title,
		send: func(store *rdb.Store) (any, error) {
			w := store.Worker(worker)
			settled, err := w.Settle(background, []redisconn.Call{outcome.call(w)})
			if err != nil {
				return nil, err
			}
			settled[0].Roomy = false // whether others may begin is seen in Redis
			return orderly(settled[0]), settled[0].Err
		},
		execute: func() any { return orderly(outcome.execute()) },
	}
}

// orderly has the elements of an answer in one order, and no lists that are nil.
func orderly(settled rdb.Settled) rdb.Settled {
	settled.Gone = append([]string{}, settled.Gone...)
	settled.Cancelled = append([]string{}, settled.Cancelled...)
	slices.Sort(settled.Gone)
	return settled
}

// ending is what becomes of a job that a worker holds.
func (m *keyedMachine) ending(a *keyedActor, element, how string) keyedIntent {
	job := a.held[element]
	keyed := !strings.Contains(string(job.Record), `"key":""`)
	intent := keyedIntent{title: how, element: element}
	gone := rdb.Settled{Gone: []string{element}}
	// stands does something if the claim stands, and the job need not end as cancelled.
	stands := func(flaggedToo bool, do func(id string)) func() rdb.Settled {
		return func() rdb.Settled {
			j := m.holderOf(a.id, element)
			switch known := m.jobs[job.ID]; {
			case known != nil && known.flagged && !flaggedToo && (j != nil || how == "done" || how == "ended"):
				return rdb.Settled{Cancelled: []string{element}}
			case j == nil:
				return gone
			}
			do(job.ID)
			return rdb.Settled{}
		}
	}
	switch how {
	case "done":
		intent.call = func(w *rdb.Worker) redisconn.Call {
			return w.Complete([]rdb.Ended{{Claim: job.Claim, ID: job.ID, Keyed: keyed}})
		}
		intent.execute = stands(false, m.end)
	case "ended", "cancelled":
		state := map[string]string{"ended": "done", "cancelled": "cancelled"}[how]
		intent.call = func(w *rdb.Worker) redisconn.Call {
			return w.End(job.Claim, rdb.Ending{ID: job.ID, Queue: job.Queue, State: state})
		}
		intent.execute = stands(how == "cancelled", m.end)
	case "back":
		released := rdb.Released{Queue: job.Queue, Elements: []string{element}}
		intent.call = func(w *rdb.Worker) redisconn.Call { return w.Release(released) }
		intent.execute = func() rdb.Settled { return m.released(a.id, released) }
	default:
		m.shelving(&intent, a.id, rdb.Shelved{Claim: job.Claim, Shelf: rdb.Shelf(how), Keyed: keyed}, stands)
	}
	return intent
}

func (m *keyedMachine) shelving(intent *keyedIntent, worker string, job rdb.Shelved,
	stands func(bool, func(string)) func() rdb.Settled) {
	if job.Shelf == rdb.ShelfRetry || job.Shelf == rdb.ShelfScheduled {
		job.Delay = 5 * time.Millisecond
	}
	intent.call = func(w *rdb.Worker) redisconn.Call { return w.Shelve(job) }
	intent.execute = stands(false, func(id string) {
		m.shelve(id, job.Shelf, m.scoreOf(job.Shelf, id))
		m.jobs[id].holds = m.jobs[id].key != "" && m.queues[job.Queue].keepsPlace(job.Shelf)
	})
}

// scoreOf reads the score of a job on a shelf.
func (m *keyedMachine) scoreOf(shelf rdb.Shelf, id string) float64 {
	replies, err := m.site.driver.Pipeline(background,
		redisconn.Call{Command: "ZSCORE", Args: []any{m.site.key(string(shelf)), id}})
	if err != nil {
		return -1
	}
	score, _ := strconv.ParseFloat(text(replies[0].Value), 64)
	return score
}

// released gives claims of one queue back.
func (m *keyedMachine) released(worker string, r rdb.Released) rdb.Settled {
	settled, ids := rdb.Settled{}, []string{}
	for _, element := range r.Elements {
		if m.holderOf(worker, element) == nil {
			settled.Gone = append(settled.Gone, element)
		} else {
			ids = append(ids, idOf(element))
		}
	}
	m.giveBack(r.Queue, ids)
	return settled
}

// die ends the process of a worker: nobody knows any more what it held.
func (m *keyedMachine) die(t *rapid.T) {
	a := m.someActor(t)
	m.logf(t, "%s dies", a.id)
	m.actors = slices.DeleteFunc(m.actors, func(other *keyedActor) bool { return other == a })
}

// survey gives back what a worker has claimed and does not know of, as a fetch was not answered.
func (m *keyedMachine) survey(t *rapid.T) {
	a := m.someActor(t)
	for _, queue := range keyedQueues {
		var lost []string
		for _, element := range m.site.list(t, "worker:"+a.id+":inprocess:"+queue) {
			if _, held := a.held[element]; !held {
				lost = append(lost, element)
			}
		}
		if len(lost) > 0 {
			slices.Reverse(lost)
			m.giveUp(t, a.id, rdb.Released{Queue: queue, Elements: lost})
			return
		}
	}
	t.Skip("it knows of all that it has claimed")
}

// orphans are jobs that workers hold which have died.
func (m *keyedMachine) orphans() (ids []string) {
	for id, j := range m.jobs {
		if j.worker != "" && !slices.ContainsFunc(m.actors, func(a *keyedActor) bool { return a.id == j.worker }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// takeApart gives some of what a dead worker held of a queue back. Anyone may do a step of it.
func (m *keyedMachine) takeApart(t *rapid.T) {
	orphans := m.orphans()
	if len(orphans) == 0 {
		t.Skip("nobody has died with anything")
	}
	j := m.jobs[rapid.SampledFrom(orphans).Draw(t, "job")]
	m.takeApartOn(t, j.worker, j.queue, rapid.IntRange(1, 3).Draw(t, "at a time"))
}

func (m *keyedMachine) takeApartOn(t *rapid.T, worker, queue string, most int) {
	held := m.site.list(t, "worker:"+worker+":inprocess:"+queue)
	slices.Reverse(held)
	m.giveUp(t, worker, rdb.Released{Queue: queue, Died: worker, Elements: held[max(0, len(held)-most):]})
}

func (m *keyedMachine) giveUp(t *rapid.T, worker string, released rdb.Released) {
	m.request(t, m.settlement(worker, keyedIntent{
		title:   fmt.Sprintf("gives back %v, died %q", released.Elements, released.Died),
		call:    func(w *rdb.Worker) redisconn.Call { return w.Release(released) },
		execute: func() rdb.Settled { return m.released(worker, released) },
	}))
}

func (m *keyedMachine) due(t *rapid.T) {
	if rapid.Bool().Draw(t, "time passes") {
		m.logf(t, "%s pass", keyedDelay)
		m.site.pass(t, keyedDelay)
	}
	m.dueOn(t, rapid.SampledFrom([]rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry}).Draw(t, "shelf"))
}

func (m *keyedMachine) dueOn(t *rapid.T, shelf rdb.Shelf) {
	move := m.pages[shelf]
	var got rdb.Due
	_, ok := m.request(t, step{
		title: fmt.Sprintf("what is due of %s moves, %d known", shelf, len(move)),
		send: func(store *rdb.Store) (any, error) {
			due, err := store.Due(background, shelf, rdb.DueCall{Move: move})
			got = due
			return due.Moved, err
		},
		execute: func() any {
			moved := 0
			for _, w := range move {
				if j := m.jobs[w.ID]; j != nil && j.shelf == shelf && int64(j.due) <= got.Time.UnixMilli() {
					m.lineUp(w.ID)
					moved++
				}
			}
			return moved
		},
	})
	if ok {
		m.pages[shelf] = got.Page
	}
}
