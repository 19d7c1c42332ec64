package work

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// problems are those of an error of Healthy.
func problems(t *testing.T, err error) []HealthProblem {
	t.Helper()
	var unhealthy *UnhealthyError
	require.ErrorAs(t, err, &unhealthy)
	require.NotEmpty(t, unhealthy.Problems)
	return unhealthy.Problems
}

// probe asks a path of the pool's handler.
func probe(t *testing.T, p *WorkerPool, method, path string) (status int, body map[string]any) {
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
		p := newPatient()
		pool := NewWorkerPool(nil, maxPerWorker+1, k.options()).Job("n", p.handle)
		ready := func(want int) {
			t.Helper()
			status, _ := probe(t, pool, "GET", "/ready")
			assert.Equal(t, want, status)
			status, body := probe(t, pool, "GET", "/live")
			assert.Equal(t, http.StatusOK, status, "no reason to kill the process")
			assert.Equal(t, map[string]any{"status": "ok"}, body)
		}
		assert.Equal(t, []HealthProblem{{Component: "pool", Err: ErrNotStarted}}, problems(t, pool.Healthy(k.ctx())))
		ready(http.StatusServiceUnavailable)

		require.NoError(t, pool.Start(k.ctx()))
		pool.recruiter.call()
		k.until("there are two workers",
			func() bool { pool.mu.Lock(); defer pool.mu.Unlock(); return len(pool.workers) == 2 })
		require.NoError(t, pool.Healthy(k.ctx()), "at once")
		ready(http.StatusOK)

		k.enqueue("n")
		receive(t, p.began)
		before := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(context.Background()) }()
		k.until("it stops", pool.workers[0].stopping)
		err := pool.Healthy(k.ctx())
		require.ErrorIs(t, err, ErrStopping)
		assert.WithinRange(t, problems(t, err)[0].Since, before, time.Now())
		ready(http.StatusServiceUnavailable)

		close(p.goOn)
		require.NoError(t, receive(t, stopped))
		require.ErrorIs(t, pool.Healthy(k.ctx()), ErrStopped)
		ready(http.StatusServiceUnavailable)
	})
}

// TestAPoolGoesOnWhenRedisComesBack: nobody has to start it again.
func TestAPoolGoesOnWhenRedisComesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.options()
		options.Redis = proxy.DSN()
		ran := make(chan string, 1)
		before := time.Now()
		pool := k.start(NewWorkerPool(nil, 1, options).Job("n", func(job *Job) error { ran <- job.ID; return nil }))

		for range 3 {
			proxy.Cut()
			assert.Equal(t, k.enqueue("n").ID, receive(t, ran), "all its connections were cut")
		}
		k.until("it is healthy", func() bool { return pool.Healthy(k.ctx()) == nil })

		proxy.Pause()
		var err error
		k.until("it notices", func() bool { err = pool.Healthy(k.ctx()); return err != nil })
		require.ErrorIs(t, err, ErrUnanswered)
		found := problems(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, pool.id(), found[0].Worker)
		assert.Equal(t, "heartbeater", found[0].Component)
		assert.WithinRange(t, found[0].Since, before, time.Now())
		status, _ := probe(t, pool, "GET", "/live")
		assert.Equal(t, http.StatusOK, status, "another process would not have Redis either")
		status, body := probe(t, pool, "GET", "/ready")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, "failed", body["status"])
		shown := body["problems"].([]any)[0].(map[string]any)
		assert.Equal(t, "heartbeater", shown["component"])
		assert.Equal(t, pool.id(), shown["worker"])
		assert.Equal(t, found[0].Since.Format(time.RFC3339Nano), shown["since"])
		assert.Contains(t, shown["error"], ErrUnanswered.Error())

		proxy.Resume()
		k.until("it is healthy again", func() bool { return pool.Healthy(k.ctx()) == nil })
		assert.Equal(t, k.enqueue("n").ID, receive(t, ran))
		k.drained(pool)
	})
}

// TestHealthyAfterAPause: the process was stopped for an hour, and asked before its next heartbeat.
func TestHealthyAfterAPause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", nothing))
		w := pool.workers[0]
		age := func() {
			w.vitals.mu.Lock()
			defer w.vitals.mu.Unlock()
			w.vitals.answered, w.vitals.round = time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)
		}
		// a heartbeat that came in between would hide one that does not ask; a busy machine may take over a second
		for range 5 {
			age()
			require.NoError(t, pool.healthyBy(k.ctx()))
		}
		ended, cancel := context.WithCancel(k.ctx())
		cancel()
		k.until("no heartbeat comes in between", func() bool { age(); return pool.Healthy(ended) != nil })
	})
}

func TestHealthOfAFencedWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", nothing))
		k.do("SREM", "workers", pool.id())
		await[event.WorkerFenced](t, k.spy, nil)
		assert.NoError(t, pool.Healthy(k.ctx()), "it is registered under its new id")
	})
}

func TestALoopThatPanicsIsNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", nothing))
		fail, again := make(chan bool), make(chan struct{})
		loop := pool.workers[0].loop("tester", func(ctx context.Context) {
			select {
			case <-fail:
				panic("boom")
			case <-ctx.Done():
			}
		})
		loop.Restart = func(int) time.Duration { <-again; return time.Nanosecond }
		require.NoError(t, pool.Healthy(k.ctx()), "it was not started yet")
		loop.Start(context.Background())
		require.NoError(t, pool.Healthy(k.ctx()))
		fail <- true
		await[event.LoopPanicked](t, k.spy, nil)
		err := pool.Healthy(k.ctx())
		require.ErrorIs(t, err, ErrLoopDown)
		assert.Equal(t, "tester", problems(t, err)[0].Component)
		assert.ErrorContains(t, err, "the worker pool is not healthy: tester of worker "+pool.id()+", since ")
		assert.Empty(t, pool.deadly(), "it will be started again")
		close(again)
		k.until("it runs again", func() bool { return pool.Healthy(k.ctx()) == nil })
		loop.Stop()
		<-loop.Done()
	})
}

func TestVitals(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	fault := errors.New("fault")
	const (
		long = time.Hour
		bit  = time.Second
	)
	for name, c := range map[string]struct {
		vitals         *vitals
		healthy, lives error // nil is no problem
	}{
		"all is well":          {&vitals{answered: ago(bit), round: ago(bit)}, nil, nil},
		"one heartbeat failed": {&vitals{answered: ago(bit), round: ago(0), err: fault}, nil, nil},
		"Redis is away": {&vitals{answered: ago(long), round: ago(bit), err: fault}, ErrUnanswered,
			nil},
		"what was met with": {&vitals{answered: ago(long), round: ago(bit), err: fault}, fault, nil},
		"no round":          {&vitals{answered: ago(4 * bit), round: ago(4 * bit)}, ErrStalled, nil},
		"no round for long": {&vitals{answered: ago(long), round: ago(long)}, ErrStalled, ErrStalled},
		"no round for long, Redis away": {&vitals{answered: ago(long), round: ago(long), err: fault}, ErrUnanswered,
			ErrStalled},
		"a loop that starts again": {vitalsWith(now, &loopSigns{down: ago(bit)}), ErrLoopDown, nil},
		"a loop that does not":     {vitalsWith(now, &loopSigns{down: ago(11 * bit)}), ErrLoopDown, ErrLoopDown},
		"a loop that runs, one does not": {vitalsWith(now, &loopSigns{}, &loopSigns{down: ago(long)}), ErrLoopDown,
			ErrLoopDown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, judged := range []struct {
				limits vitalLimits
				want   error
			}{{healthyLimits(beatLife), c.healthy}, {liveLimits, c.lives}} {
				found := c.vitals.problems(now, "w", judged.limits)
				if judged.want == nil {
					assert.Empty(t, found)
					continue
				}
				require.Len(t, found, 1)
				assert.ErrorIs(t, found[0].Err, judged.want)
				assert.Equal(t, "w", found[0].Worker)
			}
		})
	}
}

func vitalsWith(now time.Time, loops ...*loopSigns) *vitals {
	return &vitals{answered: now, round: now, loops: loops}
}

func TestLiveFailsOnlyForWhatDoesNotMendItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", nothing))
		w := pool.workers[0]
		w.vitals.mu.Lock()
		w.vitals.loops = append(w.vitals.loops, &loopSigns{component: "tester", down: time.Now().Add(-time.Hour)})
		w.vitals.mu.Unlock()
		status, body := probe(t, pool, "GET", "/live")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, "tester", body["problems"].([]any)[0].(map[string]any)["component"])
	})
}

func TestHealthHandlerServesNothingElse(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://localhost", Logger: silent()}).Job("n", nothing)
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
