//go:build unix

package work_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// BenchmarkTrips runs jobs of ten names that wait already, with handlers that do nothing or sleep for a millisecond,
// and tells what they take Redis and the program, how many round trips (what Redis has read, heartbeats and all), and
// which share of the processors' time is the handlers'.
func BenchmarkTrips(b *testing.B) {
	for _, c := range []struct {
		processors, jobs int
		sleep            time.Duration
	}{
		{1, 1_500, time.Millisecond}, {5, 10_000, time.Millisecond}, {20, 30_000, time.Millisecond},
		{20, 150_000, 0}, {200, 200_000, 0},
	} {
		b.Run(fmt.Sprintf("processors=%d,sleep=%v", c.processors, c.sleep), func(b *testing.B) {
			var rate, redisTime, ownTime, reads, busy float64
			for range b.N {
				s := redistest.Dedicated(b)
				handlers := &atomic.Int64{}
				pool, done := benchmarkPool(b, s, c.processors, c.jobs, c.sleep, handlers)
				redisBefore, ownBefore, readBefore := redisCPU(b, s), programCPU(b), redisReads(b, s)
				begun := time.Now()
				require.NoError(b, pool.Start(context.Background()))
				<-done
				require.NoError(b, pool.Stop(context.Background()))
				rate += float64(c.jobs) / time.Since(begun).Seconds()
				busy += float64(handlers.Load()) / float64(time.Since(begun)) / float64(c.processors)
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
			if c.sleep > 0 {
				b.ReportMetric(busy/runs, "in-handlers")
			}
		})
	}
}

// BenchmarkSleepsBesideCalls has 20 goroutines sleep for a millisecond, one sleep after the other, alone and beside one
// or two that store ten jobs a call: as fast as a program of that Go wakes up which talks to Redis meanwhile.
func BenchmarkSleepsBesideCalls(b *testing.B) {
	for callers := range 3 {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			enq, err := work.NewEnqueuer(redistest.Dedicated(b).DSN(), work.Namespace(redistest.Namespace(b)))
			require.NoError(b, err)
			defer enq.Close() //lint:ignore errcheck nothing is under way
			until, entries := time.Now().Add(time.Duration(b.N)*time.Second), make([]work.Entry, 10)
			for i := range entries {
				entries[i].Name = "job"
			}
			var sleeps, slept, calls atomic.Int64
			var group sync.WaitGroup
			repeat := func(goroutines int, step func()) {
				for range goroutines {
					group.Go(func() {
						for time.Now().Before(until) {
							step()
						}
					})
				}
			}
			repeat(callers, func() {
				_, err := enq.EnqueueMany(context.Background(), entries)
				assert.NoError(b, err)
				calls.Add(1)
				<-time.After(200 * time.Microsecond)
			})
			repeat(20, func() {
				begun := time.Now()
				<-time.After(time.Millisecond)
				slept.Add(int64(time.Since(begun)))
				sleeps.Add(1)
			})
			group.Wait()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(sleeps.Load())/float64(b.N), "sleeps/s")
			b.ReportMetric(float64(slept.Load())/float64(sleeps.Load())/1e6, "ms/sleep")
			b.ReportMetric(float64(calls.Load())/float64(b.N), "calls/s")
		})
	}
}

// benchmarkPool is a pool that has not started, with so many jobs waiting for it. It adds the time of the handlers up,
// where they sleep.
func benchmarkPool(b *testing.B, s *redistest.Process, processors, jobs int, sleep time.Duration,
	handlers *atomic.Int64) (*work.WorkerPool, chan struct{}) {
	pool := work.NewWorkerPool(nil, processors,
		work.WorkerOptions{Redis: s.DSN(), Namespace: redistest.Namespace(b), Logger: pooltest.Silent()})
	left, done := atomic.Int64{}, make(chan struct{})
	left.Store(int64(jobs))
	for i := range 10 {
		pool.Job(fmt.Sprintf("job%d", i), func() error {
			if sleep > 0 {
				begun := time.Now()
				<-time.After(sleep)
				handlers.Add(int64(time.Since(begun)))
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
