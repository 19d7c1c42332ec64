package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

var (
	figure = regexp.MustCompile(`[0-9][0-9,.]*`)
	spaces = regexp.MustCompile(` {2,}`)
)

// shape leaves out what differs from run to run: figures, how far columns are apart, the charts.
func shape(text string) string {
	var kept []string
	text = regexp.MustCompile(`work-bench-\w+`).ReplaceAllString(text, "work-bench-RANDOM")
	for line := range strings.Lines(text) {
		if !strings.ContainsAny(line, "┤┼") {
			kept = append(kept, spaces.ReplaceAllString(figure.ReplaceAllString(line, "N"), "  "))
		}
	}
	text = regexp.MustCompile(`N(ns|µs|ms|s)`).ReplaceAllString(strings.Join(kept, ""), "Ns")
	return regexp.MustCompile(`\n(enqueue|process), jobs per second over Ns\n`).ReplaceAllString(text, "")
}

func TestBenchPrintsATableAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Zero(t, call("enqueue", "--force", "--redis", dsn, "greet").status)
	before := clitest.Keys(t, dsn)
	require.NotEmpty(t, before)
	got := call("bench", "--redis", dsn, "--jobs", "300", "--queues", "3", "--args-bytes", "100")
	assert.Equal(t, exit.OK, got.status, got.err)
	assert.Regexp(t, `^(work bench: \w+, \d+ of 300\n)*$`, got.err, "how far it is, where that takes seconds")
	clitest.Golden(t, "bench", strings.ReplaceAll(shape(got.out), figure.ReplaceAllString(dsn, "N"), "DSN"))
	assert.ElementsMatch(t, before, clitest.Keys(t, dsn), "keys of others are left, and no others")
}

func TestBenchOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	got := call("bench", "--redis", "memory://", "--jobs", "50", "--enqueuers", "1")
	assert.Equal(t, exit.OK, got.status, got.err)
	assert.Contains(t, got.out, "embedded in this process, which says nothing about a real one: name it with --redis")
	assert.Contains(t, got.out, "enqueue, 1 caller ")
	assert.Equal(t, said{}, call("bench", "--jobs", "50", "--quiet"))
}

func TestBenchInJSON(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	got := call("bench", "--redis", dsn, "--namespace", "shop", "--json", "--duration", "200ms", "--queues", "2",
		"--concurrency", "7", "--enqueuers", "3")
	require.Equal(t, exit.OK, got.status, got.err)
	var found benchJSON
	require.NoError(t, json.Unmarshal([]byte(got.out), &found))
	assert.Regexp(t, "^shop-bench-", found.Namespace)
	assert.Equal(t, []int{2, 7, 3, 0}, []int{found.Queues, found.Concurrency, found.Enqueuers, found.ArgsBytes})
	jobs := found.Enqueue.Jobs
	assert.Positive(t, jobs, "how many there are the time decides")
	assert.Equal(t, jobs, found.Process.Jobs)
	assert.Equal(t, min(jobs, 100), found.Pickup.Jobs)
	assert.Equal(t, onceJSON{Jobs: jobs + found.Pickup.Jobs}, found.Once)
	assert.Empty(t, clitest.Keys(t, dsn))
	for name, phase := range map[string]phaseJSON{"enqueue": found.Enqueue, "process": found.Process} {
		assert.Positive(t, phase.Seconds, name)
		assert.Positive(t, phase.Rate, name)
		assert.NotEmpty(t, phase.Pace.Rates, name)
		assert.Nil(t, phase.RedisCPU, "the embedded Redis does not tell")
	}
}

// benchJSON is what --json promises.
type benchJSON struct {
	Redis       string    `json:"redis"`
	Namespace   string    `json:"namespace"`
	Queues      int       `json:"queues"`
	Concurrency int       `json:"concurrency"`
	Enqueuers   int       `json:"enqueuers"`
	ArgsBytes   int       `json:"args_bytes"`
	Enqueue     phaseJSON `json:"enqueue"`
	Process     phaseJSON `json:"process"`
	Pickup      struct {
		Jobs   int `json:"jobs"`
		Waited struct {
			P50 float64 `json:"p50"`
			P99 float64 `json:"p99"`
		} `json:"waited_seconds"`
	} `json:"pickup"`
	Once onceJSON `json:"once"`
}

type onceJSON struct {
	Jobs    int   `json:"jobs"`
	Missing int   `json:"missing"`
	Doubled int   `json:"ran_more_than_once"`
	Foreign int64 `json:"never_stored"`
}

type phaseJSON struct {
	Jobs     int      `json:"jobs"`
	Seconds  float64  `json:"seconds"`
	Rate     float64  `json:"jobs_per_second"`
	RedisCPU *float64 `json:"redis_cpu_us_per_job"`
	Pace     struct {
		Each  float64   `json:"seconds_each"`
		Rates []float64 `json:"jobs_per_second"`
	} `json:"pace"`
}

func TestBenchMistakes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no job", []string{"--jobs", "0"}, "--jobs is 0: give 1 to 10000000"},
		{"jobs and a duration", []string{"--jobs", "5", "--duration", "1s"},
			"--jobs 5 and --duration 1s exclude each other"},
		{"a duration before now", []string{"--duration", "-1s"}, "--duration is -1s: give a positive duration"},
		{"no processor", []string{"--concurrency", "0"}, "--concurrency is 0: give 1 to 100000"},
		{"no queue", []string{"--queues", "0"}, "--queues is 0: give 1 to 10000"},
		{"no caller", []string{"--enqueuers", "0"}, "--enqueuers is 0: give 1 to 10000"},
		{"fewer arguments than none", []string{"--args-bytes", "-1"}, "--args-bytes is -1: give 0 to 1048576"},
		{"too much for Redis", []string{"--jobs", "1000000", "--args-bytes", "2000"}, "more than 1 GiB"},
		{"an argument", []string{"fast"}, "takes no argument"},
		{"a wrong DSN", []string{"--redis", "nonsense"}, "nonsense"},
		{"no number", []string{"--jobs", "many"}, `--jobs is "many": give a whole number`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"bench"}, row.args...)...)
			assert.Equal(t, exit.Usage, got.status)
			assert.Contains(t, got.err, row.want)
			assert.Empty(t, got.out)
		})
	}
}

func TestBenchOfNoJobs(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	got := call("bench", "--redis", dsn, "--duration", "1ns")
	assert.Equal(t, exit.Usage, got.status)
	assert.Equal(t, "work: no job was stored within --duration 1ns: give a longer one\n", got.err)
	assert.Empty(t, clitest.Keys(t, dsn))
}

func TestBenchWithoutRedis(t *testing.T) {
	t.Parallel()
	got := call("bench", "--redis", "redis://127.0.0.1:1", "--jobs", "1")
	assert.Equal(t, exit.Failure, got.status)
	assert.Empty(t, got.out)
	assert.Contains(t, got.err, "cannot connect to Redis at 127.0.0.1:1")
	assert.NotContains(t, got.err, "left in Redis", "nothing was stored")
}
