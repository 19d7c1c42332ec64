package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/inspect"
)

func TestPartitionsHaveSeriesAndTheRestIsCountedWithoutThoseThatAreDown(t *testing.T) {
	t.Parallel()
	fleet := &fakeFleet{counts: inspect.Counts{Queued: 7}, partitions: []inspect.PartitionInfo{
		{Partition: 0, Counts: inspect.Counts{Queued: 7}}, {Partition: 1, Problem: errLuck}},
		partial: &inspect.PartialError{Asked: 2, Missing: []inspect.MissingPartition{{Partition: 1, Err: errLuck}}}}
	page := newSite(t, newFleet(fleet, FleetOptions{Logger: quiet})).scrape()
	page.is(1, "work_fleet_up")
	page.is(7, "work_fleet_jobs", "state", "queued")
	page.is(1, "work_partition_up", "partition", "0")
	page.is(0, "work_partition_up", "partition", "1")
	page.is(7, "work_partition_waiting_jobs", "partition", "0")
	assert.Len(t, page.families["work_partition_waiting_jobs"].GetMetric(), 1)

	page = newSite(t, newFleet(&fakeFleet{}, FleetOptions{Logger: quiet})).scrape()
	assert.Nil(t, page.families["work_partition_up"], "there is but one")
}
