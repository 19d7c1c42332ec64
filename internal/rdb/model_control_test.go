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

// Controls by hand: each takes a job from where somebody saw it. It may have gone on since, and may have been seen
// wrongly.

// seeSome draws a job that lives, and where it stands; one that is held is said to stand in its queue.
func (m *machine) seeSome(t *rapid.T) rdb.JobPlace {
	ids := slices.Sorted(maps.Keys(m.jobs))
	if len(ids) == 0 {
		t.Skip("there are no jobs")
	}
	stand := rdb.JobPlace{ID: rapid.SampledFrom(ids).Draw(t, "job")}
	stand.Queue = m.jobs[stand.ID].queue
	if shelf := m.shelfOf(stand.ID); shelf != "" {
		stand.Shelf, stand.Score = shelf, strconv.FormatInt(m.shelves[shelf][stand.ID], 10)
	}
	return stand
}

func (m *model) shelfOf(id string) rdb.Shelf {
	for shelf, waiting := range m.shelves {
		if _, there := waiting[id]; there {
			return shelf
		}
	}
	return ""
}

func (m *machine) stallSome(t *rapid.T) {
	m.moveJob(t, m.seeSome(t), rdb.Destination{Shelf: rdb.ShelfStalled})
}

func (m *machine) moveToQueue(t *rapid.T) {
	aim := rdb.Destination{Front: rapid.Bool().Draw(t, "front")}
	if rapid.Bool().Draw(t, "new trail") {
		aim.Trail = []byte("by hand")
	}
	from := m.seeSome(t)
	if lock := lockOf(m.jobs[from.ID].record); from.Shelf == rdb.ShelfMorgue && lock.Kind == rdb.UntilEnded {
		aim.Lock = lock.Digest
	}
	m.moveJob(t, from, aim)
}

func (m *machine) reschedule(t *rapid.T) {
	from := m.seeSome(t)
	if from.Shelf != rdb.ShelfScheduled && from.Shelf != rdb.ShelfRetry {
		t.Skip("it is not due later")
	}
	at := m.site.now(t).Add(delay(t)).UnixMilli()
	m.moveJob(t, from, rdb.Destination{Shelf: from.Shelf, At: at})
}

func (m *machine) moveJob(t *rapid.T, from rdb.JobPlace, to rdb.Destination) {
	m.request(t, step{
		title: fmt.Sprintf("%s goes by hand from %q %s to %q, front %t", from.ID, from.Shelf, from.Score, to.Shelf,
			to.Front),
		send: func(store *rdb.Store) (any, error) {
			return store.Execute(background, []rdb.Order{store.Move(from, to)})
		},
		execute: func() any {
			owner, owned := m.admit(rdb.NewJob{ID: from.ID, Lock: rdb.Lock{Digest: to.Lock}}, m.before)
			_, buried := m.shelves[from.Shelf][from.ID]
			obeyed := rdb.OrderResult{Answer: m.leave(from, true, owned && buried)}
			switch obeyed.Answer {
			case rdb.AnswerDone:
				m.arriveAt(t, from, to)
			case rdb.AnswerOwned:
				obeyed.Owner = owner
			}
			return []rdb.OrderResult{obeyed}
		},
	})
}

// leave takes a job from where it was seen. To be moved it must be on no other shelf, which names tells, and no other
// job may have the lock that it takes.
func (m *model) leave(from rdb.JobPlace, moving, owned bool) rdb.Answer {
	job := m.jobs[from.ID]
	if moving && job == nil {
		return rdb.AnswerGone
	}
	if _, held := m.claimed[from.ID]; held {
		return rdb.AnswerHeld
	}
	if stands := m.shelfOf(from.ID); moving && stands != "" && (from.Shelf == "" || job.queue != from.Queue) {
		return rdb.AnswerGone
	}
	if moving && m.cancelled[from.ID] {
		return rdb.AnswerCancelled
	}
	if owned {
		return rdb.AnswerOwned
	}
	if from.Shelf == "" {
		at := slices.Index(m.queues[from.Queue], from.ID)
		if at < 0 {
			return rdb.AnswerGone
		}
		m.queues[from.Queue] = slices.Delete(slices.Clone(m.queues[from.Queue]), at, at+1)
		return rdb.AnswerDone
	}
	score, there := m.shelves[from.Shelf][from.ID]
	if !there || from.Score != "" && score != wholeScore(from.Score) {
		return rdb.AnswerGone
	}
	delete(m.shelves[from.Shelf], from.ID)
	return rdb.AnswerDone
}

