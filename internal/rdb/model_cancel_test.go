package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// modelPlace is where a job is to end: with a worker, in its queue, or on a shelf with a score.
type modelPlace struct {
	worker string
	claim  rdb.Claim
	shelf  rdb.Shelf
	score  string // empty: whatever it is
}

// end ends a job like lua/job/end.lua, with all that belongs to it.
func (m *machine) end(t *rapid.T, from modelPlace, e rdb.Ending) string {
	flagged := m.cancelled[e.ID]
	if flagged && e.State != "cancelled" {
		return "cancelled"
	}
	if !flagged && e.State == "cancelled" && from.worker == "" {
		return "gone"
	}
	if m.waited[e.ID] && e.Keep == 0 {
		return "waited"
	}
	counted := m.counted[e.Queue][e.ID]
	if left := m.quit(from, e); left != "ended" {
		return left
	}
	delete(m.jobs, e.ID)
	delete(m.cancelled, e.ID)
	delete(m.waited, e.ID)
	m.count(e.Queue, e.ID, false)
	m.ended[e.ID] = true
	if e.Keep > 0 {
		m.outcomes[e.ID] = modelOutcome{string(e.Outcome), m.learn(t, "outcomes:until", e.ID, e.Keep)}
		m.remember(e.State, e.Queue, e.ID, e.Details)
	}
	if e.State != "done" || m.locks[e.Lock].kind != rdb.ForATime {
		m.unlock(e.ID, e.Lock)
	}
	if counted {
		return "roomy"
	}
	return "ended"
}

// quit takes a job out of its place.
func (m *model) quit(from modelPlace, e rdb.Ending) string {
	if from.worker != "" {
		if m.unclaim(from.worker, from.claim.Queue, from.claim.Element) {
			return "ended"
		}
		return "gone"
	}
	switch m.leave(rdb.JobPlace{ID: e.ID, Queue: e.Queue, Shelf: from.shelf, Score: from.score}, false, false) {
	case rdb.AnswerDone:
		return "ended"
	case rdb.AnswerHeld:
		return "held"
	}
	return "gone"
}

// endingOne ends one job that is held, with all that belongs to it.
func (m *machine) endingOne(t *rapid.T, worker string, held rdb.Held, state string, keep time.Duration) intent {
	e := rdb.Ending{ID: held.ID, Queue: held.Queue, State: state, Keep: keep,
		Belongings: rdb.Belongings{Lock: lockOf(string(held.Record)).Digest}}
	if keep > 0 {
		e.Outcome = []byte(state + " " + held.Element)
		if rapid.Bool().Draw(t, "details") {
			e.Outcome, e.Details = withDetails(state, held.Queue, held.Element)
		}
	}
	return intent{
		title:    fmt.Sprintf("end %s as %s, lock %q", held.Element, state, e.Lock),
		elements: []string{held.Element},
		call:     func(w *rdb.Worker) redisconn.Call { return w.End(held.Claim, e) },
		execute: func() rdb.Settled {
			switch m.end(t, modelPlace{worker: worker, claim: held.Claim}, e) {
			case "gone":
				return rdb.Settled{Gone: []string{held.Element}}
			case "cancelled":
				return rdb.Settled{Cancelled: []string{held.Element}}
			case "waited":
				return rdb.Settled{Waited: []string{held.Element}}
			case "roomy":
				return rdb.Settled{Roomy: true}
			}
			return rdb.Settled{}
		},
	}
}

// endAll ends all that a worker holds: plain jobs together, each other one with what belongs to it.
func (m *machine) endAll(t *rapid.T, a *actor) (intents []intent) {
	var plain []rdb.Claim
	for _, claim := range a.sortedHeld() {
		if held := a.held[claim.Element]; lockOf(string(held.Record)).Digest != "" {
			intents = append(intents, m.endingOne(t, a.id, held, "done", 0))
		} else {
			plain = append(plain, claim)
		}
	}
	if len(plain) > 0 {
		intents = append(intents, m.ending(t, a.id, ended(plain...)))
	}
	return intents
}

