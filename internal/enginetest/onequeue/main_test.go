package onequeue_test

import (
	"fmt"
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

// mail are the options of jobs that share the queue "mail".
var mail = work.JobOptions{Queue: "mail"}

// pool is a pool of so many processors that runs jobs of these names with a recorder, all in one queue.
func (k *kit) pool(ran recorder, processors int, names ...string) *work.WorkerPool {
	return k.poolOf(mail, ran, processors, names...)
}

func (k *kit) poolOf(options work.JobOptions, ran recorder, processors int, names ...string) *work.WorkerPool {
	p := work.NewWorkerPool(nil, processors, k.Another(pooltest.NewSpy()))
	for _, name := range names {
		p.JobWithOptions(name, options, ran.handle)
	}
	return p
}

// shares has jobs of these names share the queue, by a pool that runs none of them.
func (k *kit) shares(options work.JobOptions, names ...string) {
	k.T.Helper()
	p := k.poolOf(options, newRecorder(), 1, names...)
	require.NoError(k.T, p.Withdraw(k.Ctx(), names...))
	require.NoError(k.T, k.Stop(k.Start(p)))
}

// alternate enqueues so many jobs, of each of the names in turn, and returns them as a recorder tells of them.
func (k *kit) alternate(many int, names ...string) (jobs []string) {
	k.T.Helper()
	for n := range many {
		name := names[n%len(names)]
		k.Enqueue(name, n)
		jobs = append(jobs, fmt.Sprintf("%s %d", name, n))
	}
	return jobs
}

// recorder is a handler that tells which jobs it ran, by their names and numbers.
type recorder chan string

func newRecorder() recorder { return make(recorder, 10_000) }

func (r recorder) handle(job *work.Job, n int) error {
	r <- fmt.Sprintf("%s %d", job.Name, n)
	return nil
}

// ran waits for the next so many jobs, and returns them as they came.
func (r recorder) ran(t *testing.T, many int) []string {
	t.Helper()
	all := make([]string, many)
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
