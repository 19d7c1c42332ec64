package rdb_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// lookUp has all ids that there were looked for, and compares the answers with the model.
func (m *machine) lookUp(t *rapid.T) {
	ids := slices.Collect(maps.Keys(m.acknowledged))
	for id := range m.jobs {
		if !m.acknowledged[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if ids = ids[:min(len(ids), rdb.MaxLookup)]; len(ids) == 0 {
		t.Skip("there are no jobs")
	}
	queues := map[string]string{}
	for _, job := range m.jobs {
		queues[job.record] = job.queue
	}
	nameOf := func(record []byte) string { return queues[string(record)] }
	now := m.site.now(t).UnixMilli()
	found, err := rdb.NewStore(m.site.driver, m.site.namespace).Lookup(background, ids, nameOf)
	require.NoError(t, err)
	for i, id := range ids {
		require.NoError(t, found[i].Err, id)
		found[i].Time = time.Time{}
		if found[i].Waits.Rate > 0 { // it was less a moment ago
			found[i].Waits.Rate = time.Duration(math.Ceil(found[i].Waits.Rate.Seconds()/5)) * 5 * time.Second
		}
		claim := found[i].Claim
		found[i].Crashes = withoutTimes(found[i].Crashes)
		_, found[i].Said, _ = strings.Cut(found[i].Said, " ")
		found[i].Claim = rdb.Holding{}
		require.Equal(t, m.whereabouts(id, now), found[i], id)
		if c, held := m.claimed[id]; held && m.jobs[id] != nil {
			require.Equal(t, c, modelClaim{claim.Worker, claim.Element(), claim.Queue}, id)
		}
	}
	m.logf(t, "%d jobs are looked up", len(ids))
}

// whereabouts is what a lookup should say of a job, without its claim.
func (m *machine) whereabouts(id string, now int64) rdb.Found {
	f := rdb.Found{ID: id, Where: rdb.WhereGone}
	if kept, ok := m.outcomes[id]; ok {
		f.Where, f.Outcome = rdb.WhereEnded, []byte(kept.text)
	}
	job := m.jobs[id]
	if job == nil {
		f.Details = m.detailsOf(id)
		return f
	}
	f.Flagged = m.cancelled[id]
	f.Record, f.Trail, f.Crashes = []byte(job.record), bytesOrNil(job.trail), strings.Join(job.crashes, " ")
	if c, held := m.claimed[id]; held {
		f.Where, f.Queue, f.Alive = rdb.WhereClaimed, c.queue, m.alive(c.worker, now)
		f.Said = m.running[c.worker][id]
		return f
	}
	for shelf, ids := range m.shelves {
		if due, there := ids[id]; there {
			f.Where, f.Queue, f.Due = rdb.Where(shelf), job.queue, millisTime(due)
			return f
		}
	}
	f.Where, f.Waits = rdb.WhereQueue, rdb.Waits{
		Before: slices.Index(m.queues[job.queue], id), Rule: m.rules[job.queue].Text(),
		Running: len(m.counted[job.queue]),
	}
	_, f.Waits.All = m.rules[rdb.Everything]
	if _, wait, _ := m.room(job.queue, now); wait > 0 {
		f.Waits.Rate = time.Duration(math.Ceil((wait-2)/5000)) * 5 * time.Second // this clock tells whole ms
	}
	for worker := range m.workers {
		f.Waits.Served = f.Waits.Served || slices.Contains(m.serves[worker], job.queue)
	}
	return f
}
