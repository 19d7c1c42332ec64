package pools_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
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

// watchContext is the context of the jobs in these tests.
type watchContext struct {
	watches chan [2]int64
	traced  []string
}

func (c *watchContext) Trace(ctx context.Context, job *work.Job, next work.NextFunc) error {
	c.traced = append(c.traced, job.ID)
	return next(ctx)
}

func (c *watchContext) CreateWatch(ctx context.Context, job *work.Job, userID, suggestionID int64) error {
	if len(c.traced) != 1 || c.traced[0] != job.ID || work.JobFromContext(ctx) != job {
		return errors.New("the context is not the job's own")
	}
	c.watches <- [2]int64{userID, suggestionID}
	return nil
}

func TestAJobRunsWithItsArgsThroughMiddleware(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		watches := make(chan [2]int64, 2)
		pool := k.Start(work.NewWorkerPool(watchContext{watches: watches}, 5, k.Options()).
			Middleware((*watchContext).Trace).
			Job("create_watch", (*watchContext).CreateWatch))
		k.Enqueue("create_watch", int64(9007199254740993), int64(7))
		assert.Equal(t, [2]int64{9007199254740993, 7}, pooltest.Receive(t, watches))
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "create_watch", 1, 2)
		require.NoError(t, err)
		assert.Equal(t, [2]int64{1, 2}, pooltest.Receive(t, watches))
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("create_watch")
	})
}

func TestManyJobsOfManyNamesRunOnceEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mu sync.Mutex
		ran := map[string]int{}
		pool := work.NewWorkerPool(nil, 20, k.Options())
		names := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, name := range names {
			pool.Job(name, func(job *work.Job) error {
				mu.Lock()
				defer mu.Unlock()
				ran[job.ID]++
				return nil
			})
		}
		var entries []work.Entry
		for i := range 3000 {
			entries = append(entries, work.Entry{Name: names[i%len(names)]})
		}
		receipts, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		k.Start(pool)
		require.NoError(t, pool.Drain(k.Ctx()))
		require.Len(t, ran, 3000)
		for _, receipt := range receipts {
			require.Equal(t, 1, ran[receipt.ID])
		}
		k.Empty(names...)
	})
}

func TestAFailedJobIsRetriedAndThenBuriedWithItsErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).JobWithOptions("fails", work.JobOptions{
			Retries: 2, Backoff: func(*work.Job, error) time.Duration { return time.Millisecond },
		}, func(job *work.Job) error { return errors.New("no luck") }))
		receipt := k.Enqueue("fails")
		buried := pooltest.Await[event.JobBuried](t, k.Spy, nil)
		assert.Equal(t, receipt.ID, buried.ID)
		assert.Equal(t, 3, buried.Attempt)
		assert.Equal(t, 2, pooltest.Count[event.JobFailed](k.Spy))
	})
}

func TestAScheduledJobRunsWhenItIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		started := make(chan time.Time, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("later", func(job *work.Job) error { started <- time.Now(); return nil }))
		before := time.Now()
		_, err := k.Enq.EnqueueIn(k.Ctx(), "later", 300*time.Millisecond)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, pooltest.Receive(t, started).Sub(before), 290*time.Millisecond)
	})
}

// The variables that make this test binary a program of its own, which runs a pool until a signal comes.
const (
	runRedis     = "WORK_TEST_RUN_REDIS"
	runNamespace = "WORK_TEST_RUN_NAMESPACE"
)

// TestRunOfAChild is that program; as a test it does nothing.
func TestRunOfAChild(t *testing.T) {
	if os.Getenv(runRedis) == "" {
		t.Skip("it is run by TestRunEndsWithASignal")
	}
	job := func(wait func(context.Context)) func(context.Context, *work.Job) error {
		return func(ctx context.Context, job *work.Job) error {
			fmt.Println("entered")
			wait(ctx)
			fmt.Println(context.Cause(ctx), job.Checkin(""))
			return ctx.Err()
		}
	}
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{
		Redis: os.Getenv(runRedis), Namespace: os.Getenv(runNamespace), Logger: pooltest.Silent(),
		ShutdownTimeout: time.Hour,
		Observers: []work.Observer{work.ObserverFunc(func(e event.Event) {
			if released, ok := e.(event.JobReleased); ok {
				fmt.Println("released", released.Name)
			}
		})},
	})
	pool.Job("until stopping", job(func(context.Context) { <-pooltest.UntilStopping(pool) }))
	pool.Job("until its ctx ends", job(func(ctx context.Context) {
		<-pooltest.UntilStopping(pool)
		fmt.Println("stopping")
		<-ctx.Done()
	}))
	err := pool.Run(context.Background())
	var stop *work.StopError
	fmt.Println("ended:", err == nil, errors.As(err, &stop) && len(stop.Released) == 1)
}

