package pools_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// deafHandler is a handler that ignores its ctx, and tells when that has ended.
type deafHandler struct {
	over    chan string
	release chan struct{}
}

func newDeafHandler() *deafHandler {
	return &deafHandler{over: make(chan string, 1000), release: make(chan struct{})}
}

func (d *deafHandler) handle(ctx context.Context, job *work.Job) error {
	<-ctx.Done()
	d.over <- job.ID
	<-d.release
	return nil
}

// atOnce is the time of the jobs of these tests: it is up when they begin.
var atOnce = work.JobOptions{Timeout: time.Nanosecond}

// probe is the status of a probe, and its body.
func probe(pool *work.WorkerPool, path string) (int, string) {
	answer := httptest.NewRecorder()
	pool.HealthHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

// hangs waits until the pool says that every processor hangs, and returns the problem.
func (k *kit) hangs(pool *work.WorkerPool) work.HealthProblem {
	k.T.Helper()
	var unhealthy *work.UnhealthyError
	k.Until("every processor hangs", func() bool {
		unhealthy = nil
		err := pool.Healthy(k.Ctx())
		return err != nil && assert.ErrorAs(k.T, err, &unhealthy)
	})
	require.Len(k.T, unhealthy.Problems, 1)
	require.ErrorIs(k.T, unhealthy, work.ErrProcessorsHang)
	status, _ := probe(pool, "/live")
	assert.Equal(k.T, http.StatusOK, status, "the handler may return; who restarts a process wants to know that first")
	return unhealthy.Problems[0]
}

func TestReadyFailsWhileEveryProcessorIsOverItsTime(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 3} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDeafHandler()
				options := k.Options()
				options.Prefetch = 4
				before := time.Now()
				pool := k.Start(work.NewWorkerPool(nil, concurrency, options).JobWithOptions("deaf", atOnce, d.handle))
				var ids []string
				for i := range concurrency {
					require.NoError(t, pool.Healthy(k.Ctx()), "%d of %d hang", i, concurrency)
					ids = append(ids, k.Enqueue("deaf").ID)
					assert.Equal(t, ids[i], pooltest.Receive(t, d.over))
				}
				behind := k.Enqueue("deaf").ID

				problem := k.hangs(pool)
				assert.Equal(t, "processors", problem.Component)
				assert.Empty(t, problem.Worker, "it is the pool's")
				assert.WithinRange(t, problem.Since, before, time.Now())
				assert.ErrorContains(t, problem.Err, fmt.Sprintf(": %d processors, jobs ", concurrency))
				for _, id := range ids {
					assert.ErrorContains(t, problem.Err, fmt.Sprintf("%q (deaf)", id))
				}
				assert.NotContains(t, problem.Err.Error(), behind, "it has not begun")
				status, body := probe(pool, "/ready")
				assert.Equal(t, http.StatusServiceUnavailable, status)
				assert.Contains(t, body, work.ErrProcessorsHang.Error())

				close(d.release)
				assert.Equal(t, behind, pooltest.Receive(t, d.over), "it goes on")
				k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
				status, _ = probe(pool, "/ready")
				assert.Equal(t, http.StatusOK, status)
				k.Drained(pool)
			})
		})
	}
}

func TestAJobWithoutATimeoutIsNeverOverIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		g := pooltest.NewGauge()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).JobWithOptions("deaf", atOnce, d.handle).
			Job("endless", g.Handle).
			JobWithOptions("heeds", atOnce, func(ctx context.Context) error { <-ctx.Done(); return nil }))
		k.Enqueue("deaf")
		pooltest.Receive(t, d.over)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("heeds").ID))
		k.Enqueue("endless")
		g.Began(t, 1)
		require.NoError(t, pool.Healthy(k.Ctx()))
		g.Release()
		close(d.release)
		k.Drained(pool)
	})
}

// A cancelled job has no time either, and its handler was told to return.
func TestACancelledJobThatIsDeafHoldsItsProcessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("deaf", d.handle)
		pooltest.Times(pool).Stuck = time.Microsecond
		k.Start(pool)
		id := k.Enqueue("deaf").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		assert.Equal(t, work.CancelFlagged, k.Cancel(id).Effect)
		pooltest.Receive(t, d.over)
		assert.ErrorContains(t, k.hangs(pool).Err, id)
		assert.Equal(t, 1, pooltest.Count[event.JobStuck](k.Spy))
		close(d.release)
		k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		k.Drained(pool)
	})
}

