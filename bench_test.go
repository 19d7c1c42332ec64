package work_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// benchmarkEnqueue lets that many callers share one Enqueuer, on a real Redis.
func benchmarkEnqueue(b *testing.B, callers int, enqueue func(enq *work.Enqueuer) (jobs int, err error)) {
	s := redistest.Real(b)
	enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(redistest.Namespace(b)))
	require.NoError(b, err)
	b.Cleanup(func() {
		_, err := pooltest.StoreOf(enq).Driver().Pipeline(context.Background(), redisconn.Call{Command: "FLUSHDB"})
		require.NoError(b, err)
		require.NoError(b, enq.Close())
	})
	_, err = enqueue(enq)
	require.NoError(b, err)
	b.ReportAllocs()
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	run := func(more func() bool) {
		for more() {
			if _, err := enqueue(enq); err != nil {
				b.Error(err)
				return
			}
		}
	}
	if callers == 1 {
		run(b.Loop)
		return
	}
	b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
}

func BenchmarkEnqueue(b *testing.B) {
	for _, callers := range []int{1, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			benchmarkEnqueue(b, callers, func(enq *work.Enqueuer) (int, error) {
				_, err := enq.Enqueue(context.Background(), "create_watch", 1234567890123456, 42)
				return 1, err
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func BenchmarkEnqueueMany(b *testing.B) {
	entries := make([]work.Entry, 5000)
	for i := range entries {
		entries[i] = work.Entry{Name: "create_watch", Args: []any{1234567890123456, 42}}
	}
	benchmarkEnqueue(b, 1, func(enq *work.Enqueuer) (int, error) {
		_, err := enq.EnqueueMany(context.Background(), entries)
		return len(entries), err
	})
	b.ReportMetric(float64(b.N*len(entries))/b.Elapsed().Seconds(), "jobs/s")
}

func BenchmarkPrepare(b *testing.B) {
	enq := pooltest.EnqueuerOn(&pooltest.StubDriver{}, "bench")
	entry := work.Entry{Name: "create_watch", Args: []any{1234567890123456, "some text", true}}
	b.ReportAllocs()
	for b.Loop() {
		if err := enq.PrepareOne(&entry); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProcess runs no-op jobs of ten names that wait already: the whole way from fetch to acknowledgement.
func BenchmarkProcess(b *testing.B) {
	for _, concurrency := range []int{20, 200} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) { benchmarkProcess(b, concurrency) })
	}
}

func benchmarkProcess(b *testing.B, concurrency int) {
	s := redistest.Dedicated(b)
	namespace := redistest.Namespace(b)
	pool := work.NewWorkerPool(nil, concurrency,
		work.WorkerOptions{Redis: s.DSN(), Namespace: namespace, Logger: pooltest.Silent()})
	left := atomic.Int64{}
	left.Store(int64(b.N))
	done := make(chan struct{})
	for i := range 10 {
		pool.Job(fmt.Sprintf("job%d", i), func() error {
			if left.Add(-1) == 0 {
				close(done)
			}
			return nil
		})
	}
	enq := pool.Enqueuer()
	entries := make([]work.Entry, 0, 5000)
	for i := 0; i < b.N; i += len(entries) {
		entries = entries[:0]
		for j := i; j < min(i+5000, b.N); j++ {
			entries = append(entries, work.Entry{Name: fmt.Sprintf("job%d", j%10)})
		}
		_, err := enq.EnqueueMany(context.Background(), entries)
		require.NoError(b, err)
	}
	b.ReportAllocs()
	before := redisCPU(b, s)
	b.ResetTimer()
	require.NoError(b, pool.Start(context.Background()))
	<-done
	require.NoError(b, pool.Stop(context.Background()))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric((redisCPU(b, s)-before)/float64(b.N), "redis-us/job")
}

// BenchmarkTogether runs jobs of one name that wait already, one by one and taken together. Their handlers do nothing,
// or wait for a millisecond, as for an answer of something else.
func BenchmarkTogether(b *testing.B) {
	for name, c := range map[string]struct {
		concurrency, most int
		call              time.Duration
	}{
		"one by one, 20": {20, 0, 0}, "one by one, 200": {200, 0, 0}, "50, 2": {2, 50, 0}, "500, 2": {2, 500, 0},
		"one by one, 20, 1 ms": {20, 0, time.Millisecond}, "500, 2, 1 ms": {2, 500, time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) {
			left := atomic.Int64{}
			left.Store(int64(b.N))
			done := make(chan struct{})
			ended := func(n int) error {
				if c.call > 0 {
					<-time.After(c.call)
				}
				if left.Add(int64(-n)) == 0 {
					close(done)
				}
				return nil
			}
			var handler any = func(int) error { return ended(1) }
			if c.most > 0 {
				handler = func(batch work.Batch[int]) error { return ended(len(batch)) }
			}
			s := redistest.Dedicated(b)
			pool := work.NewWorkerPool(nil, c.concurrency, work.WorkerOptions{Redis: s.DSN(),
				Namespace: redistest.Namespace(b), Logger: pooltest.Silent()}).
				JobWithOptions("index", work.JobOptions{Together: work.Together{Most: c.most}}, handler)
			for i := 0; i < b.N; i += 5000 {
				var entries []work.Entry
				for j := i; j < min(i+5000, b.N); j++ {
					entries = append(entries, work.Entry{Name: "index", Args: []any{j}})
				}
				_, err := pool.Enqueuer().EnqueueMany(context.Background(), entries)
				require.NoError(b, err)
			}
			before := redisCPU(b, s)
			b.ResetTimer()
			require.NoError(b, pool.Start(context.Background()))
			<-done
			require.NoError(b, pool.Stop(context.Background()))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			b.ReportMetric((redisCPU(b, s)-before)/float64(b.N), "redis-us/job")
		})
	}
}

// redisCPU is the time that the server's processor has worked, in microseconds.
func redisCPU(b *testing.B, s *redistest.Process) float64 {
	conn, err := redis.DialURL(s.DSN())
	require.NoError(b, err)
	defer conn.Close()
	info, err := redis.String(conn.Do("INFO", "cpu"))
	require.NoError(b, err)
	spent := 0.0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			spent += seconds * 1e6
		}
	}
	return spent
}
