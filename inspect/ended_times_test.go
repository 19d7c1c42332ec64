package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// Of a job that has ended it is known when it was enqueued, when each attempt began and ended on which worker, and when
// it ended. Each is between what was seen before and after it.
func TestEachTimeOfAJobThatHasEndedIsKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		now := func() time.Time {
			at, err := k.Raw().Time(k.Ctx())
			require.NoError(t, err)
			return at
		}
		const slack = 150 * time.Millisecond // of a busy pool's idea of Redis' clock
		var moments []time.Time              // right after each thing that happens, and a while before the next one
		note := func() {
			moments = append(moments, now())
			k.Until("its times can be told apart", func() bool { return now().Sub(moments[len(moments)-1]) > 2*slack })
		}
		note()
		receipt, err := k.Enq.With(work.Retention(time.Hour)).Enqueue(k.Ctx(), "n")
		require.NoError(t, err)
		note()
		var workers []string
		for _, result := range []error{errors.New("no luck"), nil} {
			begun, release := make(chan bool), make(chan bool)
			pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
				JobWithOptions("n", work.JobOptions{Backoff: pooltest.Hourly}, func() error {
					begun <- true
					<-release
					return result
				}))
			workers = append(workers, k.ID(pool))
			<-begun
			note()
			release <- true
			k.Drained(pool)
			note()
			require.NoError(t, k.Stop(pool))
			if result != nil {
				require.NoError(t, k.hands().RetryNow(k.Ctx(), receipt.ID))
			}
		}
		job, err := k.hands().Job(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		require.Len(t, job.Attempts, 2)
		first, second := job.Attempts[0], job.Attempts[1]
		for what, row := range map[string]struct {
			at    time.Time
			after int // of the moments, and before the next one
		}{
			"enqueued": {job.EnqueuedAt, 0}, "due": {first.Due, 0}, "first begun": {job.FirstBegunAt, 1},
			"first attempt begun": {first.Begun, 1}, "first attempt ended": {first.Ended, 2},
			"second attempt due": {second.Due, 3}, "second attempt begun": {second.Begun, 3},
			"second attempt ended": {second.Ended, 4}, "ended": {job.EndedAt, 4},
		} {
			assert.False(t, row.at.Before(moments[row.after].Add(slack)), "%s: %s, not before %s", what, row.at,
				moments[row.after])
			assert.False(t, row.at.After(moments[row.after+1].Add(slack)), "%s: %s, not after %s", what, row.at,
				moments[row.after+1])
		}
		assert.Equal(t, workers, []string{first.Worker, second.Worker})
	})
}
