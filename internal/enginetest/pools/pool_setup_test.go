package pools_test

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

var updateSetup = flag.Bool("update-setup", false, "write testdata/setup.golden anew")

// setupContext is the context of the pools in these tests.
type setupContext struct{}

func (*setupContext) Fine() error                  { return nil }
func (*setupContext) NoError(int)                  {}
func (setupContext) ByValue(context.Context) error { return nil }
func (*setupContext) NoNext(context.Context, *work.Job) error {
	return nil
}

// badPool makes every mistake that a set-up knows.
func badPool() *work.WorkerPool {
	return work.NewWorkerPool(setupContext{}, 100_001, work.WorkerOptions{
		Redis: "redis://localhost:6379/0?pool_sise=5", Namespace: "a{b}",
		MaxCrashes: 2, MorgueRetention: -time.Second, MorgueLimit: -1, MaxArgsSize: -1,
		Observers: []work.Observer{pooltest.NewSpy(), nil, work.ObserverFunc(nil)}, Logger: pooltest.Silent(),
		Only: []string{"fine", "unknown"},
	}).
		Middleware((*setupContext).NoNext).
		Middleware(nil).
		Job("fine", (*setupContext).Fine).
		Job("fine", (*setupContext).Fine).
		Job("", (*setupContext).Fine).
		Job(strings.Repeat("é", 101), (*setupContext).Fine).
		Job("a\nb", (*setupContext).Fine).
		Job("bad\xff", (*setupContext).Fine).
		Job("noError", (*setupContext).NoError).
		Job("byValue", setupContext.ByValue).
		Job("text", "not a function").
		JobWithOptions("options", work.JobOptions{Priority: -1, Timeout: -1, Retention: -1}, (*setupContext).Fine).
		JobWithOptions("heavy", work.JobOptions{Priority: 100_001}, (*setupContext).Fine)
}

func TestEveryMistakeOfASetUpIsToldAtOnce(t *testing.T) {
	t.Parallel()
	before := badPool()
	err := before.Start(context.Background())
	var setup *work.SetupError
	require.ErrorAs(t, err, &setup)
	const golden = "testdata/setup.golden"
	// Where something stands in this file changes with it: the golden file has the offset hidden, a line must be there.
	lines := regexp.MustCompile(`(pool_setup_test\.go):\d+`)
	text := lines.ReplaceAllString(err.Error(), "$1:LINE") + "\n"
	if *updateSetup {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	assert.NotContains(t, text, "/pool_setup_test.go", "base names only")
	var signature *work.SignatureError
	require.ErrorAs(t, setup, &signature, "errors.As looks into each")
	require.NoError(t, before.Stop(context.Background()))
}

func TestASetUpMistakeNamesItsValue(t *testing.T) {
	t.Parallel()
	fine := func() error { return nil }
	good := work.WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: pooltest.Silent()}
	for name, row := range map[string]struct {
		pool *work.WorkerPool
		want string
	}{
		"concurrency 0": {work.NewWorkerPool(nil, 0, good).Job("a", fine),
			"the concurrency of the worker pool is 0: give 1 to 100,000"},
		"concurrency -1": {work.NewWorkerPool(nil, -1, good).Job("a", fine),
			"the concurrency of the worker pool is -1: give 1 to 100,000"},
		"no jobs": {work.NewWorkerPool(nil, 1, good),
			"the number of registered jobs is 0: register at least one with Job"},
		"a number as prototype": {work.NewWorkerPool(7, 1, good).Job("a", fine),
			"prototype of type int is no struct, wanted a struct, a pointer to a struct or nil: make it a field of " +
				"one"},
		"no Redis": {work.NewWorkerPool(nil, 1, work.WorkerOptions{Logger: pooltest.Silent()}).Job("a", fine),
			"WorkerOptions.Redis or Connection: no Redis is named: give a DSN such as redis://localhost:6379/0, or a " +
				"Connection"},
		"a DSN and a Connection": {
			work.NewWorkerPool(nil, 1, work.WorkerOptions{
				Redis: "redis://localhost", Connection: work.Redigo(&redis.Pool{}), Logger: pooltest.Silent(),
			}).Job("a", fine),
			"WorkerOptions.Redis or Connection: both a DSN and a Connection are given: leave one out"},
		"a nil redis.Pool": {work.NewWorkerPool(nil, 1,
			work.WorkerOptions{Connection: work.Redigo(nil), Logger: pooltest.Silent()}).
			Job("a", fine),
			"WorkerOptions.Redis or Connection: the redis.Pool is nil: give a pool, or a DSN instead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := row.pool.Start(context.Background())
			var setup *work.SetupError
			require.ErrorAs(t, err, &setup)
			assert.EqualError(t, err, "the worker pool cannot start: "+row.want)
			assert.Len(t, setup.Mistakes, 1)
		})
	}
}

func TestALegalSetUpOfOddNamesStarts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 4)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		names := []string{strings.Repeat("é", 100), "a b:c/{d}", "日本", `"`}
		for _, name := range names {
			pool.Job(name, func(job *work.Job) error { ran <- job.Name; return nil })
		}
		k.Start(pool)
		for _, name := range names {
			k.Enqueue(name)
			assert.Equal(t, name, pooltest.Receive(t, ran))
		}
	})
}

