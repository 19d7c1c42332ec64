package rdb_test

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// awaitSome has somebody begin to wait for jobs: some that live, some that have ended, one that never was.
func (m *machine) awaitSome(t *rapid.T) {
	known := slices.Sorted(maps.Keys(m.acknowledged))
	ids := []string{"nobody"}
	for range min(len(known), 3) {
		if id := rapid.SampledFrom(known).Draw(t, "id"); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	answers, err := rdb.NewStore(m.site.driver, m.site.namespace).Await(background, ids, time.Hour)
	require.NoError(t, err)
	for i, id := range ids {
		want := m.fate(id)
		require.Equal(t, want, answers[i], id)
		delete(m.waited, id)
		if want.State == rdb.WaitPending {
			m.waited[id] = true
		}
	}
	m.logf(t, "somebody waits for %v", ids)
}

// fate is what those who wait for a job should be told.
func (m *model) fate(id string) rdb.Awaited {
	job := m.jobs[id]
	if kept, ok := m.outcomes[id]; ok && (job == nil || m.cancelled[id]) {
		return rdb.Awaited{State: rdb.WaitEnded, Kept: []byte(kept.text)}
	}
	if job == nil {
		return rdb.Awaited{State: rdb.WaitGone}
	}
	if _, buried := m.shelves[rdb.ShelfMorgue][id]; buried {
		return rdb.Awaited{State: rdb.WaitDead, Kept: bytesOrNil(job.trail)}
	}
	return rdb.Awaited{State: rdb.WaitPending}
}

// withOutcomes are new intents for the jobs that somebody waits for, whose outcomes were not sent along, and for those
// that are to end as cancelled.
func (m *machine) withOutcomes(t *rapid.T, a *actor, answers []rdb.Settled) (again []intent) {
	for _, answer := range answers {
		for _, element := range answer.Waited {
			if job, held := a.held[element]; held {
				again = append(again, m.endingOne(t, a.id, job, "done", 5*time.Second))
			}
		}
		for _, element := range answer.Cancelled {
			if job, held := a.held[element]; held {
				again = append(again, m.endingOne(t, a.id, job, "cancelled", 5*time.Second))
			}
		}
	}
	return again
}
