package rdb_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// What people do by hand, or programs with Inspector, to jobs that have keys and to the rules of keys.

func (m *keyedMachine) someJob(t *rapid.T) string {
	ids := slices.Sorted(maps.Keys(m.jobs))
	if len(ids) == 0 {
		t.Skip("there are no jobs")
	}
	return rapid.SampledFrom(ids).Draw(t, "job")
}

// cancel flags a job as to be cancelled, wherever it is.
func (m *keyedMachine) cancel(t *rapid.T) {
	id := m.someJob(t)
	m.request(t, step{
		title: id + " is to be cancelled",
		send: func(store *rdb.Store) (any, error) {
			cancelled, err := store.Cancel(background, []string{id})
			return len(cancelled), err
		},
		execute: func() any {
			if j := m.jobs[id]; j != nil && j.shelf != rdb.ShelfMorgue {
				j.flagged = true
			}
			return 1
		},
	})
}

// spotOf is where a job rests; false where a worker has it.
func (m *keyedMachine) spotOf(id string) (rdb.Spot, bool) {
	j := m.jobs[id]
	switch {
	case j.worker != "":
		return "", false
	case j.shelf != "":
		return rdb.Spot(j.shelf), true
	case slices.Contains(m.queues[j.queue].list, id):
		return rdb.SpotQueue, true
	}
	return rdb.SpotTurns, true
}

// endFlagged ends one that is to be cancelled where it rests.
func (m *keyedMachine) endFlagged(t *rapid.T) {
	var flagged []string
	for id, j := range m.jobs {
		if _, rests := m.spotOf(id); j.flagged && rests {
			flagged = append(flagged, id)
		}
	}
	if len(flagged) == 0 {
		t.Skip("none that rests is to be cancelled")
	}
	slices.Sort(flagged)
	id := rapid.SampledFrom(flagged).Draw(t, "job")
	spot, _ := m.spotOf(id)
	m.endAt(t, id, spot, "cancelled")
}

func (m *keyedMachine) removeSome(t *rapid.T) {
	id := m.someJob(t)
	spot, rests := m.spotOf(id)
	if !rests {
		spot = rdb.SpotTurns // as who looked before it was fetched
	}
	m.remove(t, id, spot)
}

func (m *keyedMachine) remove(t *rapid.T, id string, spot rdb.Spot) { m.endAt(t, id, spot, "deleted") }

func (m *keyedMachine) endAt(t *rapid.T, id string, spot rdb.Spot, state string) {
	queue := m.jobs[id].queue
	m.request(t, step{
		title: fmt.Sprintf("%s ends as %s in %s", id, state, spot),
		send: func(store *rdb.Store) (any, error) {
			results, err := store.EndUnheld(background, []rdb.UnheldJob{{Spot: spot,
				Ending: rdb.Ending{ID: id, Queue: queue, State: state}}})
			if len(results) == 0 {
				return nil, err
			}
			return results[0], err
		},
		execute: func() any {
			j := m.jobs[id]
			switch {
			case j != nil && j.flagged && state != "cancelled":
				return rdb.EndCancelled
			case j == nil || state == "cancelled" && !j.flagged:
				return rdb.EndGone
			case j.worker != "":
				return rdb.EndHeld
			}
			if at, _ := m.spotOf(id); at != spot {
				return rdb.EndGone
			}
			m.end(id)
			return rdb.EndDone
		},
	})
}

