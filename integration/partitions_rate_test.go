package integration

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// rateShare is the part of a core that each server has, so that the program beside it has cores enough to keep four
// busy, and rateTime how long is measured.
const (
	rateShare = 0.1
	rateTime  = 10 * time.Second
)

// TestRateGrowsWithPrimaries measures how many jobs are stored and worked where 1, 2 and 4 servers, each held to a
// tenth of a core, have a partition each. The model is that rate is the number of servers times the share of a core
// over what a job costs Redis. It writes the figures into the file that WORK_PARTITIONS_FIGURES names.
func TestRateGrowsWithPrimaries(t *testing.T) {
	if os.Getenv("WORK_PARTITIONS_LONG") != "1" {
		t.Skip("it lasts minutes: make partitions")
	}
	figures := fmt.Sprintf("Measured %s by `make partitions` on %d cores, %s/%s: %d%% of a core for each server.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		int(100*rateShare))
	figures += "| primaries | stored a second | of linear | worked a second | of linear |\n|--:|--:|--:|--:|--:|\n"
	var stored, worked float64
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := newPartitionBench(t, partitionRow{partitions: n, own: true})
			fill(b, 200_000*n)
			b.on.throttle(t, rateShare)
			in, out := storing(b), working(b)
			if n == 1 {
				stored, worked = in, out
			}
			of := float64(n)
			figures += fmt.Sprintf("| %d | %s | %.2f | %s | %.2f |\n", n, redistest.Grouped(int(in)), in/stored/of,
				redistest.Grouped(int(out)), out/worked/of)
		})
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_PARTITIONS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "partition rates", figures)
	}
}

// fill stores jobs before the servers are held.
func fill(b *partitionBench, jobs int) {
	entries := make([]work.Entry, 1000)
	for i := range entries {
		entries[i].Name = "none"
	}
	for range jobs / len(entries) {
		_, err := b.enq.EnqueueMany(b.t.Context(), entries)
		require.NoError(b.t, err)
	}
}

// storing is how many jobs callers store in a second, in calls of a hundred.
func storing(b *partitionBench) float64 {
	var jobs atomic.Int64
	var callers sync.WaitGroup
	entries := make([]work.Entry, 100)
	for i := range entries {
		entries[i].Name = "other"
	}
	began := time.Now()
	for range 32 {
		callers.Go(func() {
			for time.Since(began) < rateTime {
				if _, err := b.enq.EnqueueMany(b.t.Context(), entries); !assert.NoError(b.t, err) {
					return
				}
				jobs.Add(int64(len(entries)))
			}
		})
	}
	callers.Wait()
	return float64(jobs.Load()) / time.Since(began).Seconds()
}

// working is how many jobs a pool ends in a second of those that wait, once the first have.
func working(b *partitionBench) float64 {
	s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: -1}
	pool := work.NewWorkerPool(nil, 200, work.WorkerOptions{Redis: b.on.dsn, Namespace: b.namespace,
		Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{work.ObserverFunc(s.observe)}}).
		Job("none", func() error { return nil })
	require.NoError(b.t, pool.Start(b.t.Context()))
	<-s.first
	before, began := s.count.Load(), time.Now()
	<-time.After(rateTime) // so long is measured
	ended, took := s.count.Load()-before, time.Since(began)
	require.Positive(b.t, b.of("LLEN", "*:queue:none"), "the jobs ran out")
	b.stop(pool)
	return float64(ended) / took.Seconds()
}
