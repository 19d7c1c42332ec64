package needs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

func TestMain(m *testing.M) { redistest.Main(m) }

// labelled are the options of one more pool, whose workers have these labels.
func (k *kit) labelled(labels ...string) work.WorkerOptions {
	o := k.Another(pooltest.NewSpy())
	o.Labels = labels
	return o
}

// needing enqueues a job with that number that needs these labels.
func (k *kit) needing(name string, n int, labels ...string) work.Receipt {
	k.T.Helper()
	receipt, err := k.Enq.With(work.Needs(labels...)).Enqueue(k.Ctx(), name, n)
	require.NoError(k.T, err)
	return receipt
}

// recorder is a handler that tells which jobs it ran.
type recorder chan int

func newRecorder() recorder { return make(recorder, 10_000) }

func (r recorder) handle(n int) error { r <- n; return nil }

// ran waits for the next so many jobs, and returns their numbers as they came.
func (r recorder) ran(t *testing.T, many int) []int {
	t.Helper()
	all := make([]int, many)
	for i := range all {
		all[i] = pooltest.Receive(t, r)
	}
	return all
}

// idle asserts that nothing else has run.
func (r recorder) idle(t *testing.T) {
	t.Helper()
	require.Empty(t, r)
}
