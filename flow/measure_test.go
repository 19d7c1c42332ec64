package flow_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// measured are the shapes that are measured, with a part of the jobs that are asked for.
var measured = []struct {
	name  string
	part  int // 1 of so many jobs
	store func(k *kit, ctx context.Context, n int)
}{
	{"plain jobs", 1, (*kit).storePlain},
	{"a batch", 1, (*kit).storeBatch},
	{"chains of 50", 5, func(k *kit, ctx context.Context, n int) {
		k.storeGraphs(ctx, n/50, 50, func(jobs []*flow.Job, job *flow.Job) { job.After(jobs[len(jobs)-1]) })
	}},
	{"fan-outs of 500", 5, func(k *kit, ctx context.Context, n int) {
		k.storeGraphs(ctx, n/500, 500, func(jobs []*flow.Job, job *flow.Job) { job.After(jobs[0]) })
	}},
}

// TestMeasureFlows measures what members of flows cost beside plain jobs, and prints a table:
// FLOW_MEASURE=1000000 go test ./flow -run Measure -v.
func TestMeasureFlows(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("FLOW_MEASURE"))
	if err != nil {
		t.Skip("FLOW_MEASURE gives the number of jobs")
	}
	table := []string{"| | stored per second | Redis stores, µs | runs and ends, µs | times a plain job | bytes | " +
		"longest call, ms |", "|---|---|---|---|---|---|---|"}
	var plain float64
	for _, shape := range measured {
		if only := os.Getenv("FLOW_ONLY"); only != "" && !strings.Contains(shape.name, only) {
			continue
		}
		server := redistest.Dedicated(t, "--slowlog-log-slower-than", "1000", "--slowlog-max-len", "10000")
		k, jobs := newKit(t, server.Server()), n/shape.part/500*500
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		before, spent, began := k.memory(), k.cpu(ctx), time.Now()
		k.ask("CONFIG", "RESETSTAT")
		shape.store(k, ctx, jobs)
		rate := float64(jobs) / time.Since(began).Seconds()
		stores := float64((k.cpu(ctx) - spent).Nanoseconds()) / 1000 / float64(jobs)
		bytes := (k.memory() - before) / jobs
		t.Log(shape.name, "store:", k.commands(jobs))
		k.ask("CONFIG", "RESETSTAT")
		spent = k.cpu(ctx)
		k.runAll(ctx, jobs)
		t.Log(shape.name, "run and end:", k.commands(jobs))
		runs := float64((k.cpu(ctx) - spent).Nanoseconds()) / 1000 / float64(jobs)
		if plain == 0 {
			plain = stores + runs
		}
		table = append(table, fmt.Sprintf("| %d as %s | %.0f | %.1f | %.1f | %.1f | %d | %.1f |", jobs, shape.name,
			rate, stores, runs, (stores+runs)/plain, bytes, k.longest()))
		cancel()
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

func (k *kit) storePlain(ctx context.Context, n int) {
	var part []work.Entry
	for entry := range numbers(n) {
		if part = append(part, entry); len(part) == 500 {
			_, err := k.Enq.EnqueueMany(ctx, part)
			require.NoError(k.T, err)
			part = part[:0]
		}
	}
}

func (k *kit) storeBatch(ctx context.Context, n int) {
	_, err := flow.Batch(ctx, k.Enq, "b", numbers(n))
	require.NoError(k.T, err)
}

// storeGraphs stores flows of so many members each, which wait as it is said: given are those before.
func (k *kit) storeGraphs(ctx context.Context, flows, members int, wait func(jobs []*flow.Job, job *flow.Job)) {
	for i := range flows {
		f := flow.New(strconv.Itoa(i))
		var jobs []*flow.Job
		for j := range members {
			job := f.Job("n", j).Named(strconv.Itoa(j))
			if j > 0 {
				wait(jobs, job)
			}
			jobs = append(jobs, job)
		}
		_, err := flow.Enqueue(ctx, k.Enq, f)
		require.NoError(k.T, err)
	}
}

// runAll runs so many jobs with 200 processors.
func (k *kit) runAll(ctx context.Context, n int) {
	var ran atomic.Int64
	over := make(chan struct{})
	pool := k.Start(work.NewWorkerPool(nil, 200, k.Options()).Job("n", func(int) error {
		if ran.Add(1) == int64(n) {
			close(over)
		}
		return nil
	}))
	select {
	case <-over:
	case <-ctx.Done():
		require.NoError(k.T, context.Cause(ctx), "%d of %d ran", ran.Load(), n)
	}
	require.NoError(k.T, pool.Drain(ctx))
	require.NoError(k.T, k.Stop(pool))
}

// cpu is the processor time of Redis.
func (k *kit) cpu(ctx context.Context) time.Duration {
	d, err := k.Inspector().ServerCPU(ctx)
	require.NoError(k.T, err)
	return d
}

// commands are the calls of Redis for each of so many jobs since the statistics were reset, by command.
func (k *kit) commands(jobs int) string {
	var all []string
	sum := 0.0
	for line := range strings.Lines(string(k.ask("INFO", "commandstats").([]byte))) {
		name, rest, is := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, more, _ := strings.Cut(rest, ",usec=")
		micros, _, _ := strings.Cut(more, ",")
		n, err := strconv.Atoi(calls)
		took, _ := strconv.ParseFloat(micros, 64)
		if each := float64(n) / float64(jobs); is && err == nil {
			sum += each
			if each >= 0.01 {
				all = append(all, fmt.Sprintf("%s %.2f (%.1f)", name, each, took/float64(jobs)))
			}
		}
	}
	return fmt.Sprintf("%.2f: %s", sum, strings.Join(all, ", "))
}

// memory is how much Redis uses.
func (k *kit) memory() int {
	_, rest, _ := strings.Cut(string(k.ask("INFO", "memory").([]byte)), "used_memory:")
	bytes, err := strconv.Atoi(rest[:strings.IndexByte(rest, '\r')])
	require.NoError(k.T, err)
	return bytes
}

// longest is how long the longest of all calls took, in ms: at most 1 is not known.
func (k *kit) longest() float64 {
	longest := int64(1000)
	for _, entry := range k.ask("SLOWLOG", "GET", -1).([]any) {
		longest = max(longest, entry.([]any)[2].(int64))
	}
	return float64(longest) / 1000
}

// ask asks the server something that is about no key.
func (k *kit) ask(command string, args ...any) any {
	k.T.Helper()
	value, err := redisconn.Do(k.Ctx(), k.Raw().Driver(), redisconn.Call{Command: command, Args: args})
	require.NoError(k.T, err)
	return value
}
