package doctest_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestEveryBoundIsShown: each row of docs/bounds.md says what happens beyond its bound, and names a test that shows it.
func TestEveryBoundIsShown(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/bounds.md")
	require.NoError(t, err)
	declared := declaredTests(t)
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what ") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !assert.Len(t, cells, 4, line) {
			continue
		}
		assert.Regexp(t, `\d|any`, cells[1], "a bound is a number: %s", line)
		assert.NotEmpty(t, strings.TrimSpace(cells[2]), line)
		named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(cells[3], -1)
		assert.NotEmpty(t, named, "no test is named: %s", line)
		for _, name := range named {
			assert.True(t, declared[name[1]], "there is no %s: %s", name[1], line)
		}
	}
	assert.Greater(t, rows, 50)
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		told := make(chan error, 2)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(job *work.Job) error {
			told <- job.Progress(strings.Repeat("x", 4<<10-2)) // and two quotes
			told <- job.Progress(strings.Repeat("x", 4<<10-1))
			return nil
		}))
		k.Enqueue("n")
		require.NoError(t, pooltest.Receive(t, told))
		var invalid *work.InvalidError
		require.ErrorAs(t, pooltest.Receive(t, told), &invalid)
	})
}

func TestAMemberMayReturnAMebibyte(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		refused, got := make(chan error, 1), make(chan int, 1)
		again := func(_ *work.Job, err error) time.Duration {
			refused <- err
			return 0
		}
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("large", work.JobOptions{Backoff: again}, func(job *work.Job) (string, error) {
				return strings.Repeat("x", 1<<20-job.Attempt), nil // and two quotes
			}).
			Job("next", func(ctx context.Context, job *work.Job) error {
				text, err := flow.Result[string](ctx, job, "large")
				got <- len(text)
				return err
			}))
		f := flow.New("f")
		f.Job("next").After(f.Job("large"))
		_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
		require.NoError(t, err)
		var result *work.ResultError
		require.ErrorAs(t, pooltest.Receive(t, refused), &result)
		assert.Equal(t, 1<<20-2, pooltest.Receive(t, got))
	})
}

func TestAGraphHasAtMostTenThousandMembers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		for i := range 10_001 {
			f.Job("n").Named(fmt.Sprint(i))
		}
		_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		assert.Contains(t, err.Error(), "use at most 10000, and Batch for more")
		assert.Zero(t, k.Number("EXISTS", "jobs"), "nothing is stored")
	})
}

// TestSoManyNamesHaveKeys: what is stored stays, other jobs go on, and the one too many is told apart.
func TestSoManyNamesHaveKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entries := make([]work.Entry, 1024)
		for i := range entries {
			entries[i] = work.Entry{Name: fmt.Sprint("n", i), Options: []work.EnqueueOption{work.Key("k")}}
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		_, err = k.Enq.With(work.Key("k")).Enqueue(k.Ctx(), "one more")
		var refused *work.EnqueueError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, []int{0}, refused.NotStored)
		assert.Contains(t, err.Error(), "1024 other names of this namespace have jobs with keys already")
		_, err = k.Enq.With(work.Key("other")).Enqueue(k.Ctx(), "n7")
		require.NoError(t, err, "a name that has keys goes on")
		_, err = k.Enq.Enqueue(k.Ctx(), "one more")
		require.NoError(t, err, "without a key")
	})
}

// TestSoManyKeysHaveLimitsOfTheirOwn: what is there may be changed and taken back, which makes room.
func TestSoManyKeysHaveLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		hands, err := inspect.New(s.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		defer hands.Close()
		set := func(ctx context.Context, key string) error {
			return hands.SetKeyLimit(ctx, "n", key, work.Limit{Concurrent: 2})
		}
		require.NoError(t, set(k.Ctx(), "k0"))
		text := k.Text("HGET", "keyrules", "n\x00k0")
		require.NotEmpty(t, text)
		var fields []any
		for i := range 10_000 {
			fields = append(fields, fmt.Sprint("n\x00k", i), text)
		}
		for part := 0; part < len(fields); part += 2000 {
			k.Do("HSET", "keyrules", fields[part:part+2000]...)
		}
		require.ErrorContains(t, set(k.Ctx(), "one more"), "10000 keys of the namespace have limits of their own")
		require.NoError(t, set(k.Ctx(), "k7"))
		require.NoError(t, hands.ResetKeyLimit(k.Ctx(), "n", "k7"))
		require.NoError(t, set(k.Ctx(), "one more"))
	})
}

// TestPrefetchIsBounded, and so are the processors of a pool.
func TestPrefetchIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		processors, prefetch int
		want                 string
	}{{1, 257, "Prefetch"}, {1, -2, "Prefetch"}, {0, 0, "concurrency"}, {100_001, 0, "concurrency"}} {
		pool := work.NewWorkerPool(nil, c.processors, work.WorkerOptions{Redis: "redis://127.0.0.1:1",
			Prefetch: c.prefetch, Logger: pooltest.Silent()}).Job("n", func() error { return nil })
		var setup *work.SetupError
		err := pool.Start(t.Context())
		require.ErrorAs(t, err, &setup)
		assert.Contains(t, err.Error(), c.want)
	}
}
