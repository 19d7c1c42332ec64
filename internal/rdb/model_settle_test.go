package rdb_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// intent is an outcome, or several in one call, that is sent until it was acknowledged.
type intent struct {
	title    string
	elements []string
	call     func(w *rdb.Worker) redisconn.Call
	execute  func() rdb.Settled
}

// settle sends outcomes: those not acknowledged yet, and some more.
func (m *machine) settle(t *rapid.T) {
	a := m.choose(t, "worker", func(a *actor) bool { return a.known && len(a.held) > 0 })
	m.settleOn(t, a, m.decide(t, a))
}

// decide draws outcomes for some of what is held and has none.
func (m *machine) decide(t *rapid.T, a *actor) []intent {
	var done []rdb.Ended
	back := map[string][]string{}
	var intents []intent
	for _, claim := range a.sortedHeld() {
		if slices.ContainsFunc(a.unsettled, func(i intent) bool { return slices.Contains(i.elements, claim.Element) }) {
			continue
		}
		lock := lockOf(string(a.held[claim.Element].Record))
		switch outcome := rapid.SampledFrom([]string{"runs on", "runs on", "done", "kept", "retry", "scheduled",
			"morgue", "back", "back", "expired"}).Draw(t, claim.Element); outcome {
		case "expired":
			intents = append(intents, m.endingOne(t, a.id, a.held[claim.Element], "expired", delay(t)))
		case "done", "kept":
			if lock.Digest != "" {
				intents = append(intents, m.endingOne(t, a.id, a.held[claim.Element], "done",
					map[string]time.Duration{"kept": delay(t)}[outcome]))
				continue
			}
			end := rdb.Ended{Claim: claim, ID: idOf(claim.Element)}
			if outcome == "kept" {
				end.Keep, end.Outcome = delay(t), []byte("result of "+end.ID)
				if end.State = "done"; rapid.Bool().Draw(t, "details") {
					end.Outcome, end.Details = withDetails("done", end.Queue, claim.Element)
				}
			}
			done = append(done, end)
		case "retry", "scheduled", "morgue":
			job := rdb.Shelved{Claim: claim, Shelf: rdb.Shelf(outcome), Delay: delay(t), KeepCrashes: rapid.Bool().
				Draw(t, "keep crashes")}
			if rapid.Bool().Draw(t, "trail") {
				job.Trail = []byte("trail of " + claim.Element)
			}
			if job.Shelf == rdb.ShelfMorgue && (lock.Kind == rdb.UntilEnded || lock.Kind == rdb.UntilBegun) {
				job.Lock = lock.Digest
			}
			intents = append(intents, m.shelving(t, a.id, job))
		case "back":
			back[claim.Queue] = append(back[claim.Queue], claim.Element)
		}
	}
	if len(done) > 0 {
		intents = append(intents, m.ending(t, a.id, done))
	}
	for _, queue := range modelQueues {
		if len(back[queue]) > 0 {
			intents = append(intents, m.releasing(a.id,
				rdb.Released{Queue: queue, Elements: back[queue], Ended: rapid.Bool().Draw(t, "ended")}))
		}
	}
	return intents
}

// delay is an odd multiple of 5 s.
func delay(t *rapid.T) time.Duration {
	return time.Duration(5+10*rapid.IntRange(0, 2).Draw(t, "delay")) * time.Second
}

// settleOn sends the intents behind those that wait for their acknowledgement, in one pipeline that may break.
func (m *machine) settleOn(t *rapid.T, a *actor, intents []intent) {
	a.unsettled = append(a.unsettled, intents...)
	if len(a.unsettled) == 0 {
		t.Skip("nothing to settle")
	}
	if executed := rapid.IntRange(0, 2*len(a.unsettled)).Draw(t, "broken after"); executed < len(a.unsettled) &&
		executed > 0 && !m.calm {
		m.logf(t, "the pipeline broke")
		m.deliver(t, m.settlement(a.id, a.unsettled[:executed]), m.site.store)
		return
	}
	answers, ok := m.request(t, m.settlement(a.id, a.unsettled))
	if !ok {
		return
	}
	again := m.withOutcomes(t, a, answers.([]rdb.Settled))
	for i, answer := range answers.([]rdb.Settled) {
		for _, element := range a.unsettled[i].elements {
			if answer.Roomy {
				a.debts = append(a.debts, a.held[element].Queue)
			}
		}
	}
	for _, i := range a.unsettled {
		for _, element := range i.elements {
			if !slices.ContainsFunc(again, func(i intent) bool { return i.elements[0] == element }) {
				delete(a.held, element)
			}
		}
	}
	a.unsettled = again
}

func (m *machine) settlement(worker string, intents []intent) step {
	intents = slices.Clone(intents)
	titles := make([]string, len(intents))
	for i := range intents {
		titles[i] = intents[i].title
	}
	return step{
		title: worker + " settles: " + strings.Join(titles, "; "),
		send: func(store *rdb.Store) (any, error) {
			w := store.Worker(worker)
			calls := make([]redisconn.Call, len(intents))
			for i := range intents {
				calls[i] = intents[i].call(w)
			}
			settled, err := w.Settle(background, calls)
			return inOrder(settled), err
		},
		execute: func() any {
			settled := make([]rdb.Settled, len(intents))
			for i := range intents {
				settled[i] = intents[i].execute()
			}
			return inOrder(settled)
		},
	}
}

