package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/contest"
	"github.com/265d0351/work/bench/scenario"
)

func TestGrowthIsMeasuredByScenariosThatThereAre(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range scenario.All() {
		names[s.Name] = true
	}
	for _, g := range growths {
		assert.True(t, names[g.from.scenario], g.from.scenario)
		assert.True(t, names[g.to.scenario], g.to.scenario)
	}
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	row := func(scenario, metric, unit string, samples map[string][]float64) contest.Row {
		return contest.Row{Scenario: scenario, Metric: metric, Unit: unit, Samples: samples}
	}
	r := &Report{
		Libraries: []Library{{Name: "work"}, {Name: "asynq"}, {Name: "River"}},
		Rows: []contest.Row{
			row("backlog", "process, first tenth", "/s", map[string][]float64{"work": {100}, "asynq": {50}}),
			row("backlog", "process, last tenth", "/s", map[string][]float64{"work": {80}, "asynq": {100}}),
			row("idle pool, concurrency 20", "goroutines", "",
				map[string][]float64{"work": {0}, "asynq": {10}, "River": {4}}),
			row("idle pool, concurrency 10,000", "goroutines", "", map[string][]float64{"work": {500}, "asynq": {10}}),
			row("10 idle workers", "requests per second and worker", "", map[string][]float64{"asynq": {3}}),
			row("100 idle workers", "requests per second and worker", "",
				map[string][]float64{"work": {3}, "asynq": {3}}),
		},
	}
	table := r.growth().rows
	require.Len(t, table, 3, "what has one end only is left out")
	assert.Equal(t, []string{"what grows", "from", "to", "figure", "from", "to", "times, work", "times, asynq",
		"times, River"}, table[0])
	assert.Equal(t, []string{"backlog", "empty", "full", "process, /s", "80", "100", "1.25", "0.5", "-"}, table[1])
	assert.Equal(t, []string{"concurrency, idle", "20", "10,000", "goroutines", "0", "500", "-", "1", "-"}, table[2])
	assert.Len(t, (&Report{Rows: r.Rows}).growth().rows, 1, "without a library there is nothing but the head")
}