// purge removes some that wait by turns, as they come first.
func (m *keyedMachine) purge(t *rapid.T) {
	queue := rapid.SampledFrom(keyedQueues).Draw(t, "queue")
	front := rdb.FrontReader{ByTurns: true}
	waiters, err := front.Next(background, rdb.NewStore(m.site.driver, m.site.namespace), queue,
		rapid.IntRange(1, 4).Draw(t, "at a time"))
	require.NoError(t, err)
	if len(waiters) == 0 {
		t.Skip("nothing waits there")
	}
	var ids []string
	for _, w := range waiters {
		ids = append(ids, w.ID)
	}
	m.request(t, step{
		title: fmt.Sprintf("%v are purged from %s", ids, queue),
		send: func(store *rdb.Store) (any, error) {
			purged, err := store.Purge(background, queue, 0, ids)
			slices.Sort(purged.Cancelled)
			return [2]any{purged.Removed, purged.Cancelled}, err
		},
		execute: func() any {
			removed, flagged := 0, []string{}
			for _, id := range ids {
				j := m.jobs[id]
				if j == nil || !j.waits() || slices.Contains(m.queues[queue].list, id) {
					continue
				}
				if j.flagged {
					flagged = append(flagged, id)
					continue
				}
				m.end(id)
				removed++
			}
			slices.Sort(flagged)
			return [2]any{removed, flagged}
		},
	})
}

// moveSome takes a job from where somebody has seen it to another place.
func (m *keyedMachine) moveSome(t *rapid.T) {
	id := m.someJob(t)
	to := rapid.SampledFrom([]rdb.Destination{{}, {}, {Front: true}, {Shelf: rdb.ShelfStalled},
		{Shelf: rdb.ShelfMorgue}, {Shelf: rdb.ShelfScheduled, At: 1}}).Draw(t, "to")
	if spot, rests := m.spotOf(id); !rests || spot == rdb.SpotTurns && to.Shelf == "" && !to.Front {
		t.Skip("it is held, or waits there")
	}
	if to.At > 0 {
		to.At = m.site.now(t).Add(5 * time.Millisecond).UnixMilli()
	}
	m.move(t, id, to)
}

// move moves a job; who does has seen where it stands, and what with.
func (m *keyedMachine) move(t *rapid.T, id string, to rdb.Destination) {
	j := m.jobs[id]
	spot, _ := m.spotOf(id)
	from := rdb.JobPlace{ID: id, Queue: j.queue}
	if spot != rdb.SpotQueue {
		from.Shelf = rdb.Shelf(spot)
		from.Score = strconv.FormatInt(int64(m.dueOf(t, from.Shelf, id)), 10)
	}
	m.request(t, step{
		once:  true, // another job may stand there with that score, or this one again
		title: fmt.Sprintf("%s goes by hand from %s %s to %+v", id, spot, from.Score, to),
		send: func(store *rdb.Store) (any, error) {
			results, err := store.Execute(background, []rdb.Order{store.Move(from, to)})
			if err != nil {
				return nil, err
			}
			return results[0].Answer, results[0].Err
		},
		execute: func() any { return m.moved(t, id, from, to) },
	})
}

func (m *keyedMachine) moved(t *rapid.T, id string, from rdb.JobPlace, to rdb.Destination) rdb.Answer {
	j := m.jobs[id]
	if j == nil {
		return rdb.AnswerGone
	}
	spot, rests := m.spotOf(id)
	switch {
	case !rests:
		return rdb.AnswerHeld
	case j.shelf != "" && from.Shelf == "":
		return rdb.AnswerGone
	case j.flagged:
		return rdb.AnswerCancelled
	case from.Shelf == "" && spot != rdb.SpotQueue, from.Shelf != "" && rdb.Shelf(spot) != from.Shelf:
		return rdb.AnswerGone
	}
	if j.shelf != "" && int64(j.due) != asInt(t, from.Score) {
		return rdb.AnswerGone
	}
	if spot == rdb.SpotTurns { // its score is Redis' matter: only where it stands with another one it stays
		stands := text(m.site.cmd(t, "ZSCORE", "turns", id))
		if stands != "" && asInt(t, stands) != asInt(t, from.Score) {
			return rdb.AnswerGone
		}
	}
	q, waited := m.queues[j.queue], j.waits()
	m.leave(id)
	switch {
	case to.Shelf == "" && to.Front:
		m.toFront(id)
	case to.Shelf == "":
		m.lineUp(id)
	default:
		j.shelf, j.due = to.Shelf, m.dueOf(t, to.Shelf, id)
		j.holds = j.holds && !waited && q.keepsPlace(to.Shelf)
	}
	return rdb.AnswerDone
}

