package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keysIn returns the names of all keys of a Redis.
func keysIn(t *testing.T, dsn string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0"))
	require.NoError(t, err)
	defer conn.Close() // its answer was read
	_, err = io.WriteString(conn, "*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n*1\r\n$4\r\nQUIT\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Regexp(t, `^\*\d`, string(answer))
	var names []string
	for line := range strings.Lines(string(answer)) {
		if !strings.ContainsAny(line[:1], "*$+") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names
}

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
	dsn := startRedis(t)
	require.Zero(t, call("enqueue", "--redis", dsn, "greet").status)
	before := keysIn(t, dsn)
	require.NotEmpty(t, before)
	got := call("bench", "--redis", dsn, "--jobs", "300", "--queues", "3", "--args-bytes", "100")
	assert.Equal(t, exitOK, got.status, got.err)
	assert.Empty(t, got.err)
	golden(t, "bench", strings.ReplaceAll(shape(got.out), figure.ReplaceAllString(dsn, "N"), "DSN"))
	assert.ElementsMatch(t, before, keysIn(t, dsn), "keys of others are left, and no others")
}

func TestBenchOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	got := call("bench", "--redis", "memory://", "--jobs", "50", "--enqueuers", "1")
	assert.Equal(t, exitOK, got.status, got.err)
	assert.Contains(t, got.out, "embedded in this process, which says nothing about a real one: name it with --redis")
	assert.Contains(t, got.out, "enqueue, 1 caller ")
	assert.Equal(t, said{}, call("bench", "--jobs", "50", "--quiet"))
}

func TestBenchInJSON(t *testing.T) {
	t.Parallel()
	dsn := startRedis(t)
	got := call("bench", "--redis", dsn, "--namespace", "shop", "--json", "--duration", "200ms", "--queues", "2",
		"--concurrency", "7", "--enqueuers", "3")
	require.Equal(t, exitOK, got.status, got.err)
	var found benchJSON
	require.NoError(t, json.Unmarshal([]byte(got.out), &found))
	assert.Regexp(t, "^shop-bench-", found.Namespace)
	assert.Equal(t, []int{2, 7, 3, 0}, []int{found.Queues, found.Concurrency, found.Enqueuers, found.ArgsBytes})
	jobs := found.Enqueue.Jobs
	assert.Positive(t, jobs, "how many there are the time decides")
	assert.Equal(t, jobs, found.Process.Jobs)
	assert.Equal(t, min(jobs, benchSingles), found.Pickup.Jobs)
	assert.Equal(t, once{Jobs: jobs + found.Pickup.Jobs}, found.Once)
	assert.Empty(t, keysIn(t, dsn))
	for name, phase := range map[string]phaseJSON{phaseEnqueue: found.Enqueue, phaseProcess: found.Process} {
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
	Once once `json:"once"`
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
			assert.Equal(t, exitUsage, got.status)
			assert.Contains(t, got.err, row.want)
			assert.Empty(t, got.out)
		})
	}
}

func TestBenchOfNoJobs(t *testing.T) {
	t.Parallel()
	dsn := startRedis(t)
	got := call("bench", "--redis", dsn, "--duration", "1ns")
	assert.Equal(t, exitUsage, got.status)
	assert.Equal(t, "work: no job was stored within --duration 1ns: give a longer one\n", got.err)
	assert.Empty(t, keysIn(t, dsn))
}

func TestBenchWithoutRedis(t *testing.T) {
	t.Parallel()
	got := call("bench", "--redis", "redis://127.0.0.1:1", "--jobs", "1")
	assert.Equal(t, exitFailure, got.status)
	assert.Empty(t, got.out)
	assert.Contains(t, got.err, "cannot connect to Redis at 127.0.0.1:1")
	assert.NotContains(t, got.err, "left in Redis", "nothing was stored")
}

