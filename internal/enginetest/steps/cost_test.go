package steps_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAStepIsOneRequest, also one that waits, and what was done by earlier attempts is read with one.
func TestAStepIsOneRequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("import", soon, func(ctx context.Context, job *work.Job) error {
				for _, name := range []string{"a", "b", "c"} {
					if err := d.step(ctx, name); err != nil {
						return err
					}
				}
				if job.Attempt == 1 {
					return pooltest.ErrLuck
				}
				_, err := work.Receive[int](ctx, "go")
				return err
			})
		driver := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		sent := func() (steps, asked, read int) {
			steps, _ = driver.Sent("step")
			asked, _ = driver.Sent("receive")
			read, _ = driver.Sent("HGETALL")
			return steps, asked, read
		}
		_, _, before := sent()
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](id))
		steps, asked, read := sent()
		assert.Equal(t, []int{3, 1, 1}, []int{steps, asked, read - before}, "of two attempts, which has begun to wait")
		k.send(id, "go", 1)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		steps, asked, read = sent()
		assert.Equal(t, []int{3, 2, 2}, []int{steps, asked, read - before})
	})
}
