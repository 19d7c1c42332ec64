package work

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

var updateSetup = flag.Bool("update-setup", false, "write testdata/setup.golden anew")

// setupContext is the context of the pools in these tests.
type setupContext struct{}

func (*setupContext) Fine() error                  { return nil }
func (*setupContext) NoError(int)                  {}
func (setupContext) ByValue(context.Context) error { return nil }
func (*setupContext) NoNext(context.Context, *Job) error {
	return nil
}

// badPool makes every mistake that a set-up knows.
func badPool() *WorkerPool {
	return NewWorkerPool(setupContext{}, 100_001, WorkerOptions{
		Redis: "redis://localhost:6379/0?pool_sise=5", Namespace: "a{b}",
		MaxCrashes: 2, MorgueRetention: -time.Second, MorgueLimit: -1, MaxArgsSize: -1,
		Observers: []Observer{newSpy(), nil, ObserverFunc(nil)}, Logger: silent(), Only: []string{"fine", "unknown"},
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
		JobWithOptions("options", JobOptions{Priority: -1, Timeout: -1, Retention: -1}, (*setupContext).Fine).
		JobWithOptions("heavy", JobOptions{Priority: 100_001}, (*setupContext).Fine)
}

func TestEveryMistakeOfASetUpIsToldAtOnce(t *testing.T) {
	t.Parallel()
	before := badPool()
	err := before.Start(context.Background())
	var setup *SetupError
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
	var signature *SignatureError
	require.ErrorAs(t, setup, &signature, "errors.As looks into each")
	require.NoError(t, before.Stop(context.Background()))
}

func TestASetUpMistakeNamesItsValue(t *testing.T) {
	t.Parallel()
	fine := func() error { return nil }
	good := WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}
	for name, row := range map[string]struct {
		pool *WorkerPool
		want string
	}{
		"concurrency 0": {NewWorkerPool(nil, 0, good).Job("a", fine),
			"the concurrency of the worker pool is 0: give 1 to 100,000"},
		"concurrency -1": {NewWorkerPool(nil, -1, good).Job("a", fine),
			"the concurrency of the worker pool is -1: give 1 to 100,000"},
		"no jobs": {NewWorkerPool(nil, 1, good),
			"the number of registered jobs is 0: register at least one with Job"},
		"a number as prototype": {NewWorkerPool(7, 1, good).Job("a", fine),
			"prototype of type int is no struct, wanted a struct, a pointer to a struct or nil: make it a field of " +
				"one"},
		"no Redis": {NewWorkerPool(nil, 1, WorkerOptions{Logger: silent()}).Job("a", fine),
			"WorkerOptions.Redis or Connection: no Redis is named: give a DSN such as redis://localhost:6379/0, or a " +
				"Connection"},
		"a DSN and a Connection": {
			NewWorkerPool(nil, 1, WorkerOptions{
				Redis: "redis://localhost", Connection: Redigo(&redis.Pool{}), Logger: silent(),
			}).Job("a", fine),
			"WorkerOptions.Redis or Connection: both a DSN and a Connection are given: leave one out"},
		"a nil redis.Pool": {NewWorkerPool(nil, 1, WorkerOptions{Connection: Redigo(nil), Logger: silent()}).
			Job("a", fine),
			"WorkerOptions.Redis or Connection: the redis.Pool is nil: give a pool, or a DSN instead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := row.pool.Start(context.Background())
			var setup *SetupError
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
		pool := NewWorkerPool(nil, 1, k.options())
		names := []string{strings.Repeat("é", 100), "a b:c/{d}", "日本", `"`}
		for _, name := range names {
			pool.Job(name, func(job *Job) error { ran <- job.Name; return nil })
		}
		k.start(pool)
		for _, name := range names {
			k.enqueue(name)
			assert.Equal(t, name, receive(t, ran))
		}
	})
}

func TestOnlyServesASubset(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 2)
		note := func(job *Job) error { ran <- job.Name; return nil }
		options := k.options()
		options.Only = []string{"served"}
		pool := NewWorkerPool(nil, 2, options).Job("served", note).Job("other", note)
		options.Only[0] = "other" // what the caller does with its slice later is its own matter
		k.enqueue("other")
		k.enqueue("served")
		k.start(pool)
		assert.Equal(t, "served", receive(t, ran))
		require.NoError(t, pool.Drain(k.ctx()), "what it does not serve does not count")
		assert.Equal(t, 1, k.number("LLEN", "queue:other"))
		assert.Empty(t, ran)
	})
}

// keys are those of the namespace that are left.
func (k *kit) keys() []string {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close() //lint:ignore errcheck a test's
	keys, err := redis.Strings(conn.Do("KEYS", "{"+k.namespace+"}:*"))
	require.NoError(k.t, err)
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, "{"+k.namespace+"}:")
	}
	return keys
}

func TestAStartThatIsRefusedLeavesNothingInRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 0, k.options()).Job("a", func() error { return nil })
		require.Error(t, pool.Start(k.ctx()))
		assert.Empty(t, k.keys())

		// Redis refuses the second of three workers: the first one had joined and must leave again.
		k.do("SET", "queues", "of a wrong type")
		pool = NewWorkerPool(nil, 600, k.options()).Job("a", func() error { return nil })
		require.ErrorContains(t, pool.Start(k.ctx()), "queues has the wrong type")
		assert.Equal(t, []string{"queues"}, k.keys())
		assert.Zero(t, count[event.WorkerStarted](k.spy))

		k.do("DEL", "queues")
		k.start(pool)
		await[event.WorkerStarted](t, k.spy, nil)
	})
}

func TestStartAgainOnceRedisIsUp(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	server.Kill()
	pool := NewWorkerPool(nil, 2, WorkerOptions{Redis: server.DSN(), Logger: silent()})
	ran := make(chan struct{}, 1)
	pool.Job("a", func() error { ran <- struct{}{}; return nil })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := pool.Start(ctx)
	require.ErrorContains(t, err, "the worker pool cannot start: cannot connect to Redis at "+server.Addr())
	var setup *SetupError
	require.False(t, errors.As(err, &setup), "the set-up is right")
	pool.Job("b", func() error { return nil }) // not too late

	require.NoError(t, server.Restart())
	require.NoError(t, pool.Start(ctx))
	_, err = pool.Enqueuer().Enqueue(ctx, "a")
	require.NoError(t, err)
	receive(t, ran)
	require.NoError(t, pool.Stop(ctx))
}

func TestASetUpCallAfterStartIsReportedAndHasNoEffect(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var log lockedBuffer
		options := k.options()
		options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		pool := NewWorkerPool(nil, 1, options).Job("a", func() error { return nil })
		k.start(pool)
		pool.Job("late", func() error { return nil }).
			JobWithOptions("later", JobOptions{Priority: -1}, nil).
			Middleware(func() {})
		for _, what := range []string{`registration of job \"late\"`, `registration of job \"later\"`, "Middleware"} {
			assert.Contains(t, log.String(), what)
		}
		assert.Contains(t, log.String(), "at=pool_setup_test.go:")
		_, err := pool.Enqueuer().Enqueue(k.ctx(), "late", "args that nobody checks")
		require.NoError(t, err)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, 1, k.number("LLEN", "queue:late"))
	})
}

// lockedBuffer is where a test's log goes.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
