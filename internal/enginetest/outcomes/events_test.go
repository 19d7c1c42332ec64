package outcomes_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestIDsWithoutARecordAreDroppedWithAnEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("LPUSH", "queue:a", "ghost 1", "ghost 2")
		k.Do("SADD", "ready", "a")
		id := k.Enqueue("a").ID
		pool := k.Start(work.NewWorkerPool(nil, 5, k.Options()).Job("a", func() error { return nil }))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		k.Drained(pool)
		assert.Equal(t, 2, pooltest.Await[event.JobsDropped](t, k.Spy, nil).Count)
		k.Empty("a")
	})
}

func TestABrokenKeyIsReportedOnceByItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SET", "queue:broken", "by hand")
		k.Do("SADD", "ready", "broken")
		k.Start(work.NewWorkerPool(nil, 5, k.Options()).
			Job("broken", func() error { return nil }).
			Job("sound", func() error { return nil }))
		assert.Equal(t, "{"+k.Namespace+"}:queue:broken", pooltest.Await[event.KeyBroken](t, k.Spy, nil).Key)
		for range 20 {
			pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("sound").ID))
		}
		assert.Equal(t, 1, pooltest.Count[event.KeyBroken](k.Spy))
	})
}

// A worker that is taken out of workers by hand is what a reaper leaves of one that was silent for too long.
func TestAFencedHandlerThatDoesNotReturnIsStuck(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release, begun := make(chan struct{}), make(chan struct{}, 2)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("deaf", func(job *work.Job) error {
			begun <- struct{}{}
			<-release
			return nil
		})
		pooltest.Times(pool).Stuck = 5 * time.Millisecond
		k.Start(pool)
		id := k.Enqueue("deaf").ID
		pooltest.Receive(t, begun)
		worker := pooltest.Await[event.WorkerStarted](t, k.Spy, nil).Worker
		k.Do("SREM", "workers", worker)
		fenced := pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		assert.Equal(t, event.WorkerFenced{Worker: worker, Next: fenced.Next, Jobs: 1}, fenced)
		stuck := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStuck](id))
		require.ErrorIs(t, stuck.Cause, work.ErrFenced)
		assert.Equal(t, worker, stuck.Worker)
		close(release)
		k.Drained(pool)
		assert.Equal(t, 1, pooltest.Count[event.JobStuck](k.Spy))
	})
}

func TestAFetchAndASettlementOfManyJobsAreOneEventEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 7
		for range jobs {
			k.Enqueue("a")
		}
		together := make(chan struct{}, jobs)
		pool := work.NewWorkerPool(nil, 10, k.Options()).Job("a", func() error {
			together <- struct{}{}
			for len(together) < jobs { // so that there is one fetch, as its processors come free afterwards only
				runtime.Gosched()
			}
			return nil
		})
		require.NoError(t, pool.Start(k.Ctx()))
		k.Drained(pool)
		require.NoError(t, k.Stop(pool)) // the event follows what it tells of
		worker := pooltest.Await[event.WorkerStarted](t, k.Spy, nil).Worker
		fetched, settled := event.JobsFetched{}, 0
		events, _ := k.Spy.All()
		for _, e := range events {
			switch e := e.(type) {
			case event.JobsFetched:
				assert.Positive(t, e.Asked, "a look for work is no fetch")
				assert.Equal(t, worker, e.Worker)
				if e.Jobs > 0 {
					assert.Zero(t, fetched, "one fetch brings all")
					fetched = e
				}
			case event.JobsSettled:
				assert.Positive(t, e.Jobs)
				assert.Equal(t, worker, e.Worker)
				settled += e.Jobs
			}
		}
		assert.Equal(t, event.JobsFetched{Worker: worker, Jobs: jobs, Asked: 10}, fetched)
		assert.Equal(t, jobs, settled)
	})
}
