package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/contest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() *Report {
	rows := func(scenario, metric, unit string, lower bool, samples map[string][]float64) contest.Row {
		return contest.Row{Scenario: scenario, Metric: metric, Unit: unit, Lower: lower, Samples: samples}
	}
	return &Report{
		Of: Bench, Date: time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC), Command: "go run . --quick", Rounds: 3,
		Note:    "It rained.",
		Machine: Machine{CPU: "a processor", Cores: 2, OS: "linux/amd64", Go: "go1.26"},
		Servers: []string{"Redis 7.0", "PostgreSQL 15"},
		Libraries: []Library{
			{Name: "work"}, {Name: "asynq", Version: "v0.26.0"}, {Name: "River", Version: "v0.51.0"},
		},
		Rows: []contest.Row{
			rows("process, concurrency 20, 10 queues", "jobs", "/s", false, map[string][]float64{
				"work": {81_000, 80_000, 99_000}, "asynq": {15_000, 16_200, 20_000}, "River": {7000},
			}),
			rows("process, concurrency 20, 10 queues", "CPU of the store per job", "µs", true, map[string][]float64{
				"work": {4, 5}, "asynq": {36}, "River": {0},
			}),
			rows("memory", "bytes per waiting job", "B", true, map[string][]float64{"work": {260.4}, "asynq": {600}}),
			rows("idle pick-up", "median", "ms", true,
				map[string][]float64{"work": {0.4}, "asynq": {1004.2}, "River": {21}}),
		},
		Failures: []contest.Failure{{Scenario: "backlog", Library: "asynq", Error: "job 7 did not run"}},
		LeftOut:  []string{"Other is left out, it is missing"},
	}
}

func TestMarkdownIsAsItWas(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, sample().Markdown(&out))
	golden := filepath.Join("testdata", "report.golden.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
}

func TestJSONKeepsEverySample(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, sample().JSON(&out))
	var back Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, sample(), &back)
}

func TestNumbersHaveThreeDigitsThatCount(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 0.04567: "0.046", 0.5: "0.5", 1: "1", 1.2345: "1.23", 99.96: "100", 123.4: "123", 1234.5: "1,234",
		1234567: "1,234,567", -4321: "-4,321", -0.25: "-0.25",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, number(value))
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		scenario, metric string
		samples          map[string][]float64
		base             string // another scenario, in which this library has 100
		want             []string
	}{
		"against a peer, held": {scenario: "process, concurrency 20, 10 queues", metric: rate,
			samples: map[string][]float64{"work": {60}, "asynq": {5}}, want: []string{"at least 12 x", "12", "yes"}},
		"against a peer, missed": {scenario: "process, concurrency 20, 10 queues", metric: rate,
			samples: map[string][]float64{"work": {59}, "asynq": {5}}, want: []string{"at least 12 x", "11.8", "no"}},
		"at most, held": {scenario: "process, concurrency 20, 10 queues", metric: storeCPU,
			samples: map[string][]float64{"work": {10}, "asynq": {101}},
			want:    []string{"at most 0.1 x", "0.099", "yes"}},
		"at most, missed": {scenario: "memory", metric: "bytes per waiting job",
			samples: map[string][]float64{"work": {261}}, want: []string{"at most 260", "261", "no"}},
		"against another scenario": {scenario: "process, concurrency 20, 100 queues", metric: rate,
			samples: map[string][]float64{"work": {70}}, base: "process, concurrency 20, 10 queues",
			want: []string{"at least 0.7 x", "0.7", "yes"}},
		"the peer is missing": {scenario: "enqueue in bulk", metric: rate, samples: map[string][]float64{"work": {1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Report{Libraries: []Library{{Name: "work"}, {Name: "asynq"}}}
			r.Rows = []contest.Row{{Scenario: row.scenario, Metric: row.metric, Samples: row.samples}}
			if row.base != "" {
				r.Rows = append(r.Rows, contest.Row{Scenario: row.base, Metric: row.metric,
					Samples: map[string][]float64{"work": {100}}})
			}
			table := r.budgets().rows[1:]
			if row.want == nil {
				assert.Empty(t, table)
				return
			}
			require.Len(t, table, 1)
			assert.Equal(t, row.want, table[0][3:])
		})
	}
}

func TestTablesGoBetweenTheMarkersOfAPage(t *testing.T) {
	t.Parallel()
	begin, end := sample().marks()
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("# Page\n\n"+begin+"\nold\n"+end+"\n\nafter\n"), 0o600))
	require.NoError(t, sample().WriteInto(path))
	require.NoError(t, sample().WriteInto(path)) // again: nothing grows
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	var table bytes.Buffer
	require.NoError(t, sample().Markdown(&table))
	assert.Equal(t, "# Page\n\n"+begin+"\n\n"+table.String()+"\n"+end+"\n\nafter\n", string(page))
}

// A table of clients stands beside that of libraries, and has no budgets.
func TestTablesOfDriversHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	const kept = "<!-- bench:begin -->\nkept\n<!-- bench:end -->\n"
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte(kept+"<!-- drivers:begin -->\n<!-- drivers:end -->\n"), 0o600))
	of := sample()
	of.Of = Drivers
	require.NoError(t, of.WriteInto(path))
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(page), kept)
	assert.Contains(t, string(page), "bytes per waiting job")
	assert.NotContains(t, string(page), "budget")
}

func TestAPageWithoutMarkersIsLeftAlone(t *testing.T) {
	t.Parallel()
	begin, _ := sample().marks()
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("# Page\n"), 0o600))
	require.ErrorContains(t, sample().WriteInto(path), begin)
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "# Page\n", string(page))
}
