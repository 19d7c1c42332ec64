package report

import (
	"cmp"
	"slices"

	"github.com/265d0351/work/bench/contest"
	"github.com/265d0351/work/bench/scenario"
)

// budget is a promise about one figure: how it compares with that of another library, or of this one in another
// scenario, or with a number.
type budget struct {
	scenario, metric string
	against          string // another library; "" is a number
	baseline         string // another scenario of this library, whose same figure is compared with
	bound            float64
	most             bool // bound is the most that is allowed, else the least
}

const (
	rate     = "jobs"
	storeCPU = "CPU of the store per job"
)

// budgets are those that the project has set itself, for two cores that the store and the program share.
var budgets = []budget{
	{scenario: "process, concurrency 20, 10 queues", metric: rate, against: "asynq", bound: 12},
	{scenario: "process, concurrency 20, 10 queues", metric: rate, against: "gocraft", bound: 5},
	{scenario: "process, concurrency 20, 10 queues", metric: storeCPU, against: "asynq", bound: 0.1, most: true},
	{scenario: "process, concurrency 20, 10 queues", metric: "allocations per job", bound: 15, most: true},
	{scenario: "process, concurrency 200, 10 queues", metric: rate, against: "asynq", bound: 12},
	{scenario: "process, concurrency 200, 10 queues", metric: storeCPU, against: "asynq", bound: 1.0 / 7, most: true},
	{scenario: "process, concurrency 200, 10 queues", metric: rate, baseline: "ceiling, batches of 200, 10 queues",
		bound: 0.9},
	{scenario: "process, concurrency 20, 100 queues", metric: rate, baseline: "process, concurrency 20, 10 queues",
		bound: 0.7},
	{scenario: "process, concurrency 20, 1,000 queues", metric: rate, baseline: "process, concurrency 20, 10 queues",
		bound: 0.7},
	{scenario: "process, concurrency 20, 10 queues, jobs of 1ms", metric: scenario.Share, bound: 0.85},
	{scenario: "process, concurrency 200, 10 queues, jobs of 20ms", metric: scenario.Share, bound: 0.95},
	{scenario: "process, concurrency 20, 10 queues, args of 1 kB", metric: rate, against: "asynq", bound: 8},
	{scenario: "process, concurrency 20, 10 queues, args of 100 kB", metric: rate, against: "asynq", bound: 3},
	{scenario: "enqueue, 1 caller", metric: rate, against: "asynq", bound: 1.05},
	{scenario: "enqueue, 1 caller", metric: "allocations per job", bound: 10, most: true},
	{scenario: "enqueue, 16 callers", metric: rate, against: "asynq", bound: 4},
	{scenario: "enqueue, 128 callers", metric: rate, against: "asynq", bound: 8},
	{scenario: "enqueue in bulk", metric: rate, against: "River", bound: 6},
	{scenario: "idle pick-up", metric: "median, in round trips", bound: 3, most: true},
	{scenario: "lateness of scheduled jobs", metric: "p99, in round trips", bound: 30, most: true},
	{scenario: "start and stop", metric: "start to first job", against: "asynq", bound: 1 / 1.5, most: true},
	{scenario: "memory", metric: "bytes per waiting job", bound: 260, most: true},
	{scenario: "10 idle workers", metric: "requests per second and worker", bound: 5, most: true},
	{scenario: "100 idle workers", metric: "requests per second and worker", bound: 5, most: true},
	{scenario: "10 idle workers", metric: "fetches with a job, 100 single enqueues", bound: 100, most: true},
	{scenario: "10 idle workers", metric: "fetches without a job, 100 single enqueues", bound: 5, most: true},
	{scenario: "100 idle workers", metric: "fetches without a job, 100 single enqueues", bound: 5, most: true},
}

// budgets compares what was measured with what was promised, as far as both sides were measured.
func (r *Report) budgets() *table {
	t := &table{left: 3, rows: [][]string{{"budget", "figure", "against", "wanted", "measured", "holds"}}}
	if len(r.Libraries) == 0 {
		return t
	}
	for _, b := range budgets {
		value, ok := r.measured(b)
		if !ok {
			continue
		}
		holds, sign := "no", "at least "
		if b.most {
			sign = "at most "
		}
		if b.most && value <= b.bound || !b.most && value >= b.bound {
			holds = "yes"
		}
		wanted, against := number(b.bound), cmp.Or(b.against, b.baseline)
		if against != "" {
			wanted += " x"
		}
		t.rows = append(t.rows, []string{b.scenario, b.metric, against, sign + wanted, number(value), holds})
	}
	return t
}

func (r *Report) measured(b budget) (float64, bool) {
	own := r.Libraries[0].Name
	value, ok := r.find(b.scenario, b.metric, own)
	if !ok || b.against == "" && b.baseline == "" {
		return value, ok
	}
	other := b.against
	in := b.scenario
	if b.baseline != "" {
		other, in = own, b.baseline
	}
	base, ok := r.find(in, b.metric, other)
	if !ok || base == 0 {
		return 0, false
	}
	return value / base, true
}

func (r *Report) find(scenario, metric, library string) (float64, bool) {
	i := slices.IndexFunc(r.Rows, func(row contest.Row) bool {
		return row.Scenario == scenario &&
			row.Metric == metric
	})
	if i < 0 {
		return 0, false
	}
	return r.Rows[i].Median(library)
}
