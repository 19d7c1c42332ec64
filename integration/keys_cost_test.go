package integration

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// How much is measured of each number of keys.
const (
	keyedJobs   = 1_000_000
	keyedRounds = 3
)

// keyedRow is what is measured: so many keys, 0 for none, with what restrains them.
type keyedRow struct {
	keys int
	rule string
	opts work.JobOptions
}

// keyedRows are without rules, and then with such that are in nobody's way, but for the last one: its jobs are parked,
// and given a place one after the other.
func keyedRows() []keyedRow {
	var rows []keyedRow
	for _, keys := range []int{0, 1, 100, 1000, keyedJobs} {
		rows = append(rows, keyedRow{keys: keys})
	}
	for _, keys := range []int{1000, keyedJobs} {
		rows = append(rows,
			keyedRow{keys, "10 at once", work.JobOptions{PerKey: work.Limit{Concurrent: 10}}},
			keyedRow{keys, "10,000 a second",
				work.JobOptions{PerKey: work.Limit{Rate: 10_000, Per: time.Second, Burst: 10_000}}},
			keyedRow{keys, "ordered", work.JobOptions{Ordered: true}})
	}
	return append(rows, keyedRow{100, "ordered", work.JobOptions{Ordered: true}})
}

// TestWhatKeysCost measures what jobs cost Redis that have keys, beside those that have none, and writes the figures
// into the file that WORK_KEYS_FIGURES names. It lasts minutes, so WORK_KEYS_LONG=1 switches it on. WORK_KEYS_ROUNDS
// says how often it measures each.
func TestWhatKeysCost(t *testing.T) {
	if os.Getenv("WORK_KEYS_LONG") != "1" {
		t.Skip("it lasts minutes: make keys")
	}
	rows, many := keyedRows(), keyedRounds
	if text := os.Getenv("WORK_KEYS_ROUNDS"); text != "" {
		var err error
		many, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	rounds := make([][]keyedCost, len(rows))
	load := loadNow()
	for range many { // one after the other, so that what else the machine does is in all rows
		for i, row := range rows {
			rounds[i] = append(rounds[i], measureKeys(t, row))
			t.Logf("%d keys, %q: %+v", row.keys, row.rule, rounds[i][len(rounds[i])-1])
		}
	}
	figures := fmt.Sprintf("Measured %s by `make keys` on %d cores, %s/%s: %s jobs of one name, 200 processors, "+
		"handlers that do\nnothing; medians of %d rounds, and the longest call of all.%s\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		redistest.Grouped(keyedJobs), many, load)
	figures += "| keys | rule | stored a second, in bulk | Redis' CPU of a job stored | worked a second | " +
		"Redis' CPU of a job worked | bytes of a waiting job | longest call |\n|--:|---|--:|--:|--:|--:|--:|--:|\n"
	for i, row := range rows {
		figures += keyedLine(row, rounds[i])
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_KEYS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "keys", figures)
	}
}

// loadNow is a sentence about what else the machine does, where that can be read.
func loadNow() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" The load average of the minute\nbefore was %s.", strings.Fields(string(text))[0])
}

// keyedCost is what was measured in one round.
type keyedCost struct {
	stored, worked       float64       // jobs a second
	storedCPU, workedCPU time.Duration // a job
	bytes                float64       // of a waiting job
	longest              time.Duration // of all calls
}

func keyedLine(row keyedRow, rounds []keyedCost) string {
	longest := slices.MaxFunc(rounds, func(a, b keyedCost) int { return int(a.longest - b.longest) }).longest
	of := func(figure func(c keyedCost) float64) float64 {
		var all []float64
		for _, c := range rounds {
			all = append(all, figure(c))
		}
		return median(all)
	}
	name := redistest.Grouped(row.keys)
	if row.keys == 0 {
		name = "none"
	}
	return fmt.Sprintf("| %s | %s | %s | %.1f us | %s | %.1f us | %.0f | %.1f ms |\n", name, row.rule,
		redistest.Grouped(int(of(func(c keyedCost) float64 { return c.stored }))),
		of(func(c keyedCost) float64 { return micros(c.storedCPU) }),
		redistest.Grouped(int(of(func(c keyedCost) float64 { return c.worked }))),
		of(func(c keyedCost) float64 { return micros(c.workedCPU) }),
		of(func(c keyedCost) float64 { return c.bytes }), micros(longest)/1000)
}

