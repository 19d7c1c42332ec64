package flow_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// These tests are about a member that stores a batch and waits for it, as in ExampleBatch_inAFlow.

// importing is a pool that runs such a member; row is the job of the batch.
func (k *kit) importing(r *runs, row func() error) *work.WorkerPool {
	return work.NewWorkerPool(nil, 1, k.Another(k.Spy)).
		Job("import", importRows).
		Job("row", func(job *work.Job, _ string) error {
			r.note(job.ID)
			return row()
		}).
		Job("rows_ended", tellRowsEnded).
		Job("ok", r.done)
}

// anImport is a flow of such a member, and of one that waits for it.
func anImport() *flow.Flow {
	f := flow.New("f")
	f.Job("ok").After(f.Job("import", "ann", "bob"))
	return f
}

// theRows is the batch of its member.
const theRows = "rows of f.import"

// The worker dies when the batch is stored and sealed, and before the member knows, or before it waits: the next
// attempt stores the same batch, which is there once, and waits for it.
func TestAMemberThatDiesBetweenItsBatchAndTheWaitStoresItOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, script := range map[string]string{"before it knows": "step", "before it waits": "shelve"} {
			t.Run(name, func(t *testing.T) {
				k, r := newKit(t, s), &runs{}
				doomed := k.importing(r, func() error { return nil })
				var stopped atomic.Bool
				reached := make(chan string, 1)
				k.TamperWith(doomed, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
					calls []redisconn.Call) ([]redisconn.Reply, error) {
					is := func(c redisconn.Call) bool { return pooltest.NameOf(c) == script }
					if slices.ContainsFunc(calls, is) && stopped.CompareAndSwap(false, true) {
						reached <- script
					}
					if stopped.Load() { // from now on it does nothing more
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return pass(ctx, calls...)
				}})
				k.Start(doomed)
				k.stored(anImport())
				pooltest.Receive(t, reached)
				assert.Equal(t, flow.Running, k.stateOf(theRows), "it is sealed")
				k.Crash(doomed)
				pool := k.Start(k.importing(r, func() error { return nil }))
				assert.Equal(t, flow.Done, k.ended("f").State)
				k.Drained(pool)
				p, err := flow.Read(k.Ctx(), k.Enq, theRows)
				require.NoError(t, err)
				assert.Equal(t, []any{flow.Done, 2, 2, 1}, []any{p.State, p.Total, p.Done, p.Generation})
				ran := r.all()
				assert.Equal(t, "f/ok", ran[len(ran)-1], "it has waited for all")
				slices.Sort(ran)
				assert.Equal(t, []string{"f/ok", theRows + "/1", theRows + "/2"}, slices.Compact(ran))
			})
		}
	})
}

// While it waits the member has no processor: else the only one would be taken, and no row would run. Where a row dies
// the member dies too, and both are retried, the batch first.
func TestAMemberWaitsForItsBatchWithoutAProcessorAndDiesWithIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		fails := true
		pool := k.Start(k.importing(r, func() error {
			if fails {
				fails = false
				return work.Bury(errors.New("no"))
			}
			return nil
		}))
		k.stored(anImport())
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, flow.DeadEnded, k.stateOf(theRows))
		for _, id := range []string{theRows, "f"} {
			_, err := flow.Retry(k.Ctx(), k.Enq, id)
			require.NoError(t, err)
		}
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		ran := r.all()
		slices.Sort(ran[:2])
		assert.Equal(t, []string{theRows + "/1", theRows + "/2"}, ran[:2])
		assert.Equal(t, "f/ok", ran[3])
		assert.Len(t, ran, 4)
	})
}
