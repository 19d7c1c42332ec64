package report

import "strings"

// growth is a figure at a small and at a large point of one thing that programs have more and more of.
type growth struct {
	of, metric string
	from, to   place
}

// place is where a figure stands in the rows, and what it stands for. metric is empty where it has the name that the
// growth has.
type place struct{ label, scenario, metric string }

// growths tell how cost grows. Each end is a scenario of the table, so nothing is measured for them alone.
var growths = []growth{
	{"queues with jobs", rate, place{"1", "process, concurrency 20, 1 queue", ""},
		place{"10", "process, concurrency 20, 10 queues", ""}},
	{"queues with jobs", rate, place{"10", "process, concurrency 20, 10 queues", ""},
		place{"100", "process, concurrency 20, 100 queues", ""}},
	{"queues with jobs", rate, place{"10", "process, concurrency 20, 10 queues", ""},
		place{"1,000", "process, concurrency 20, 1,000 queues", ""}},
	{"queues with jobs", storeCPU, place{"10", "process, concurrency 20, 10 queues", ""},
		place{"100", "process, concurrency 20, 100 queues", ""}},
	{"queues with jobs", storeCPU, place{"10", "process, concurrency 200, 10 queues", ""},
		place{"100", "process, concurrency 200, 100 queues", ""}},
	{"names without jobs", rate, place{"0", "process, concurrency 20, 1 queue", ""},
		place{"999", "process, concurrency 20, 1 queue of 1,000 names", ""}},
	{"names without jobs", storeCPU, place{"0", "process, concurrency 20, 1 queue", ""},
		place{"999", "process, concurrency 20, 1 queue of 1,000 names", ""}},
	{"backlog", "enqueue", place{"empty", "backlog", "enqueue in bulk, first tenth"},
		place{"full", "backlog", "enqueue in bulk, last tenth"}},
	{"backlog", "process", place{"empty", "backlog", "process, last tenth"},
		place{"full", "backlog", "process, first tenth"}},
	{"concurrency", rate, place{"20", "process, concurrency 20, 10 queues", ""},
		place{"200", "process, concurrency 200, 10 queues", ""}},
	{"concurrency", storeCPU, place{"20", "process, concurrency 20, 10 queues", ""},
		place{"200", "process, concurrency 200, 10 queues", ""}},
	{"concurrency, idle", "goroutines", place{"20", "idle pool, concurrency 20", ""},
		place{"10,000", "idle pool, concurrency 10,000", ""}},
	{"concurrency, idle", "memory of the program", place{"20", "idle pool, concurrency 20", ""},
		place{"10,000", "idle pool, concurrency 10,000", ""}},
	{"concurrency, idle", "requests per second", place{"20", "idle pool, concurrency 20", ""},
		place{"10,000", "idle pool, concurrency 10,000", ""}},
	{"payload", rate, place{"none", "process, concurrency 20, 10 queues", ""},
		place{"1 kB", "process, concurrency 20, 10 queues, args of 1 kB", ""}},
	{"payload", rate, place{"1 kB", "process, concurrency 20, 10 queues, args of 1 kB", ""},
		place{"100 kB", "process, concurrency 20, 10 queues, args of 100 kB", ""}},
	{"payload", storeCPU, place{"1 kB", "process, concurrency 20, 10 queues, args of 1 kB", ""},
		place{"100 kB", "process, concurrency 20, 10 queues, args of 100 kB", ""}},
	{"callers of an enqueuer", rate, place{"1", "enqueue, 1 caller", ""}, place{"128", "enqueue, 128 callers", ""}},
	{"idle workers", "requests per second and worker", place{"10", "10 idle workers", ""},
		place{"100", "100 idle workers", ""}},
}

// growth shows both ends of the first library, and for each library how many times the one is the other.
func (r *Report) growth() *table {
	head := []string{"what grows", "from", "to", "figure", "from", "to"}
	for _, lib := range r.Libraries {
		head = append(head, "times, "+lib.Name)
	}
	t := &table{left: 4, rows: [][]string{head}}
	if len(r.Libraries) == 0 {
		return t
	}
	for _, g := range growths {
		from, to, ok := r.ends(g, r.Libraries[0].Name)
		if !ok {
			continue
		}
		cells := []string{g.of, g.from.label, g.to.label, strings.TrimSuffix(g.metric+", "+r.unit(g), ", "),
			number(from), number(to)}
		for _, lib := range r.Libraries {
			cells = append(cells, r.times(g, lib.Name))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func (r *Report) ends(g growth, library string) (from, to float64, ok bool) {
	from, low := r.find(g.from.scenario, g.metricAt(g.from), library)
	to, high := r.find(g.to.scenario, g.metricAt(g.to), library)
	return from, to, low && high
}

func (r *Report) times(g growth, library string) string {
	from, to, ok := r.ends(g, library)
	if !ok || from <= 0 {
		return "-"
	}
	return number(to / from)
}

func (r *Report) unit(g growth) string {
	for _, row := range r.Rows {
		if row.Scenario == g.from.scenario && row.Metric == g.metricAt(g.from) {
			return row.Unit
		}
	}
	return ""
}

func (g growth) metricAt(p place) string {
	if p.metric != "" {
		return p.metric
	}
	return g.metric
}