// wholeScore is a score without its fraction, which is for the order only. A round one may be written as 1.8e+12.
func wholeScore(text string) int64 {
	score, _ := strconv.ParseFloat(text, 64)
	return int64(score)
}

func (m *machine) arriveAt(t *rapid.T, from rdb.JobPlace, to rdb.Destination) {
	if to.Lock != "" {
		m.locks[to.Lock] = modelLock{owner: from.ID, kind: rdb.UntilEnded}
		delete(m.freed, from.ID)
	}
	if to.Trail != nil {
		m.jobs[from.ID].trail = string(to.Trail)
	}
	switch {
	case to.Shelf != "" && to.At == 0:
		m.shelve(to.Shelf, from.ID, m.learn(t, string(to.Shelf), from.ID, 0))
	case to.Shelf != "":
		m.shelve(to.Shelf, from.ID, to.At)
	case to.Front:
		m.queues[from.Queue] = slices.Insert(m.queues[from.Queue], 0, from.ID)
	default:
		m.queues[from.Queue] = append(m.queues[from.Queue], from.ID)
	}
}

func (m *machine) removeSome(t *rapid.T) { m.removeJob(t, m.seeSome(t)) }

// trim ends one of the oldest in the morgue, as the janitor does with those that are too many or too old.
func (m *machine) trim(t *rapid.T) {
	overdue, err := rdb.NewStore(m.site.driver, m.site.namespace).
		Overdue(background, rapid.IntRange(0, 3).Draw(t, "limit"), 25*time.Second, 1)
	require.NoError(t, err)
	if len(overdue) == 0 {
		t.Skip("nothing to trim")
	}
	overdue[0].Queue = m.jobs[overdue[0].ID].queue
	m.removeJob(t, overdue[0].JobPlace)
}

func (m *machine) removeJob(t *rapid.T, from rdb.JobPlace) {
	var lock string
	if job := m.jobs[from.ID]; job != nil {
		lock = lockOf(job.record).Digest
	}
	ending := rdb.Ending{State: "deleted", Belongings: rdb.Belongings{Lock: lock}}
	m.request(t, step{
		title: fmt.Sprintf("%s is removed from %q %s", from.ID, from.Shelf, from.Score),
		send: func(store *rdb.Store) (any, error) {
			return store.Execute(background, []rdb.Order{store.Remove(from, ending)})
		},
		execute: func() any {
			e := ending
			e.ID, e.Queue = from.ID, from.Queue
			answer := m.end(t, modelPlace{shelf: from.Shelf, score: from.Score}, e)
			if answer == "ended" || answer == "roomy" {
				answer = string(rdb.AnswerDone)
			}
			return []rdb.OrderResult{{Answer: rdb.Answer(answer)}}
		},
	})
}

// resumeAll gives what is stalled back to its queues.
func (m *machine) resumeAll(t *rapid.T) {
	for _, id := range m.order(rdb.ShelfStalled) {
		score := strconv.FormatInt(m.shelves[rdb.ShelfStalled][id], 10)
		from := rdb.JobPlace{ID: id, Queue: m.jobs[id].queue, Shelf: rdb.ShelfStalled, Score: score}
		m.moveJob(t, from, rdb.Destination{})
	}
}
