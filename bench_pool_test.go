package work

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// BenchmarkProcess runs no-op jobs of ten names that wait already: the whole way from fetch to acknowledgement.
func BenchmarkProcess(b *testing.B) {
	for _, concurrency := range []int{20, 200} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) { benchmarkProcess(b, concurrency) })
	}
}

func benchmarkProcess(b *testing.B, concurrency int) {
	s := redistest.Dedicated(b)
	namespace := redistest.Namespace(b)
	pool := NewWorkerPool(nil, concurrency, WorkerOptions{Redis: s.DSN(), Namespace: namespace, Logger: silent()})
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
	entries := make([]Entry, 0, 5000)
	for i := 0; i < b.N; i += len(entries) {
		entries = entries[:0]
		for j := i; j < min(i+5000, b.N); j++ {
			entries = append(entries, Entry{Name: fmt.Sprintf("job%d", j%10)})
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
