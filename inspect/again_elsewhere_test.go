package inspect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redistest"
)

// change puts the next map into force in all partitions.
func (d *divided) change(how func(m *partition.Map)) {
	d.T.Helper()
	directory := partition.NewDirectory(d.outages.Driver, d.Namespace)
	require.NoError(d.T, directory.Refresh(d.Ctx()))
	m := directory.Map().Clone()
	m.Version++
	how(m)
	for i := range m.Len() {
		_, err := directory.Store(i).WriteMap(d.Ctx(), m.Version, m.Encode(), -1)
		require.NoError(d.T, err)
	}
}

// endedDivided is a namespace that knows of a job which has ended in each partition, and an Inspector that knows its
// map.
func endedDivided(t *testing.T, s redistest.Server) (d *divided, over [parts]string) {
	d = newDivided(t, s, func(n int, k *kit) {
		full(n, k)
		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDiscarded, Name: "a"})
		require.NoError(k.T, err)
		over[n] = page.Jobs[0].ID
	})
	_, err := d.i.Job(d.Ctx(), over[2])
	require.NoError(t, err)
	return d, over
}

// records is how many jobs live in all partitions.
func (d *divided) records() (n int) {
	for i := range parts {
		n += d.parts[i].Number("HLEN", "jobs")
	}
	return n
}

// What is kept of a job stays where it ended. One like it that belongs elsewhere by now, or to a partition that gets
// nothing new, is not stored beside it: who wants it is told where both are. The Inspector knows an older map.
func TestAJobThatBelongsElsewhereByNowIsNotEnqueuedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, over := endedDivided(t, s)
		before, bucket := d.records(), partition.BucketOfName("a")
		d.change(func(m *partition.Map) { m.Bound, m.Buckets[bucket] = []string{"a"}, 1 })
		_, err := d.i.EnqueueAgain(d.Ctx(), over[2])
		require.ErrorContains(t, err, "is in partition 2, and one like it now belongs into partition 1")
		assert.Equal(t, before, d.records(), "nothing is stored")
		again, err := d.i.EnqueueAgain(d.Ctx(), over[1])
		require.NoError(t, err, "that one belongs where it is")
		job, err := d.i.Job(d.Ctx(), again.ID)
		require.NoError(t, err)
		assert.Equal(t, 1, job.Partition)

		d, over = endedDivided(t, s)
		before = d.records()
		d.change(func(m *partition.Map) { m.States[2] = partition.Draining })
		_, err = d.i.EnqueueAgain(d.Ctx(), over[2])
		require.ErrorContains(t, err, "draining")
		assert.Equal(t, before, d.records())
	})
}
