//go:build unix

package work_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// BenchmarkTrips runs jobs of ten names that wait already, with handlers that do nothing or sleep for a millisecond,
// and tells what they take Redis and the program, and how many round trips: what Redis has read, heartbeats and all.
func BenchmarkTrips(b *testing.B) {
	for _, c := range []struct {
		processors, jobs int
		sleep            time.Duration
	}{
		{1, 1_500, time.Millisecond}, {5, 10_000, time.Millisecond}, {20, 30_000, time.Millisecond},
		{20, 150_000, 0}, {200, 200_000, 0},
	} {
		b.Run(fmt.Sprintf("processors=%d,sleep=%v", c.processors, c.sleep), func(b *testing.B) {
			var rate, redisTime, ownTime, reads float64
			for range b.N {
				s := redistest.Dedicated(b)
				pool, done := benchmarkPool(b, s, c.processors, c.jobs, c.sleep)
				redisBefore, ownBefore, readBefore := redisCPU(b, s), programCPU(b), redisReads(b, s)
				begun := time.Now()
				require.NoError(b, pool.Start(context.Background()))
				<-done
				require.NoError(b, pool.Stop(context.Background()))
				rate += float64(c.jobs) / time.Since(begun).Seconds()
				redisTime += redisCPU(b, s) - redisBefore
				ownTime += programCPU(b) - ownBefore
				reads += redisReads(b, s) - readBefore
				s.Close()
			}
			runs, all := float64(b.N), float64(b.N*c.jobs)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rate/runs, "jobs/s")
			b.ReportMetric(redisTime/all, "redis-us/job")
			b.ReportMetric(ownTime/all, "own-us/job")
			b.ReportMetric(reads/all, "trips/job")
		})
	}
}

// benchmarkPool is a pool that has not started, with so many jobs waiting for it.
func benchmarkPool(b *testing.B, s *redistest.Process, processors, jobs int, sleep time.Duration) (*work.WorkerPool,
	chan struct{}) {
	pool := work.NewWorkerPool(nil, processors,
		work.WorkerOptions{Redis: s.DSN(), Namespace: redistest.Namespace(b), Logger: pooltest.Silent()})
	left, done := atomic.Int64{}, make(chan struct{})
	left.Store(int64(jobs))
	for i := range 10 {
		pool.Job(fmt.Sprintf("job%d", i), func() error {
			if sleep > 0 {
				<-time.After(sleep)
			}
			if left.Add(-1) == 0 {
				close(done)
			}
			return nil
		})
	}
	for i := 0; i < jobs; i += 5000 {
		var entries []work.Entry
		for j := i; j < min(i+5000, jobs); j++ {
			entries = append(entries, work.Entry{Name: fmt.Sprintf("job%d", j%10)})
		}
		_, err := pool.Enqueuer().EnqueueMany(context.Background(), entries)
		require.NoError(b, err)
	}
	return pool, done
}

// programCPU is the processor time of this process in microseconds.
func programCPU(b *testing.B) float64 {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

// redisReads is how often the server has read something that clients sent.
func redisReads(b *testing.B, s *redistest.Process) float64 {
	conn, err := redis.DialURL(s.DSN())
	require.NoError(b, err)
	defer conn.Close()
	info, err := redis.String(conn.Do("INFO", "stats"))
	require.NoError(b, err)
	for line := range strings.Lines(info) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == "total_reads_processed" {
			reads, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			return reads
		}
	}
	b.Fatal("Redis does not tell how often it has read")
	return 0
}
