package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// The families of a fleet.
var (
	fleetDescs []*prometheus.Desc

	descUp          = describe("work_fleet_up", "Whether the last reading of Redis succeeded (1) or not (0).")
	descReadSeconds = describe("work_fleet_read_seconds", "How long this reading of Redis took, in seconds.")
	descReadErrors  = describe("work_fleet_read_errors_total", "Readings of Redis that failed.")

	descJobs    = describe("work_fleet_jobs", "Jobs that there are, by state.", "state")
	descWorkers = describe("work_fleet_workers",
		"Workers that are registered, alive or silent (without a heartbeat).", "state")
	descProcessors = describe("work_fleet_processors", "Processors of workers that are alive, those of a pool once.")
	descBusy       = describe("work_fleet_processors_busy", "Those of them that hold a job.")

	descLoad = describe("work_fleet_load",
		"Processors that were busy on average over the last minutes: window is 1m, 5m or 15m.", "window")

	descWaiting = describe("work_queue_waiting_jobs", "Jobs that wait for a worker.", "name")
	descParked  = describe("work_queue_parked_jobs", "Jobs of those that their keys have no room for.", "name")
	descKeys    = describe("work_queue_keys", "Keys with jobs that wait for their turn, about.", "name")
	descOldest  = describe("work_queue_oldest_waiting_seconds",
		"For how long the job that is next could have run, in seconds.", "name")
	descRunning = describe("work_queue_running_jobs", "Jobs that are claimed by workers.", "name")
	descServing = describe("work_queue_workers", "Workers with a heartbeat that serve the queue.", "name")
	descPaused  = describe("work_queue_paused", "Whether the queue is paused (1) or not (0).", "name")
	descBroken  = describe("work_queue_broken", "Whether the key of the queue is broken (1) or not (0).", "name")
	descWanted  = describe("work_queue_processors_wanted",
		"Processors that would run what runs and begin what waits within the target.", "name")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	desc := prometheus.NewDesc(name, help, labels, nil)
	fleetDescs = append(fleetDescs, desc)
	return desc
}

func gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// census is what there is of the namespace as a whole.
func census(counts *inspect.Counts, workers []inspect.WorkerInfo) []prometheus.Metric {
	alive, silent := 0, 0
	for n := range workers {
		if workers[n].Alive {
			alive++
		} else {
			silent++
		}
	}
	processors := inspect.TotalProcessors(workers)
	rows := []prometheus.Metric{
		gauge(descWorkers, float64(alive), "alive"), gauge(descWorkers, float64(silent), "silent"),
		gauge(descProcessors, float64(processors.Total)), gauge(descBusy, float64(processors.Busy)),
	}
	load := inspect.TotalLoad(workers)
	rows = append(rows, gauge(descLoad, load.One, "1m"), gauge(descLoad, load.Five, "5m"),
		gauge(descLoad, load.Fifteen, "15m"))
	for _, c := range []struct {
		state work.State
		jobs  int
	}{
		{work.StateQueued, counts.Queued}, {work.StateRunning, counts.Running}, {work.StateScheduled, counts.Scheduled},
		{work.StateRetrying, counts.Retrying}, {work.StateStalled, counts.Stalled}, {work.StateDead, counts.Dead},
	} {
		rows = append(rows, gauge(descJobs, float64(c.jobs), string(c.state)))
	}
	return rows
}

// table has a row for each label: one queue, or all that have no label of their own.
type table struct {
	names *names
	rows  map[string]*row
}

type row struct {
	waiting, running, workers int
	parked, keys              int
	oldest                    time.Duration
	paused, broken            int // queues
	wanted                    float64
}

// tabulate gives queues their labels, and adds up those that share one. How many workers serve any of those is not
// known: it is the number of the one that most do.
func (f *fleet) tabulate(queues []inspect.QueueInfo, now time.Time) *table {
	f.allot(queues)
	t := &table{names: &f.names, rows: map[string]*row{}}
	for n := range queues {
		q, r := &queues[n], t.of(queues[n].Name)
		r.waiting += q.Waiting
		r.parked += q.Parked
		r.keys += q.Keys
		r.running += q.Running
		r.workers = max(r.workers, q.Workers)
		if !q.Oldest.IsZero() {
			r.oldest = max(r.oldest, now.Sub(q.Oldest))
		}
		if q.Paused {
			r.paused++
		}
		if q.Problem != "" {
			r.broken++
		}
	}
	return t
}

// allot gives labels of their own to queues as long as there are any left. Only one reading runs at a time.
func (f *fleet) allot(queues []inspect.QueueInfo) {
	exists := make(map[string]bool, len(queues))
	first := make([]*inspect.QueueInfo, len(queues))
	for n := range queues {
		exists[queues[n].Name] = true
		first[n] = &queues[n]
	}
	f.names.keep(exists)
	slices.SortFunc(first, func(a, b *inspect.QueueInfo) int {
		return cmp.Or(cmp.Compare(min(b.Workers, 1), min(a.Workers, 1)), cmp.Compare(b.Waiting, a.Waiting),
			strings.Compare(a.Name, b.Name))
	})
	for _, q := range first {
		f.names.admit(q.Name)
	}
}

func (t *table) of(name string) *row {
	key := Other
	if t.names.known[name] {
		key = label(name)
	}
	if t.rows[key] == nil {
		t.rows[key] = &row{}
	}
	return t.rows[key]
}

func (t *table) metrics() []prometheus.Metric {
	var all []prometheus.Metric
	for name, r := range t.rows {
		all = append(all,
			gauge(descWaiting, float64(r.waiting), name), gauge(descOldest, r.oldest.Seconds(), name),
			gauge(descParked, float64(r.parked), name), gauge(descKeys, float64(r.keys), name),
			gauge(descRunning, float64(r.running), name), gauge(descServing, float64(r.workers), name),
			gauge(descPaused, float64(r.paused), name), gauge(descBroken, float64(r.broken), name),
			gauge(descWanted, r.wanted, name))
	}
	return all
}