// drawRule draws a rule of all keys of a queue, or of one key.
func drawRule(t *rapid.T, own bool) rdb.KeyRule {
	rules := []rdb.KeyRule{{}, {Limit: rdb.Limit{Concurrent: 1}}, {Limit: rdb.Limit{Concurrent: 2}}, {Ordered: true},
		{Ordered: true, BackAgain: true, DeathStop: true}}
	if own {
		rules = []rdb.KeyRule{{}, {}, {Limit: rdb.Limit{Concurrent: 1}}, {Limit: rdb.Limit{Concurrent: 3}},
			{Stopped: true}}
	}
	return rapid.SampledFrom(rules).Draw(t, "rule")
}

// changeRule puts another rule into force, and gives the places that are free by it.
func (m *keyedMachine) changeRule(t *rapid.T) {
	of := rdb.KeyRuleOf{Queue: rapid.SampledFrom(keyedQueues).Draw(t, "queue")}
	if rapid.IntRange(0, 2).Draw(t, "of a key") > 0 {
		of.Key = rapid.SampledFrom(keyedKeys).Draw(t, "key")
	}
	if m.setRule(t, of, drawRule(t, of.Key != "")) {
		m.grant(t, of)
	}
}

// ruleOf is the rule that the model has.
func (m *keyedMachine) ruleOf(of rdb.KeyRuleOf) rdb.KeyRule {
	if of.Key == "" {
		return m.queues[of.Queue].rule
	}
	return m.queues[of.Queue].own[of.Key]
}

func (m *keyedMachine) setRule(t *rapid.T, of rdb.KeyRuleOf, rule rdb.KeyRule) bool {
	before := m.ruleOf(of)
	m.born++
	rule.Revision = int64(m.born)
	answer, ok := m.request(t, step{
		prompt: true, // it has a token of its own
		title:  fmt.Sprintf("the rule of %s %q becomes %q", of.Queue, of.Key, rule.Text()),
		send: func(store *rdb.Store) (any, error) {
			return store.SetKeyRule(background, of, before.Text(), rule.Text())
		},
		execute: func() any {
			switch m.ruleOf(of).Text() {
			case rule.Text():
				return true
			case before.Text():
				m.ruleSet(of, rule)
				return true
			}
			return false
		},
	})
	return ok && answer.(bool)
}

func (m *keyedMachine) ruleSet(of rdb.KeyRuleOf, rule rdb.KeyRule) {
	q, none := m.queues[of.Queue], rule.Text() == ""
	switch {
	case none && of.Key == "":
		q.rule = rdb.KeyRule{}
	case of.Key == "":
		q.rule = rule
	case none:
		delete(q.own, of.Key)
	default:
		q.own[of.Key] = rule
	}
	for _, key := range keyedKeys {
		if of.Key == "" || of.Key == key {
			q.ungranted[key], q.mixed[key] = true, q.most(key) < 0
		}
	}
}

func (m *keyedMachine) grantSome(t *rapid.T) {
	m.grant(t, rdb.KeyRuleOf{Queue: rapid.SampledFrom(keyedQueues).Draw(t, "queue"),
		Key: rapid.SampledFrom(append([]string{""}, keyedKeys...)).Draw(t, "key")})
}

// grant gives free places of keys to jobs that are parked, as who has changed a rule does, and the janitor.
func (m *keyedMachine) grant(t *rapid.T, of rdb.KeyRuleOf) {
	m.request(t, step{
		title: fmt.Sprintf("free places of %s %q are given", of.Queue, of.Key),
		send: func(store *rdb.Store) (any, error) {
			return nil, store.GrantParked(background, of.Queue, of.Key)
		},
		execute: func() any {
			for _, key := range keyedKeys {
				if of.Key == "" || of.Key == key {
					delete(m.queues[of.Queue].ungranted, key)
				}
			}
			return nil
		},
	})
}