// inOrder sorts the elements of each answer: their order does not matter.
func inOrder(settled []rdb.Settled) []rdb.Settled {
	for i := range settled {
		slices.Sort(settled[i].Gone)
		slices.Sort(settled[i].Cancelled)
		slices.Sort(settled[i].Waited)
	}
	return settled
}

func (m *machine) ending(t *rapid.T, worker string, done []rdb.Ended) intent {
	made := make([]string, len(done))
	for i := range done {
		made[i] = done[i].Element
	}
	return intent{
		title:    "done " + strings.Join(made, " "),
		elements: made,
		call:     func(w *rdb.Worker) redisconn.Call { return w.Complete(done) },
		execute: func() rdb.Settled {
			gone, waited, cancelled, roomy := []string{}, []string(nil), []string(nil), false
			for _, e := range done {
				counted := m.counted[e.Queue][e.ID]
				if m.cancelled[e.ID] {
					cancelled = append(cancelled, e.Element)
				} else if m.waited[e.ID] && e.Keep == 0 {
					waited = append(waited, e.Element)
				} else if !m.model.complete(worker, e, m.before) {
					gone = append(gone, e.Element)
				} else if roomy = roomy || counted && len(m.rules) > 0; e.Keep > 0 {
					m.outcomes[e.ID] = modelOutcome{string(e.Outcome), m.learn(t, "outcomes:until", e.ID, e.Keep)}
					delete(m.waited, e.ID)
				}
			}
			return rdb.Settled{Gone: gone, Waited: waited, Cancelled: cancelled, Roomy: roomy}
		},
	}
}

func (m *machine) shelving(t *rapid.T, worker string, job rdb.Shelved) intent {
	return intent{
		title:    string(job.Shelf) + " " + job.Element + " in " + job.Delay.String(),
		elements: []string{job.Element},
		call:     func(w *rdb.Worker) redisconn.Call { return w.Shelve(job) },
		execute: func() rdb.Settled {
			id, after := idOf(job.Element), job.Delay
			if m.cancelled[id] && slices.Contains(m.inProcess[worker][job.Queue], job.Element) {
				return rdb.Settled{Cancelled: []string{job.Element}}
			}
			counted := m.counted[job.Queue][id]
			if !m.unclaim(worker, job.Queue, job.Element) {
				return rdb.Settled{Gone: []string{job.Element}}
			}
			m.unlock(id, job.Lock)
			if job.Shelf == rdb.ShelfMorgue {
				after = 0
				delete(m.waited, id)
			}
			m.shelve(job.Shelf, id, m.learn(t, string(job.Shelf), id, after))
			if !job.KeepCrashes {
				m.jobs[id].crashes = nil
			}
			if job.Trail != nil {
				m.jobs[id].trail = string(job.Trail)
			}
			return rdb.Settled{Roomy: counted}
		},
	}
}

func (m *machine) releasing(worker string, released rdb.Released) intent {
	return intent{
		title: "back " + strings.Join(released.Elements, " ") + ", died " + released.Died + ", ended " +
			strconv.FormatBool(released.Ended),
		elements: released.Elements,
		call:     func(w *rdb.Worker) redisconn.Call { return w.Release(released) },
		execute:  func() rdb.Settled { return rdb.Settled{Gone: m.model.release(worker, released)} },
	}
}

// learn reads the time that Redis has just stored, which must be that long after the request.
func (m *machine) learn(t *rapid.T, key, id string, after time.Duration) int64 {
	at := asInt(t, text(m.site.cmd(t, "ZSCORE", key, id)))
	m.requireNow(t, at-after.Milliseconds(), key+" of "+id)
	return at
}

// requireNow is true of the times that Redis took while it executed the request.
func (m *machine) requireNow(t *rapid.T, at int64, what string) {
	require.GreaterOrEqual(t, at, m.before, what)
	require.LessOrEqual(t, at, m.after, what)
}

// giveBackLost gives back what a survey found and the worker does not hold, in one queue at a time.
func (m *machine) giveBackLost(t *rapid.T) {
	m.giveBackOn(t, m.choose(t, "worker", func(a *actor) bool { return len(a.lost) > 0 }))
}

func (m *machine) giveBackOn(t *rapid.T, a *actor) {
	queue := a.lost[0].Queue
	ofQueue := func(claim rdb.Claim) bool { return claim.Queue == queue }
	released := rdb.Released{Queue: queue}
	for _, claim := range a.lost {
		if ofQueue(claim) {
			released.Elements = append(released.Elements, claim.Element)
		}
	}
	if _, ok := m.request(t, m.settlement(a.id, []intent{m.releasing(a.id, released)})); ok {
		a.lost = slices.DeleteFunc(a.lost, ofQueue)
	}
}