func TestRunEndsWithASignal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct {
			job     string
			signals []os.Signal
			said    []string // after each signal
			end     []string
		}{
			"SIGTERM": {"until stopping", []os.Signal{syscall.SIGTERM}, nil,
				[]string{"<nil> true", "ended: true false"}},
			"SIGINT": {"until stopping", []os.Signal{os.Interrupt}, nil, []string{"<nil> true", "ended: true false"}},
			"a second one hurries": {"until its ctx ends", []os.Signal{syscall.SIGTERM, syscall.SIGTERM},
				[]string{"stopping"},
				[]string{work.ErrShutdown.Error() + " true", "released until its ctx ends", "ended: false true"}},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				child, says := startRunner(t, k)
				k.Enqueue(row.job)
				require.Equal(t, "entered", pooltest.Receive(t, says))
				for i, signal := range row.signals {
					require.NoError(t, child.Process.Signal(signal))
					if i < len(row.said) {
						require.Equal(t, row.said[i], pooltest.Receive(t, says))
					}
				}
				for _, line := range row.end {
					assert.Equal(t, line, pooltest.Receive(t, says))
				}
				k.NoWorker()
			})
		}
	})
}

// startRunner starts the program and returns what it prints, line by line.
func startRunner(t *testing.T, k *kit) (*exec.Cmd, <-chan string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestRunOfAChild$")
	child.Env = append(os.Environ(), runRedis+"="+k.Server.DSN(), runNamespace+"="+k.Namespace)
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := make(chan string, 100)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = child.Process.Kill() // it has ended, unless the test failed
		<-read
		_ = child.Wait()
	})
	return child, lines
}

func TestAGivenPoolSmallerThanTheConcurrency(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]*redis.Pool{
			"one connection, no Wait": {MaxActive: 1, MaxIdle: 1},
			"two, no Wait":            {MaxActive: 2, MaxIdle: 2},
			"one, with Wait":          {MaxActive: 1, MaxIdle: 1, Wait: true},
			"two, none kept":          {MaxActive: 2},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				given := row
				given.Dial = func() (redis.Conn, error) { return redis.Dial("tcp", s.Addr()) }
				defer given.Close() //lint:ignore errcheck a test's
				options := k.Options()
				options.Redis, options.Connection = "", work.Redigo(given)
				pool := work.NewWorkerPool(nil, 20, options)
				pool.Job("first", func() error {
					_, err := pool.Enqueuer().Enqueue(k.Ctx(), "second")
					return err
				}).Job("second", pooltest.Nothing)
				require.NoError(t, pool.Start(k.Ctx()))
				_, err := k.Enq.EnqueueMany(k.Ctx(), make40("first"))
				require.NoError(t, err)
				require.NoError(t, pool.Drain(k.Ctx()))
				require.NoError(t, pool.Stop(k.Ctx()))
				assert.Equal(t, 80, pooltest.Count[event.JobDone](k.Spy))
				assert.Empty(t, pooltest.Seen[event.Trouble](k.Spy))
				k.Empty("first", "second")
				k.NoWorker()
			})
		}
	})
}

func make40(name string) []work.Entry {
	entries := make([]work.Entry, 40)
	for i := range entries {
		entries[i].Name = name
	}
	return entries
}

func TestAConnectionSharedByPoolsAndAnEnqueuerIsNotClosed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		shared := redisPool(t, s)
		enq, err := work.NewEnqueuer("", work.WithConnection(shared), work.Namespace(k.Namespace))
		require.NoError(t, err)
		options := k.Options()
		options.Redis, options.Connection = "", shared
		ran := make(chan string, 4)
		first := work.NewWorkerPool(nil, 1, options).Job("a", func(job *work.Job) error { ran <- job.ID; return nil })
		second := work.NewWorkerPool(nil, 1, options).Job("b", func(job *work.Job) error { ran <- job.ID; return nil })
		require.NoError(t, first.Start(k.Ctx()))
		require.NoError(t, second.Start(k.Ctx()))
		require.NoError(t, first.Stop(k.Ctx()))

		receipt, err := enq.Enqueue(k.Ctx(), "b")
		require.NoError(t, err)
		assert.Equal(t, receipt.ID, pooltest.Receive(t, ran), "the other pool and the enqueuer go on")
		require.NoError(t, second.Stop(k.Ctx()))
		require.NoError(t, enq.Close())

		third := work.NewWorkerPool(nil, 1, options).Job("c", func(job *work.Job) error { ran <- job.ID; return nil })
		k.Start(third)
		receipt, err = third.Enqueuer().Enqueue(k.Ctx(), "c")
		require.NoError(t, err, "the connection serves whoever comes next")
		assert.Equal(t, receipt.ID, pooltest.Receive(t, ran))
	})
}

func TestAllProcessorsOfALargePoolWorkAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const all = 600
		k := newKit(t, s)
		var arrived sync.WaitGroup
		arrived.Add(all)
		leave := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, all, k.Options()).
			Job("a", func() error { arrived.Done(); <-leave; return nil }))
		assert.Equal(t, 1, pooltest.Count[event.WorkerStarted](k.Spy))
		var entries []work.Entry
		for range all {
			entries = append(entries, work.Entry{Name: "a"})
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		together := make(chan struct{})
		go func() { arrived.Wait(); close(together) }()
		pooltest.Receive(t, together)
		assert.Equal(t, 3, pooltest.Count[event.WorkerStarted](k.Spy))
		close(leave)
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		assert.Equal(t, 3, pooltest.Count[event.WorkerStopped](k.Spy))
		k.NoWorker()
	})
}
