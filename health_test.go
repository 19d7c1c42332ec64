package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// problems are those of an error of Healthy.
func problems(t *testing.T, err error) []work.HealthProblem {
	t.Helper()
	var unhealthy *work.UnhealthyError
	require.ErrorAs(t, err, &unhealthy)
	require.NotEmpty(t, unhealthy.Problems)
	return unhealthy.Problems
}

// probe asks a path of the pool's handler.
func probe(t *testing.T, p *work.WorkerPool, method, path string) (status int, body map[string]any) {
	t.Helper()
	answer := httptest.NewRecorder()
	p.HealthHandler().ServeHTTP(answer, httptest.NewRequest(method, path, nil))
	if answer.Header().Get("Content-Type") == "application/json" {
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	}
	return answer.Code, body
}

func TestHealthFromStartToStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := work.NewWorkerPool(nil, work.MaxPerWorker+1, k.Options()).Job("n", p.Handle)
		ready := func(want int) {
			t.Helper()
			status, _ := probe(t, pool, "GET", "/ready")
			assert.Equal(t, want, status)
			status, body := probe(t, pool, "GET", "/live")
			assert.Equal(t, http.StatusOK, status, "no reason to kill the process")
			assert.Equal(t, map[string]any{"status": "ok"}, body)
		}
		assert.Equal(t, []work.HealthProblem{{Component: "pool", Err: work.ErrNotStarted}},
			problems(t, pool.Healthy(k.Ctx())))
		ready(http.StatusServiceUnavailable)

		require.NoError(t, pool.Start(k.Ctx()))
		pool.MoreWork()
		k.Until("there are two workers",
			func() bool { return len(pooltest.WorkerIDs(pool)) == 2 })
		require.NoError(t, pool.Healthy(k.Ctx()), "at once")
		ready(http.StatusOK)

		k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		before := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(context.Background()) }()
		k.Until("it stops", pool.Stopping)
		err := pool.Healthy(k.Ctx())
		require.ErrorIs(t, err, work.ErrStopping)
		assert.WithinRange(t, problems(t, err)[0].Since, before, time.Now())
		ready(http.StatusServiceUnavailable)

		close(p.GoOn)
		require.NoError(t, pooltest.Receive(t, stopped))
		require.ErrorIs(t, pool.Healthy(k.Ctx()), work.ErrStopped)
		ready(http.StatusServiceUnavailable)
	})
}

// TestAPoolGoesOnWhenRedisComesBack: nobody has to start it again.
func TestAPoolGoesOnWhenRedisComesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		ran := make(chan string, 1)
		before := time.Now()
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("n", func(job *work.Job) error { ran <- job.ID; return nil }))

		for range 3 {
			proxy.Cut()
			assert.Equal(t, k.Enqueue("n").ID, pooltest.Receive(t, ran), "all its connections were cut")
		}
		k.Until("it is healthy", func() bool { return pool.Healthy(k.Ctx()) == nil })

		proxy.Pause()
		var err error
		k.Until("it notices", func() bool { err = pool.Healthy(k.Ctx()); return err != nil })
		require.ErrorIs(t, err, work.ErrUnanswered)
		found := problems(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, pooltest.WorkerID(pool), found[0].Worker)
		assert.Equal(t, "heartbeater", found[0].Component)
		assert.WithinRange(t, found[0].Since, before, time.Now())
		status, _ := probe(t, pool, "GET", "/live")
		assert.Equal(t, http.StatusOK, status, "another process would not have Redis either")
		status, body := probe(t, pool, "GET", "/ready")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, "failed", body["status"])
		shown := body["problems"].([]any)[0].(map[string]any)
		assert.Equal(t, "heartbeater", shown["component"])
		assert.Equal(t, pooltest.WorkerID(pool), shown["worker"])
		assert.Equal(t, found[0].Since.Format(time.RFC3339Nano), shown["since"])
		assert.Contains(t, shown["error"], work.ErrUnanswered.Error())

		proxy.Resume()
		k.Until("it is healthy again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		assert.Equal(t, k.Enqueue("n").ID, pooltest.Receive(t, ran))
		k.Drained(pool)
	})
}

