package integration

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
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
// busy, and rateTime how long is measured. It has that part in each ratePeriod: a server that stood still for a longer
// time at once would not be a slow one, but one that is away most of the time.
const (
	rateShare = 0.1
	rateTime  = 6 * time.Second

	ratePeriod = 10 * time.Millisecond
	rateRounds = 3

	// rateProcessors is so many that servers bound the rate and not processors, each of which waits for a slow server
	// between two jobs.
	rateProcessors = 800
)

// TestRateGrowsWithPrimaries measures how many jobs are stored and worked where 1, 2 and 4 servers, each held to a
// tenth of a core, have a partition each. The model is that rate is the number of servers times the share of a core
// over what a job costs Redis; what the servers used of their share, and for a job, tells which of the two a rate that
// is not linear lacks. It writes the figures into the file that WORK_PARTITIONS_FIGURES names.
func TestRateGrowsWithPrimaries(t *testing.T) {
	if os.Getenv("WORK_PARTITIONS_LONG") != "1" {
		t.Skip("it lasts minutes: make partitions")
	}
	figures := fmt.Sprintf("Measured %s by `make partitions` on %d cores, %s/%s: %d%% of a core for each server, "+
		"in each %s; medians of %d "+
		"rounds.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, int(100*rateShare), ratePeriod, rateRounds)
	figures += "| primaries | stored a second | of linear | of their share used | Redis' CPU | worked a second " +
		"| of linear | of their share used | Redis' CPU |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
	servers, stored, worked := []int{1, 2, 4}, map[int][]rateSeen{}, map[int][]rateSeen{}
	for range rateRounds {
		for _, n := range servers {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				b := newPartitionBench(t, partitionRow{partitions: n, own: true})
				fill(b, 250_000*n)
				b.on.throttle(t, rateShare, ratePeriod)
				stored[n], worked[n] = append(stored[n], storing(b)), append(worked[n], working(b))
			})
		}
	}
	for _, n := range servers {
		figures += fmt.Sprintf("| %d | %s | %s |\n", n, rateCells(n, stored), rateCells(n, worked))
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_PARTITIONS_FIGURES"); file != "" && !t.Failed() {
		redistest.WriteFigures(t, file, "partition rates", figures)
	}
}

// rateSeen is one measurement: jobs a second, and cores that all servers together used.
type rateSeen struct{ jobs, cores float64 }

// rateCells are the cells of a row about storing, or about working.
func rateCells(n int, all map[int][]rateSeen) string {
	seen, alone := medianRate(all[n]), medianRate(all[1])
	return fmt.Sprintf("%s | %.2f | %.2f | %.1f us", redistest.Grouped(int(seen.jobs)), seen.jobs/alone.jobs/float64(n),
		seen.cores/rateShare/float64(n), 1e6*seen.cores/seen.jobs)
}

// medianRate is the measurement whose rate is in the middle.
func medianRate(all []rateSeen) rateSeen {
	slices.SortFunc(all, func(a, b rateSeen) int { return cmp.Compare(a.jobs, b.jobs) })
	return all[len(all)/2]
}

// rateOf measures what is counted from now for rateTime.
func rateOf(b *partitionBench, counted func() int64, during func(until time.Time)) rateSeen {
	before, used, began := counted(), b.on.used(b.t), time.Now()
	during(began.Add(rateTime))
	jobs, took := counted()-before, time.Since(began).Seconds()
	return rateSeen{jobs: float64(jobs) / took, cores: b.on.used(b.t).since(used).cpu.Seconds() / took}
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
func storing(b *partitionBench) rateSeen {
	var jobs atomic.Int64
	var callers sync.WaitGroup
	entries := make([]work.Entry, 100)
	for i := range entries {
		entries[i].Name = "other"
	}
	return rateOf(b, jobs.Load, func(until time.Time) {
		for range 32 {
			callers.Go(func() {
				for time.Now().Before(until) {
					if _, err := b.enq.EnqueueMany(b.t.Context(), entries); !assert.NoError(b.t, err) {
						return
					}
					jobs.Add(int64(len(entries)))
				}
			})
		}
		callers.Wait()
	})
}

// working is how many jobs a pool ends in a second of those that wait, once the first have.
func working(b *partitionBench) rateSeen {
	s := &settled{first: make(chan struct{}), all: make(chan struct{}), jobs: -1}
	pool := work.NewWorkerPool(nil, rateProcessors, work.WorkerOptions{Redis: b.on.dsn, Namespace: b.namespace,
		Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{work.ObserverFunc(s.observe)}}).
		Job("none", func() error { return nil })
	require.NoError(b.t, pool.Start(b.t.Context()))
	<-s.first
	seen := rateOf(b, s.count.Load, func(until time.Time) { <-time.After(time.Until(until)) })
	require.Positive(b.t, b.of("LLEN", "*:queue:none"), "the jobs ran out")
	b.stop(pool)
	return seen
}

func median(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}
