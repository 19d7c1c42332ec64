package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work/inspect"
)

var (
	descPartitionUp = describe("work_partition_up",
		"Whether the partition could be asked (1) or not (0). None where there is one.", "partition")
	descPartitionWaiting = describe("work_partition_waiting_jobs",
		"Jobs that wait for a worker in the partition, where it could be asked.", "partition")
)

// partitionRows are which partitions answer, and how much waits in each. All else is of all together.
func partitionRows(partitions []inspect.PartitionInfo) (rows []prometheus.Metric) {
	for n := range partitions {
		p := &partitions[n]
		label := strconv.Itoa(p.Partition)
		if p.Problem != nil {
			rows = append(rows, gauge(descPartitionUp, 0, label))
			continue
		}
		rows = append(rows, gauge(descPartitionUp, 1, label),
			gauge(descPartitionWaiting, float64(p.Counts.Queued), label))
	}
	return rows
}
