package worktest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
)

func TestABatchRunsInline(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	sizes := make(chan int, 3)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{}).JobWithOptions("index",
		work.JobOptions{Together: work.Together{Most: 500, Wait: time.Hour}}, func(batch work.Batch[string]) error {
			sizes <- len(batch)
			for _, item := range batch {
				item.Job.Logger().Info("about " + item.Args)
				switch item.Args {
				case "bad":
					item.Fail(boom)
				case "large":
					item.Return(len(item.Args))
				}
			}
			return work.Discard(nil)
		})
	begun := time.Now()
	outcomes := RunTogether(t, pool, "index", "bad", "large", "other")
	assert.Less(t, time.Since(begun), patience)
	assert.Equal(t, 3, <-sizes)
	assert.Equal(t, []work.Ending{work.EndingRetry, work.EndingDone, work.EndingDiscard},
		[]work.Ending{outcomes[0].Ending, outcomes[1].Ending, outcomes[2].Ending})
	assert.ErrorIs(t, outcomes[0].Err, boom)
	assert.Equal(t, 5, ResultOf[int](t, outcomes[1]))
	assert.Equal(t, "about other", outcomes[2].Log[0].Message)
	assert.Len(t, outcomes[2].Log, 1)

	alone := Run(t, pool, "index", "other")
	assert.Equal(t, 1, <-sizes)
	assert.Equal(t, work.EndingDiscard, alone.Ending)
}
