package intake

import (
	"cmp"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Share has a job that is about to be stored wait where the map says that jobs of its name do: in a queue that this
// shares with others, or in its own. The record says so as well. It may be changed again as long as the job was not
// stored: by a map that was read since.
func Share(m *partition.Map, job *rdb.NewJob) {
	if len(m.Queues) == 0 && job.Own == "" {
		return
	}
	name, before := job.Name(), ""
	if job.Own != "" {
		before = needs.Name(job.Queue)
	}
	queue := m.QueueOf(name)
	if queue == before {
		return
	}
	job.Record = record.InQueue(job.Record, before, queue)
	job.Queue, job.Own = needs.Queue(cmp.Or(queue, name), needs.Of(job.Queue)), ""
	if queue != "" {
		job.Own = name
	}
}

// share does so for all jobs of a delivery.
func (d *delivery) share(m *partition.Map) {
	for i := range d.jobs {
		Share(m, &d.jobs[i])
	}
}
