package rdb_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// fetched has Redis' answer to a fetch happen to the model: each job must be one that may come next of its queue.
func (m *keyedMachine) fetched(t *rapid.T, worker string, queue string, jobs []rdb.FetchedJob) {
	q := m.queues[queue]
	for _, job := range jobs {
		j := m.jobs[job.ID]
		require.NotNil(t, j, "%s has ended, and was fetched", job.ID)
		require.True(t, j.waits() && j.queue == queue, "%s was fetched and does not wait in %s", job.ID, queue)
		require.Equal(t, j.record, string(job.Record))
		require.Equal(t, j.flagged, job.Cancelled)
		require.True(t, m.mayBegin(job.ID), "%s of %q begins: %d places are taken of %d", job.ID, j.key,
			m.held(queue, j.key), q.most(j.key))
		if at := slices.Index(q.list, job.ID); at >= 0 {
			q.list = slices.Delete(q.list, at, at+1)
		} else {
			line := q.lines[j.key]
			at := slices.Index(line, job.ID)
			for _, before := range line[:at] {
				// of a key without a rule nobody knows that some are parked, until they are given their places
				open := j.aside && m.jobs[before].aside || q.mixed[j.key]
				require.True(t, open, "%s of %q was fetched before %s", job.ID, j.key, before)
			}
			q.lines[j.key] = slices.Delete(line, at, at+1)
		}
		j.worker, j.element, j.holds, j.aside = worker, job.Element, j.key != "", false
	}
	m.passOver(t, q)
}

// passOver has those of the list of a queue wait first of their keys that Redis has put there: their keys had no room.
func (m *keyedMachine) passOver(t *rapid.T, q *keyedQueue) {
	left := m.site.list(t, "queue:"+q.name)
	for _, id := range slices.Backward(slices.Clone(q.list)) {
		if !slices.Contains(left, id) {
			m.putAside(t, q, id)
		}
	}
}

// putAside moves a job from the list to the front of its line, behind those that have a place.
func (m *keyedMachine) putAside(t *rapid.T, q *keyedQueue, id string) {
	j := m.jobs[id]
	require.False(t, m.mayBegin(id), "%s may begin, and was passed over", id)
	q.list = slices.DeleteFunc(q.list, func(other string) bool { return other == id })
	j.holds, j.aside = false, true
	q.lines[j.key] = slices.Insert(q.lines[j.key], m.holdersIn(q.lines[j.key]), id)
}

// exhausted checks that of a queue which gave less than was wanted nothing is left that may begin.
func (m *keyedMachine) exhausted(t *rapid.T, q *keyedQueue) {
	require.Empty(t, q.list, "the list of %s", q.name)
	for key, line := range q.lines {
		left := len(line) > 0 && !q.ungranted[key] && m.mayBegin(line[0])
		require.False(t, left, "%v of %q may begin, and were not fetched", line, key)
	}
}