// A batch has one processor, and its time is the longest of its jobs.
func TestABatchThatIsDeafHoldsOneProcessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		options := atOnce
		options.Together = work.Together{Most: 3, Wait: time.Hour}
		pool := work.NewWorkerPool(nil, 2, k.Options()).JobWithOptions("index", options,
			func(ctx context.Context, batch work.Batch[int]) error { return d.handle(ctx, batch[0].Job) })
		pooltest.Times(pool).Stuck = time.Microsecond
		k.Start(pool)
		k.EnqueueNumbers("index", 0, 3)
		first := pooltest.Receive(t, d.over)
		pooltest.Await[event.JobStuck](t, k.Spy, nil)
		require.NoError(t, pool.Healthy(k.Ctx()), "the other processor is free")
		k.EnqueueNumbers("index", 3, 6)
		second := pooltest.Receive(t, d.over)
		problem := k.hangs(pool)
		assert.ErrorContains(t, problem.Err, ": 2 processors, jobs ")
		for _, id := range []string{first, second} {
			assert.ErrorContains(t, problem.Err, fmt.Sprintf("%q (index) with 2 more", id))
		}
		close(d.release)
		k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		k.Drained(pool)
	})
}

// A handler that waits for another job holds no processor, whatever its time says. When it comes back beside others it
// holds one more than there are, until one of them returns.
func TestAHandlerThatWaitsHoldsNoProcessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		k.Enq = k.Enq.With(work.Retention(time.Hour))
		over := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("deaf", atOnce, d.handle).
			JobWithOptions("parent", atOnce, func(ctx context.Context) error {
				child, err := k.Enq.Enqueue(k.Ctx(), "child")
				if err != nil {
					return err
				}
				<-ctx.Done()
				over <- struct{}{}
				_, err = work.Wait[any](context.WithoutCancel(ctx), k.Enq, child.ID)
				return err
			}).
			Job("child", func() error { <-over; return nil }))
		k.Enqueue("parent")
		pooltest.Receive(t, over)
		k.Until("it waits", func() bool { return pooltest.Parts(pool).Slots.Away() == 1 })
		require.NoError(t, pool.Healthy(k.Ctx()), "its processor runs the child")
		over <- struct{}{}
		k.Enqueue("deaf")
		pooltest.Receive(t, d.over)
		k.hangs(pool)
		close(d.release)
		k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		k.Drained(pool)
	})
}

// A pool that can take more processors has some that do not hang.
func TestAPoolThatGrowsDoesNotHang(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		const most = pooltest.MaxPerWorker + 1
		pool := k.Start(work.NewWorkerPool(nil, most, k.Options()).JobWithOptions("deaf", atOnce, d.handle))
		for range pooltest.MaxPerWorker {
			k.Enqueue("deaf")
			pooltest.Receive(t, d.over)
		}
		require.NoError(t, pool.Healthy(k.Ctx()), "it has not taken its last processor yet")
		k.Enqueue("deaf")
		pooltest.Receive(t, d.over)
		problem := k.hangs(pool)
		assert.ErrorContains(t, problem.Err, fmt.Sprintf(": %d processors, jobs ", most))
		assert.Less(t, len(problem.Err.Error()), 2000, "a text that people can read")
		close(d.release)
		k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		k.Drained(pool)
	})
}

func TestAPoolThatHangsAndStopsOnlyStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDeafHandler()
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("deaf", atOnce, d.handle))
		k.Enqueue("deaf")
		pooltest.Receive(t, d.over)
		k.hangs(pool)
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(context.Background()) }()
		<-pooltest.UntilStopping(pool)
		err := pool.Healthy(k.Ctx())
		require.ErrorIs(t, err, work.ErrStopping)
		assert.NotErrorIs(t, err, work.ErrProcessorsHang)
		close(d.release)
		require.NoError(t, pooltest.Receive(t, stopped))
	})
}