// trial is a bench of 40 jobs that a test may put its hands into.
func trial(dsn string) (*bench, *bytes.Buffer) {
	var out bytes.Buffer
	return &bench{
		benchFlags: benchFlags{jobs: 40, concurrency: 4, queues: 2, enqueuers: 2}, redis: dsn, namespace: "trial",
		console: &console{out: &out, err: io.Discard}, logger: slog.New(slog.DiscardHandler),
		hurry: context.Background(),
	}, &out
}

func TestBenchFindsJobsThatRanTwiceOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		tamper func(id int64, book func(int64))
		want   string
	}{
		{"twice", func(id int64, book func(int64)) {
			book(id)
			if id == 79 { // the last of the single ones
				book(id)
			}
		}, "Of 80 jobs 0 did not run and 1 ran more than once."},
		{"as another", func(id int64, book func(int64)) {
			if id == 7 {
				id = 8
			}
			book(id)
		}, "Of 80 jobs 1 did not run and 1 ran more than once."},
		{"never stored", func(id int64, book func(int64)) {
			book(id)
			if id == 3 {
				book(80)
				book(-1)
			}
		}, "Of 80 jobs 0 did not run and 0 ran more than once; jobs that were never stored ran 2 times."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dsn := startRedis(t)
			b, out := trial(dsn)
			b.tamper = row.tamper
			found, err := b.run(t.Context())
			require.NoError(t, err)
			require.ErrorIs(t, found.show(b.console, false), errNotOnce)
			assert.Contains(t, out.String(), row.want)
			out.Reset()
			b.console.quiet = true
			require.ErrorIs(t, found.show(b.console, false), errNotOnce)
			assert.Equal(t, row.want+"\n", out.String(), "also said where only what is wrong is to be said")
			assert.Empty(t, keysIn(t, dsn))
		})
	}
}

func TestBenchRemovesItsNamespaceWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{phaseEnqueue, phaseProcess, phasePickup} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			dsn := startRedis(t)
			require.Zero(t, call("enqueue", "--redis", dsn, "greet").status)
			before := keysIn(t, dsn)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			b, _ := trial(dsn)
			var during []string
			b.reached = func(now string) {
				if now == phase {
					during = keysIn(t, dsn)
					cancel(errInterrupted)
				}
			}
			_, err := b.run(ctx)
			require.ErrorIs(t, err, errInterrupted)
			assert.EqualError(t, err, "interrupted: namespace trial is removed")
			if phase != phaseEnqueue {
				assert.Greater(t, len(during), len(before), "there was something to remove")
			}
			assert.ElementsMatch(t, before, keysIn(t, dsn))
		})
	}
}

// A namespace that cannot be removed is named: here a worker of somebody else is registered in it.
func TestBenchSaysWhatItLeaves(t *testing.T) {
	t.Parallel()
	dsn := startRedis(t)
	command(t, dsn, "SADD", "{trial}:workers", "somebody")
	b, _ := trial(dsn)
	_, err := b.run(t.Context())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "left in Redis, in namespace trial: {trial} was not erased: workers are registered")

	ctx, cancel := context.WithCancelCause(t.Context())
	b.reached = func(string) { cancel(errInterrupted) }
	_, err = b.run(ctx)
	require.ErrorIs(t, err, errInterrupted)
	assert.Contains(t, err.Error(), "interrupted: the jobs of this run are left in Redis, in namespace trial")
}

func TestBenchStoresNoMoreThanFits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		flags benchFlags
		want  int
	}{
		{"a number", benchFlags{jobs: 7}, 7},
		{"a time", benchFlags{jobs: 7, duration: 1}, benchMostJobs},
		{"a time and small arguments", benchFlags{duration: 1, argsBytes: 1}, benchMostJobs},
		{"a time and large arguments", benchFlags{duration: 1, argsBytes: 1 << 20}, 1024},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, row.flags.mostJobs())
		})
	}
}

func TestOnceInWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Each of 1 job ran exactly once.", fmt.Sprint(once{Jobs: 1}))
	assert.Equal(t, "Each of 2,000 jobs ran exactly once.", fmt.Sprint(once{Jobs: 2000}))
}
