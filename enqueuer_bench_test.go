package work

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// benchmarkEnqueue lets that many callers share one Enqueuer, on a real Redis.
func benchmarkEnqueue(b *testing.B, callers int, enqueue func(enq *Enqueuer) (jobs int, err error)) {
	s := redistest.Real(b)
	enq, err := NewEnqueuer(s.DSN(), Namespace(redistest.Namespace(b)))
	require.NoError(b, err)
	b.Cleanup(func() {
		_, err := enq.core.store.Driver().Pipeline(context.Background(), rdb.Call{Command: "FLUSHDB"})
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
			benchmarkEnqueue(b, callers, func(enq *Enqueuer) (int, error) {
				_, err := enq.Enqueue(context.Background(), "create_watch", 1234567890123456, 42)
				return 1, err
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func BenchmarkEnqueueMany(b *testing.B) {
	entries := make([]Entry, 5000)
	for i := range entries {
		entries[i] = Entry{Name: "create_watch", Args: []any{1234567890123456, 42}}
	}
	benchmarkEnqueue(b, 1, func(enq *Enqueuer) (int, error) {
		_, err := enq.EnqueueMany(context.Background(), entries)
		return len(entries), err
	})
	b.ReportMetric(float64(b.N*len(entries))/b.Elapsed().Seconds(), "jobs/s")
}

func BenchmarkPrepare(b *testing.B) {
	enq := newEnqueuer(rdb.NewStore(&stubDriver{}, "bench"), 0, 0, nil)
	entry := Entry{Name: "create_watch", Args: []any{1234567890123456, "some text", true}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := enq.prepare(&entry); err != nil {
			b.Fatal(err)
		}
	}
}
