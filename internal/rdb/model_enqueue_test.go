package rdb_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// enqueuer is one lane: it has one call outstanding, and sends that again until it is answered or given up.
type enqueuer struct {
	lane   string
	number int64
	jobs   []rdb.NewJob // of the call that is outstanding
}

// enqueued is an answer without its time.
type enqueued struct {
	stale    bool
	problems map[int]rdb.Problem
	owners   map[int]string // of the locks that kept jobs out
}

func (m *machine) enqueue(t *rapid.T) {
	e := m.enqueuers[rapid.IntRange(0, len(m.enqueuers)-1).Draw(t, "lane")]
	if len(e.jobs) > 0 && rapid.Bool().Draw(t, "give up") {
		m.logf(t, "%s gives call %d up", e.lane, e.number)
		e.jobs = nil
	}
	if len(e.jobs) == 0 {
		e.number++
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			e.jobs = append(e.jobs, m.newJob(t))
		}
	}
	jobs := e.jobs
	answer, ok := m.request(t, m.enqueuing(t, e.lane, e.number, jobs))
	if !ok {
		return
	}
	e.jobs = nil
	got := answer.(enqueued)
	require.False(t, got.stale, "the newest call of its lane")
	for i := range jobs {
		if got.problems[i] == "" {
			m.acknowledged[jobs[i].ID] = true
		}
	}
}

func (m *machine) newJob(t *rapid.T) rdb.NewJob {
	j := rdb.NewJob{
		Queue: rapid.SampledFrom(modelQueues).Draw(t, "queue"),
		Place: rapid.SampledFrom([]rdb.Place{rdb.Back, rdb.Back, rdb.Back, rdb.Front, rdb.In, rdb.At}).Draw(t, "place"),
	}
	if j.Chosen = rapid.IntRange(0, 3).Draw(t, "chosen") == 0; j.Chosen {
		j.ID = rapid.SampledFrom([]string{"mine", "yours"}).Draw(t, "id")
		j.Place = rapid.SampledFrom([]rdb.Place{j.Place, rdb.In}).Draw(t, "place of a chosen one")
	} else {
		j.ID = m.name("j")
	}
	switch j.Place {
	case rdb.In:
		j.When = delay(t).Milliseconds()
	case rdb.At:
		j.When = m.site.now(t).Add(delay(t) - 10*time.Second).UnixMilli() // some are past
	}
	if rapid.IntRange(0, 2).Draw(t, "unique") == 0 {
		j.Lock = drawLock(t)
	}
	j.Record = newRecord(j, "")
	return j
}

func (m *machine) enqueuing(t *rapid.T, lane string, number int64, jobs []rdb.NewJob) step {
	var titles []string
	for _, j := range jobs {
		titles = append(titles, fmt.Sprintf("%s %s %s %d %s", j.Queue, j.ID, j.Place, j.When,
			j.Lock.Digest+string(j.Lock.Kind)))
	}
	return step{
		lane: lane, number: number,
		title: fmt.Sprintf("%s enqueues %d: %s", lane, number, strings.Join(titles, ", ")),
		send: func(store *rdb.Store) (any, error) {
			answer, err := store.Enqueue(background, lane, number, jobs)
			var refused *redisconn.ServerError
			if errors.As(err, &refused) && refused.Code == "STALE" {
				return enqueued{stale: true}, nil
			}
			return enqueued{problems: answer.Problems, owners: answer.Owners}, err
		},
		execute: func() any {
			last := m.lanes[lane]
			if number < last.number {
				return enqueued{stale: true}
			}
			if number > last.number {
				used := m.learnLane(t, lane)
				problems, owners := m.store(t, jobs)
				m.lanes[lane] = modelLane{number, used, problems, owners}
			}
			return enqueued{problems: m.lanes[lane].problems, owners: m.lanes[lane].owners}
		},
	}
}

// asSent is the order in which a call describes its jobs: those of a queue that go to one place together. Among queues
// it decides which of those come first that are due in the same ms; within each the order is that of the jobs.
func asSent(jobs []rdb.NewJob) (order []int) {
	var groups [][]int
	open := map[string]int{}
	special := func(j rdb.NewJob) bool { return j.Chosen || j.Lock.Digest != "" || len(j.Objects) > 0 }
	for i, j := range jobs {
		if at, known := open[j.Queue]; known {
			last := jobs[groups[at][len(groups[at])-1]]
			timed := j.Place == rdb.In || j.Place == rdb.At
			if j.Place == last.Place && !special(j) && !special(last) && (!timed || last.ID < j.ID) {
				groups[at] = append(groups[at], i)
				continue
			}
		}
		groups, open[j.Queue] = append(groups, []int{i}), len(groups)
	}
	return slices.Concat(groups...)
}

// store puts new jobs in their places.
func (m *machine) store(t *rapid.T, jobs []rdb.NewJob) (problems map[int]rdb.Problem, owners map[int]string) {
	refuse := func(i int, why rdb.Problem) {
		if problems == nil {
			problems, owners = map[int]rdb.Problem{}, map[int]string{}
		}
		problems[i] = why
	}
	var later []timedJob
	for _, i := range asSent(jobs) {
		j := jobs[i]
		if j.Chosen && m.jobs[j.ID] != nil {
			refuse(i, rdb.Duplicate)
			continue
		}
		if owner, refused := m.admit(j, m.before); refused {
			refuse(i, rdb.Unique)
			owners[i] = owner
			continue
		}
		m.lock(t, j)
		m.jobs[j.ID] = &modelJob{queue: j.Queue, record: string(j.Record)}
		delete(m.ended, j.ID)
		if j.Chosen {
			delete(m.outcomes, j.ID)
		}
		switch {
		case j.Place == rdb.Front:
			m.queues[j.Queue] = append([]string{j.ID}, m.queues[j.Queue]...)
		case j.Place == rdb.In:
			due := m.learn(t, "scheduled", j.ID, time.Duration(j.When)*time.Millisecond)
			later = append(later, timedJob{i, j.ID, due})
		case j.Place == rdb.At && j.When > m.before:
			later = append(later, timedJob{i, j.ID, j.When})
		default:
			m.queues[j.Queue] = append(m.queues[j.Queue], j.ID)
		}
	}
	m.schedule(later, jobs)
	return problems, owners
}

// timedJob is the i-th of a call, which is due later.
type timedJob struct {
	i   int
	id  string
	due int64
}

// schedule puts jobs on their shelf in the order of the call's groups, but for those that Redis sorts by their ids
// itself: of a call in which ids ascend, at a ms that nothing else is due at.
func (m *machine) schedule(later []timedJob, jobs []rdb.NewJob) {
	last, ascend := "", true
	for _, j := range jobs {
		if j.Place == rdb.In || j.Place == rdb.At {
			last, ascend = j.ID, ascend && j.ID > last
		}
	}
	taken := map[int64]bool{}
	for _, due := range m.shelves[rdb.ShelfScheduled] {
		taken[due] = true
	}
	slices.SortStableFunc(later, func(a, b timedJob) int {
		if a.due != b.due || !ascend || taken[a.due] {
			return cmp.Compare(a.due, b.due)
		}
		return cmp.Compare(a.i, b.i)
	})
	for _, j := range later {
		m.shelve(rdb.ShelfScheduled, j.id, j.due)
	}
}