// cancelSome cancels some jobs. Those that rest are ended at once, the others by whoever holds them.
func (m *machine) cancelSome(t *rapid.T) {
	known := slices.Sorted(maps.Keys(m.jobs))
	ids := []string{"nobody"}
	for range min(len(known), 2) {
		if id := rapid.SampledFrom(known).Draw(t, "id"); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	m.cancelAll(t, ids)
}

// cancelFlagged is what the janitor does with those that were cancelled by somebody who did not come to ending them.
func (m *machine) cancelFlagged(t *rapid.T) {
	if len(m.cancelled) > 0 {
		m.cancelAll(t, slices.Sorted(maps.Keys(m.cancelled)))
	}
}

func (m *machine) cancelAll(t *rapid.T, ids []string) {
	answer, ok := m.request(t, step{
		title: fmt.Sprintf("%v are cancelled", ids),
		send: func(store *rdb.Store) (any, error) {
			standings, err := store.Cancel(background, ids)
			for i := range standings {
				standings[i].Seen = time.Time{}
			}
			return standings, err
		},
		execute: func() any {
			standings := make([]rdb.CancelledJob, len(ids))
			for i, id := range ids {
				standings[i] = m.model.cancel(id)
			}
			return standings
		},
	})
	if !ok {
		return
	}
	var resting []rdb.UnheldJob
	for _, s := range answer.([]rdb.CancelledJob) {
		if s.Record != nil {
			resting = append(resting, m.rest(s.ID, s.Spot, m.jobs[s.ID].queue, "cancelled", string(s.Record)))
		}
	}
	m.endResting(t, resting)
}

func (m *machine) rest(id string, spot rdb.Spot, queue, state, record string) rdb.UnheldJob {
	outcome, details := withDetails(state, queue, id)
	return rdb.UnheldJob{Spot: spot, Ending: rdb.Ending{
		ID: id, Queue: queue, State: state, Keep: 15 * time.Second, Outcome: outcome, Details: details,
		Belongings: rdb.Belongings{Lock: lockOf(record).Digest},
	}}
}

// cancel flags a job and tells where it stands.
func (m *model) cancel(id string) rdb.CancelledJob {
	job := m.jobs[id]
	if job == nil {
		return rdb.CancelledJob{ID: id, Spot: rdb.SpotGone, Outcome: bytesOrNil(m.outcomes[id].text)}
	}
	shelf := m.shelfOf(id)
	if shelf != rdb.ShelfMorgue {
		m.cancelled[id] = true
	}
	if _, held := m.claimed[id]; held {
		return rdb.CancelledJob{ID: id, Spot: rdb.SpotHeld}
	}
	standing := rdb.CancelledJob{
		ID: id, Spot: rdb.Spot(shelf), Record: []byte(job.record), Trail: bytesOrNil(job.trail),
	}
	switch shelf {
	case "":
		standing.Spot = rdb.SpotQueue
	case rdb.ShelfMorgue:
		standing.Record, standing.Trail = nil, nil
	}
	return standing
}

// endResting ends jobs where they rest.
func (m *machine) endResting(t *rapid.T, jobs []rdb.UnheldJob) {
	if len(jobs) == 0 {
		return
	}
	var titles []string
	for _, job := range jobs {
		titles = append(titles, fmt.Sprintf("%s of %s, lock %q", job.ID, job.Spot, job.Lock))
	}
	m.request(t, step{
		title: "where they rest end as " + jobs[0].State + ": " + strings.Join(titles, "; "),
		send:  func(store *rdb.Store) (any, error) { return store.EndUnheld(background, jobs) },
		execute: func() any {
			rested := make([]rdb.EndResult, len(jobs))
			for i, job := range jobs {
				from := modelPlace{}
				if job.Spot != rdb.SpotQueue {
					from.shelf = rdb.Shelf(job.Spot)
				}
				answer := m.end(t, from, job.Ending)
				rested[i] = rdb.EndResult(strings.Replace(answer, "roomy", "ended", 1))
			}
			return rested
		},
	})
}

// purgeSome removes what stands at the front of a queue: plain jobs together, others each with what belongs to it.
func (m *machine) purgeSome(t *rapid.T) {
	queue := rapid.SampledFrom(modelQueues).Draw(t, "queue")
	front := m.queues[queue]
	if len(front) == 0 {
		t.Skip("nothing waits there")
	}
	front = slices.Clone(front[:rapid.IntRange(1, min(4, len(front))).Draw(t, "at a time")])
	var plain []string
	var ends []rdb.UnheldJob
	for _, id := range front {
		if job := m.jobs[id]; job != nil && lockOf(job.record).Digest != "" {
			ends = append(ends, m.rest(id, rdb.SpotQueue, queue, "deleted", job.record))
		} else {
			plain = append(plain, id)
		}
	}
	m.endResting(t, ends)
	answer, ok := m.request(t, step{
		title: fmt.Sprintf("%v are purged from the front %d of %s", plain, len(front), queue),
		send: func(store *rdb.Store) (any, error) {
			purged, err := store.Purge(background, queue, len(front), plain)
			slices.Sort(purged.Waited)
			slices.Sort(purged.Cancelled)
			return purged, err
		},
		execute: func() any { return m.model.purge(queue, len(front), plain) },
	})
	if !ok {
		return
	}
	ends = nil
	for _, id := range answer.(rdb.Purged).Waited {
		ends = append(ends, m.rest(id, rdb.SpotQueue, queue, "deleted", m.jobs[id].record))
	}
	m.endResting(t, ends)
}

// purge removes like lua/inspect/purge.lua: what somebody waits for stays, what is to be cancelled too, and what is
// held only leaves the queue.
func (m *model) purge(queue string, size int, ids []string) rdb.Purged {
	answer := rdb.Purged{Waited: []string{}, Cancelled: []string{}}
	var rest []string
	for i, id := range m.queues[queue] {
		_, held := m.claimed[id]
		switch {
		case i >= size || !slices.Contains(ids, id):
			rest = append(rest, id)
		case m.cancelled[id] && !held:
			rest = append(rest, id)
			answer.Cancelled = append(answer.Cancelled, id)
		case m.waited[id] && !held:
			rest = append(rest, id)
			answer.Waited = append(answer.Waited, id)
		case !held:
			if m.jobs[id] != nil {
				answer.Removed++
				m.ended[id] = true
			}
			delete(m.jobs, id)
		}
	}
	m.queues[queue] = rest
	slices.Sort(answer.Waited)
	slices.Sort(answer.Cancelled)
	return answer
}

// requireFlagged: every flag is that of a job that lives.
func (m *machine) requireFlagged(t *rapid.T, state redisState) {
	for id := range state.maps["cancelled"] {
		require.Contains(t, state.maps["jobs"], id, "cancelled")
	}
}