// TestHealthyAfterAPause: the process was stopped for an hour, and asked before its next heartbeat.
func TestHealthyAfterAPause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", pooltest.Nothing))
		age := func() { pool.Signs().Age(liveness.Heartbeater, time.Hour) }
		// a heartbeat that came in between would hide one that does not ask; a busy machine may take over a second
		for range 5 {
			age()
			require.NoError(t, pool.HealthyBy(k.Ctx()))
		}
		ended, cancel := context.WithCancel(k.Ctx())
		cancel()
		k.Until("no heartbeat comes in between", func() bool { age(); return pool.Healthy(ended) != nil })
	})
}

func TestHealthOfAFencedWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", pooltest.Nothing))
		k.Do("SREM", "workers", pooltest.WorkerID(pool))
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		assert.NoError(t, pool.Healthy(k.Ctx()), "it is registered under its new id")
	})
}

func TestALoopThatPanicsIsNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", pooltest.Nothing))
		fail, again := make(chan bool), make(chan struct{})
		loop := pool.Loop("tester", func(ctx context.Context) {
			select {
			case <-fail:
				panic("boom")
			case <-ctx.Done():
			}
		})
		loop.Restart = func(int) time.Duration { <-again; return time.Nanosecond }
		require.NoError(t, pool.Healthy(k.Ctx()), "it was not started yet")
		loop.Start(context.Background())
		require.NoError(t, pool.Healthy(k.Ctx()))
		fail <- true
		pooltest.Await[event.LoopPanicked](t, k.Spy, nil)
		err := pool.Healthy(k.Ctx())
		require.ErrorIs(t, err, work.ErrLoopDown)
		assert.Equal(t, "tester", problems(t, err)[0].Component)
		assert.ErrorContains(t, err,
			"the worker pool is not healthy: tester of worker "+pooltest.WorkerID(pool)+", since ")
		assert.Empty(t, pool.Deadly(), "it will be started again")
		close(again)
		k.Until("it runs again", func() bool { return pool.Healthy(k.Ctx()) == nil })
		loop.Stop()
		<-loop.Done()
	})
}

func TestLiveFailsOnlyForWhatDoesNotMendItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", pooltest.Nothing))
		pool.Signs().Watched("tester", func(context.Context) {})(k.Ctx()) // it ends at once
		pool.Signs().Age("tester", time.Hour)
		status, body := probe(t, pool, "GET", "/live")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, "tester", body["problems"].([]any)[0].(map[string]any)["component"])
	})
}

func TestHealthHandlerServesNothingElse(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost", Logger: pooltest.Silent()}).
		Job("n", pooltest.Nothing)
	for name, c := range map[string]struct {
		method, path string
		want         int
	}{
		"another path": {"GET", "/", http.StatusNotFound},
		"a POST":       {"POST", "/live", http.StatusMethodNotAllowed},
		"a HEAD":       {"HEAD", "/live", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _ := probe(t, pool, c.method, c.path)
			assert.Equal(t, c.want, status)
		})
	}
	require.NoError(t, pool.Stop(context.Background()))
}

// deadlined notes the deadline that a handler sets for what it reads.
type deadlined struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlined) SetReadDeadline(at time.Time) error { d.read = at; return nil }

// A probe has no body. A client that announces a body and never sends it must not keep the connection open.
func TestAProbeDoesNotWaitForABody(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost", Logger: pooltest.Silent()}).
		Job("n", pooltest.Nothing)
	answer := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	pool.HealthHandler().ServeHTTP(answer, httptest.NewRequest("POST", "/live", bytes.NewReader([]byte("x"))))
	assert.False(t, answer.read.IsZero())
	require.NoError(t, pool.Stop(context.Background()))
}