// measureKeys measures one row.
func measureKeys(t *testing.T, row keyedRow) (c keyedCost) {
	t.Helper()
	t.Run(fmt.Sprint(row.keys, row.rule), func(t *testing.T) {
		server := redistest.Dedicated(t)
		d := divided{dsn: "redis://" + server.Addr(), nodes: []*redistest.Process{server}}
		d.do(t, 0, "CONFIG", "SET", "slowlog-log-slower-than", 1000)
		d.do(t, 0, "CONFIG", "SET", "slowlog-max-len", 100_000)
		before, began, memory := d.used(t), time.Now(), d.memory(t)
		fillKeys(t, d.dsn, row.keys)
		c.stored = keyedJobs / time.Since(began).Seconds()
		c.storedCPU = d.used(t).since(before).cpu / keyedJobs
		c.bytes = float64(d.memory(t)-memory) / keyedJobs
		before = d.used(t)
		c.worked = workAll(t, d.dsn, row.opts)
		c.workedCPU = d.used(t).since(before).cpu / keyedJobs
		c.longest = d.longest(t)
	})
	return c
}

// fillKeys stores the jobs, of so many keys in turn.
func fillKeys(t *testing.T, dsn string, keys int) {
	t.Helper()
	enq, err := work.NewEnqueuer(dsn, work.EnqueueTimeout(patience))
	require.NoError(t, err)
	defer func() { _ = enq.Close() }()
	entries := make([]work.Entry, 1000)
	for at := 0; at < keyedJobs; at += len(entries) {
		for i := range entries {
			entries[i] = work.Entry{Name: "none"}
			if keys > 0 {
				entries[i].Options = []work.EnqueueOption{work.Key("customer-" + strconv.Itoa((at+i)%keys))}
			}
		}
		_, err := enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
	}
}

// workAll has a pool do all of them, and returns how many it did a second.
func workAll(t *testing.T, dsn string, opts work.JobOptions) float64 {
	t.Helper()
	s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: keyedJobs}
	pool := work.NewWorkerPool(nil, 200, work.WorkerOptions{Redis: dsn, Logger: slog.New(slog.DiscardHandler),
		Observers: []work.Observer{work.ObserverFunc(s.observe)}}).
		JobWithOptions("none", opts, func() error { return nil })
	require.NoError(t, pool.Start(t.Context()))
	began := time.Now()
	select {
	case <-s.all:
	case <-time.After(10 * patience):
		require.FailNow(t, "the jobs do not end", "%d have", s.count.Load())
	}
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, pool.Stop(ctx))
	return keyedJobs / took.Seconds()
}

// memory is how many bytes the first server uses.
func (d divided) memory(t *testing.T) int {
	t.Helper()
	info, err := redis.String(d.do(t, 0, "INFO", "memory"), nil)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(info, "used_memory:")
	n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	require.NoError(t, err)
	return n
}

// longest is the longest call that the first server noted as slow, 0 for none.
func (d divided) longest(t *testing.T) (longest time.Duration) {
	t.Helper()
	logged, err := redis.Values(d.do(t, 0, "SLOWLOG", "GET", -1), nil)
	require.NoError(t, err)
	for _, entry := range logged {
		fields, err := redis.Values(entry, nil)
		require.NoError(t, err)
		us, err := redis.Int64(fields[2], nil)
		require.NoError(t, err)
		words, err := redis.Strings(fields[3], nil)
		require.NoError(t, err)
		if strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") {
			longest = max(longest, time.Duration(us)*time.Microsecond)
		}
	}
	return longest
}
