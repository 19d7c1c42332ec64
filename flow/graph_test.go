package flow_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// runs are the jobs that ran, in order.
type runs struct {
	mu    sync.Mutex
	names []string
}

func (r *runs) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
}

func (r *runs) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

// done is a handler that notes the id of its job and is done.
func (r *runs) done(job *work.Job) error {
	r.note(job.ID)
	return nil
}

// pool starts a pool whose job "ok" notes its id and is done, and whose job "bad" notes its id and dies.
func (k *kit) pool(r *runs) *work.WorkerPool {
	k.T.Helper()
	return k.Start(work.NewWorkerPool(nil, 4, k.Options()).
		Job("ok", func(job *work.Job) (string, error) {
			r.note(job.ID)
			return "of " + job.ID, nil
		}).
		Job("bad", func(job *work.Job) error {
			r.note(job.ID)
			return work.Bury(errors.New("no"))
		}).
		Job("drop", func(job *work.Job) error {
			r.note(job.ID)
			return work.Discard(errors.New("no"))
		}).
		Job("logs", func(job *work.Job) error { // so it ends by a call of its own
			job.Logger().Info("a line")
			return nil
		}).
		Job("asks", func(ctx context.Context, job *work.Job, members ...string) error {
			for _, member := range members {
				result, err := flow.Result[string](ctx, job, member)
				if err != nil {
					r.note(err.Error())
				} else {
					r.note(result)
				}
			}
			return nil
		}))
}

// stored stores a flow.
func (k *kit) stored(f *flow.Flow) flow.Receipt {
	k.T.Helper()
	receipt, err := flow.Enqueue(k.Ctx(), k.Enq, f)
	require.NoError(k.T, err)
	return receipt
}

// ended waits for the end of a flow.
func (k *kit) ended(id string) flow.Progress {
	k.T.Helper()
	p, err := flow.Wait(k.Ctx(), k.Enq, id)
	require.NoError(k.T, err)
	return p
}

func TestAJobRunsWhenAllThatItWaitsForAreDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.pool(r)
		f := flow.New("f")
		a, b := f.Job("ok").Named("a"), f.Job("ok").Named("b")
		c := f.Job("ok").Named("c").After(a, b)
		f.Job("asks", "c", "a").Named("d").After(c)
		f.OnDone("ok").OnDeath("bad")
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 4}, k.stored(f))
		p := k.ended("f")
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, flow.Done, p.State)
		assert.Equal(t, 4, p.Done)
		ran := r.all()
		slices.Sort(ran[:2])
		assert.Equal(t, []string{"f/a", "f/b", "f/c", "of f/c",
			`result of "a" is not one that job "d" waits for: name "a" in After of that job`, "f/@done"}, ran)
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 4, Duplicate: true}, k.stored(f))
		k.Empty("ok", "asks")
	})
}

// A result is decoded as Wait of a job does it.
func TestAResultInAnAnyIsNotRounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, got := newKit(t, s), make(chan any, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("count", func() (int64, error) { return 1234567890123456789, nil }).
			Job("take", func(ctx context.Context, job *work.Job) error {
				count, err := flow.Result[any](ctx, job, "count")
				got <- count
				return err
			}))
		f := flow.New("f")
		f.Job("take").After(f.Job("count"))
		k.stored(f)
		assert.Equal(t, int64(1234567890123456789), pooltest.Receive(t, got))
		k.Drained(pool)
	})
}