func TestOnlyServesASubset(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 2)
		note := func(job *work.Job) error { ran <- job.Name; return nil }
		options := k.Options()
		options.Only = []string{"served"}
		pool := work.NewWorkerPool(nil, 2, options).Job("served", note).Job("other", note)
		options.Only[0] = "other" // what the caller does with its slice later is its own matter
		k.Enqueue("other")
		k.Enqueue("served")
		k.Start(pool)
		assert.Equal(t, "served", pooltest.Receive(t, ran))
		require.NoError(t, pool.Drain(k.Ctx()), "what it does not serve does not count")
		assert.Equal(t, 1, k.Number("LLEN", "queue:other"))
		assert.Empty(t, ran)
	})
}

func TestAStartThatIsRefusedLeavesNothingInRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 0, k.Options()).Job("a", func() error { return nil })
		require.Error(t, pool.Start(k.Ctx()))
		assert.Empty(t, k.Keys())

		// Redis refuses the second of three workers: the first one had joined and must leave again.
		k.Do("SET", "queues", "of a wrong type")
		pool = work.NewWorkerPool(nil, 600, k.Options()).Job("a", func() error { return nil })
		require.ErrorContains(t, pool.Start(k.Ctx()), "queues has the wrong type")
		assert.Equal(t, []string{"queues"}, k.Keys())
		assert.Zero(t, pooltest.Count[event.WorkerStarted](k.Spy))

		k.Do("DEL", "queues")
		k.Start(pool)
		pooltest.Await[event.WorkerStarted](t, k.Spy, nil)
	})
}

func TestStartAgainOnceRedisIsUp(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	server.Kill()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: server.DSN(), Logger: pooltest.Silent()})
	ran := make(chan struct{}, 1)
	pool.Job("a", func() error { ran <- struct{}{}; return nil })
	ctx, cancel := context.WithTimeout(context.Background(), pooltest.Patience)
	defer cancel()
	err := pool.Start(ctx)
	require.ErrorContains(t, err, "the worker pool cannot start: cannot connect to Redis at "+server.Addr())
	var setup *work.SetupError
	require.False(t, errors.As(err, &setup), "the set-up is right")
	pool.Job("b", func() error { return nil }) // not too late

	require.NoError(t, server.Restart())
	require.NoError(t, pool.Start(ctx))
	_, err = pool.Enqueuer().Enqueue(ctx, "a")
	require.NoError(t, err)
	pooltest.Receive(t, ran)
	require.NoError(t, pool.Stop(ctx))
}

func TestASetUpCallAfterStartIsReportedAndHasNoEffect(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var log pooltest.LockedBuffer
		options := k.Options()
		options.Logger, options.EnqueueAnyName = slog.New(slog.NewTextHandler(&log, nil)), true
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func() error { return nil })
		k.Start(pool)
		pool.Job("late", func() error { return nil }).
			JobWithOptions("later", work.JobOptions{Priority: -1}, nil).
			Middleware(func() {})
		for _, what := range []string{`registration of job \"late\"`, `registration of job \"later\"`, "Middleware"} {
			assert.Contains(t, log.String(), what)
		}
		assert.Contains(t, log.String(), "at=pool_setup_test.go:")
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "late", "args that nobody checks")
		require.NoError(t, err)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 1, k.Number("LLEN", "queue:late"))
	})
}

type cloneContext struct{ greeting string }

func (c *cloneContext) wrap(ctx context.Context, _ *work.Job, next work.NextFunc) error {
	c.greeting += "!"
	return next(ctx)
}

func (c *cloneContext) greet() (string, error) { return c.greeting, nil }

func TestACloneRunsTheSameJobsWithOptionsOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, other := newKit(t, s), pooltest.NewSpy()
		options := k.Options()
		options.Namespace, options.Observers = redistest.Namespace(t), []work.Observer{other}
		pool := work.NewWorkerPool(cloneContext{greeting: "hello"}, 3, options).
			Middleware((*cloneContext).wrap).
			JobWithOptions("greet", work.JobOptions{Retention: pooltest.Patience}, (*cloneContext).greet).
			Periodic("* * * * * *", "greet")
		pool = k.Start(pool)
		for range 2 { // a clone of a clone is the same
			pool = pool.Clone(k.Options())
		}
		k.Start(pool)
		id := k.Enqueue("greet").ID
		result, err := work.Wait[string](k.Ctx(), k.Enq, id)
		require.NoError(t, err)
		assert.Equal(t, "hello!", result)
		assert.Equal(t, 3, pooltest.Await[event.WorkerStarted](t, k.Spy, nil).Concurrency)
		assert.Empty(t, pooltest.SeenBy(t, other, id), "the observers are not the clone's")
		schedules, err := k.ByHand().SeenSchedules(k.Ctx())
		require.NoError(t, err)
		assert.Empty(t, schedules, "nor are the schedules")
	})
}

func TestACloneHasTheMistakesOfTheSetUpAndNotThoseOfTheOptions(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(7, 0, work.WorkerOptions{MaxCrashes: 1, Prefetch: -2}).Job("greet", func(string) {}).
		Job("a", pooltest.Nothing).Job("a", pooltest.Nothing)
	var setup *work.SetupError
	require.ErrorAs(t, pool.Start(t.Context()), &setup)
	require.Len(t, setup.Mistakes, 7)

	require.ErrorAs(t, pool.Clone(work.WorkerOptions{Redis: "redis://localhost", Prefetch: -2}).Start(t.Context()),
		&setup)
	texts := errors.Join(setup.Mistakes...).Error()
	require.Len(t, setup.Mistakes, 5, texts)
	for _, text := range []string{"prototype", "concurrency", "greet", "registered already", "Prefetch is -2"} {
		assert.Contains(t, texts, text)
	}
}
