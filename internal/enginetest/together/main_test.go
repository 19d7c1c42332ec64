package together_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

// sieve is a handler that notes its batches, and may say something of some of their members.
type sieve struct {
	begun chan []int
	each  func(*work.Item[int])
	wait  chan struct{} // nil where it does not wait

	mu      sync.Mutex
	batches [][]int
}

func newSieve() *sieve { return &sieve{begun: make(chan []int, 10_000)} }

func (s *sieve) handle(ctx context.Context, batch work.Batch[int]) error {
	s.mu.Lock()
	s.batches = append(s.batches, batch.Args())
	s.mu.Unlock()
	s.begun <- batch.Args()
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, item := range batch {
		if s.each != nil {
			s.each(item)
		}
	}
	return nil
}

// all are the args of all batches so far.
func (s *sieve) all() (args []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.batches...)
}

// sizes are those of all batches so far.
func (s *sieve) sizes() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batch := range s.batches {
		sizes = append(sizes, len(batch))
	}
	return sizes
}

// pool makes one whose jobs "index" go to the handler.
func (k *kit) pool(concurrency int, opts work.JobOptions, handler any) *work.WorkerPool {
	return work.NewWorkerPool(nil, concurrency, k.Options()).JobWithOptions("index", opts, handler)
}

// clean fails where anything is left of jobs, or the doctor finds something.
func (k *kit) clean(t *testing.T) {
	t.Helper()
	k.Empty("index")
	found, err := k.ByHand().Findings(k.Ctx(), time.Second)
	require.NoError(t, err)
	require.Empty(t, found)
}

// numbers are 0 to n-1.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func of(most int, wait time.Duration) work.JobOptions {
	return work.JobOptions{Together: work.Together{Most: most, Wait: wait}}
}
