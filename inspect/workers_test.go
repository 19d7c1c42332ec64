package inspect_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestWorkersAreShownWithWhatTheyRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, g := k.inspector(), pooltest.NewGauge()
		t.Cleanup(g.Release)
		opts := k.Options()
		opts.Service = "shop"
		pool := k.Start(work.NewWorkerPool(nil, 7, opts).
			Job("n", func(job *work.Job) error { job.Checkin("half way there"); return g.Handle() }).
			Job("m", func() error { return nil }))
		t.Cleanup(g.Release)
		receipt := k.Enqueue("n")
		g.Began(t, 1)
		k.visible(i, receipt.ID, "half way there")
		workers, err := i.Workers(k.Ctx())
		require.NoError(t, err)
		require.Len(t, workers, 1)
		one := workers[0]
		host, _ := os.Hostname()
		assert.Equal(t, []any{k.ID(pool), host, os.Getpid(), "shop", 7, []string{"m", "n"}, true, ""},
			[]any{one.ID, one.Host, one.PID, one.Service, one.Concurrency, one.Queues, one.Alive, one.Wanted})
		require.Len(t, one.Running, 1)
		assert.Equal(t, []string{receipt.ID, "n", "half way there"},
			[]string{one.Running[0].ID, one.Running[0].Name, one.Running[0].CheckIn})
		assert.False(t, one.Running[0].Since.IsZero() || one.Running[0].CheckAt.IsZero() || one.Started.IsZero())
		same, err := i.Worker(k.Ctx(), k.ID(pool))
		require.NoError(t, err)
		assert.Equal(t, one.ID, same.ID)
		_, err = i.Worker(k.Ctx(), "nobody")
		require.ErrorIs(t, err, inspect.ErrNoWorker)
	})
}

func TestTheLoadOfAWorkerIsShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, g := k.inspector(), pooltest.NewGauge()
		t.Cleanup(g.Release)
		pool := k.Start(work.NewWorkerPool(nil, 7, k.Options()).Job("n", func(int) error { return g.Handle() }))
		t.Cleanup(g.Release)
		k.Start(work.NewWorkerPool(nil, 7, k.Options()).Job("m", pooltest.Nothing))
		k.EnqueueNumbers("n", 0, 3)
		g.Began(t, 3)
		id, load := k.ID(pool), inspect.Load{}
		k.Until("a heartbeat has told", func() bool {
			info, err := i.Worker(k.Ctx(), id)
			require.NoError(t, err)
			load = info.Load
			return load.One > 0
		})
		assert.LessOrEqual(t, load.One, 3.)
		assert.True(t, load.One >= load.Five && load.Five >= load.Fifteen, load)
		workers, err := i.Workers(k.Ctx())
		require.NoError(t, err)
		require.Len(t, workers, 2)
		workers[0].Load, workers[1].Load = inspect.Load{One: 3, Five: 2, Fifteen: 1}, inspect.Load{One: 1}
		assert.Equal(t, inspect.Load{One: 4, Five: 2, Fifteen: 1}, inspect.TotalLoad(workers))
		workers[1].Alive = false
		assert.Equal(t, inspect.Load{One: 3, Five: 2, Fifteen: 1}, inspect.TotalLoad(workers), "it is not there")
	})
}

func TestAWorkerIsPausedAndOthersDoItsWork(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		sent := &pooltest.Tampered{} // by the one that was started last
		start := func() (*work.WorkerPool, *pooltest.Gauge, *pooltest.Spy) {
			g, seen := pooltest.NewGauge(), pooltest.NewSpy()
			g.Release()
			options := k.Another(seen)
			sent = k.Tamper(&options, &pooltest.Tampered{})
			return k.Start(work.NewWorkerPool(nil, 5, options).Job("n", func(int) error { return g.Handle() })), g, seen
		}
		one, ofOne, seen := start()
		require.NoError(t, i.PauseWorker(k.Ctx(), k.ID(one)))
		pooltest.Await(t, seen, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
		two, ofTwo, seenTwo := start()
		k.EnqueueNumbers("n", 0, 50)
		ofTwo.Began(t, 50)
		assert.Empty(t, ofOne.Begun)
		shown, err := i.Worker(k.Ctx(), k.ID(one))
		require.NoError(t, err)
		assert.Equal(t, "pause", shown.Wanted)
		assert.True(t, shown.Alive)

		called, _ := sent.Sent("wake")
		require.NoError(t, i.QuietWorker(k.Ctx(), k.ID(two)))
		pooltest.Await(t, seenTwo, func(e event.WorkerTold) bool { return e.Wanted == "quiet" })
		// the fetch that it was about to send is behind it: it hands its queues on
		sent.UntilSentInAll(t, "wake", called+1)
		require.NoError(t, i.ResumeWorker(k.Ctx(), k.ID(two)))
		k.EnqueueNumbers("n", 0, 50)
		_, err = i.Ping(k.Ctx(), k.ID(two))
		require.NoError(t, err)
		_, err = i.Ping(k.Ctx(), k.ID(one))
		require.NoError(t, err)
		assert.Equal(t, 50, k.Number("LLEN", "queue:n"), "both rest")
		require.NoError(t, i.ResumeWorker(k.Ctx(), k.ID(one)))
		ofOne.Began(t, 50)
		assert.Empty(t, ofTwo.Begun, "quiet is for good")
	})
}

func TestAPausedWorkerStaysPausedUnderItsNextID(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(k *kit, pool *work.WorkerPool){
		"declared dead":  func(k *kit, pool *work.WorkerPool) { k.Do("SREM", "workers", k.ID(pool)) },
		"Redis is empty": func(k *kit, _ *work.WorkerPool) { k.wipe() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g := k.inspector(), pooltest.NewGauge()
				g.Release()
				pool := k.Start(work.NewWorkerPool(nil, 5, k.Options()).Job("n", func(int) error { return g.Handle() }))
				require.NoError(t, i.PauseWorker(k.Ctx(), k.ID(pool)))
				pooltest.Await(t, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
				lose(k, pool)
				if name == "declared dead" {
					pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
				}
				k.Until("it is registered again", func() bool {
					info, err := i.Worker(k.Ctx(), k.only())
					return err == nil && info.Alive && info.Wanted == "pause"
				})
				k.EnqueueNumbers("n", 0, 5)
				_, err := i.Ping(k.Ctx(), k.only())
				require.NoError(t, err)
				assert.Empty(t, g.Begun)
				require.NoError(t, i.ResumeWorker(k.Ctx(), k.only()))
				g.Began(t, 5)
			})
		})
	}
}

func TestAWorkerIsStoppedFromOutside(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"by the hint": false, "by a heartbeat, where the hint is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g := k.inspector(), pooltest.NewGauge()
				k.EnqueueNumbers("n", 0, 3)
				o := k.Options()
				k.Tamper(&o, &pooltest.Tampered{Deaf: deaf})
				pool := work.NewWorkerPool(nil, 2, o).Job("n", func(int) error { return g.Handle() })
				ran := make(chan error, 1)
				go func() { ran <- pool.Run(context.Background()) }()
				g.Began(t, 2)
				id := k.only()
				require.NoError(t, i.StopWorker(k.Ctx(), id))
				pooltest.Await(t, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "stop" })
				g.Release()
				require.NoError(t, pooltest.Receive(t, ran), "in good order")
				assert.EqualValues(t, 2, g.Done.Load(), "what ran has ended")
				assert.Equal(t, 1, k.Number("LLEN", "queue:n"), "what waited waits")
				require.ErrorIs(t, i.StopWorker(k.Ctx(), id), inspect.ErrNoWorker)
				_, err := i.Ping(k.Ctx(), id)
				require.ErrorIs(t, err, inspect.ErrNoWorker)
			})
		})
	}
}

// A stop at once waits for no handler, also where a stop that waits is under way.
func TestAWorkerIsStoppedAtOnceFromOutside(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ deaf, waits bool }{
		"by the hint":                              {},
		"by a heartbeat, where the hint is lost":   {deaf: true},
		"after a stop that waits for the handlers": {waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i := k.inspector()
				receipts := k.EnqueueNumbers("n", 0, 3)
				o := k.Options()
				o.ShutdownTimeout = time.Hour
				k.Tamper(&o, &pooltest.Tampered{Deaf: row.deaf})
				began := make(chan struct{}, 3)
				pool := work.NewWorkerPool(nil, 2, o).Job("n", func(ctx context.Context, _ int) error {
					began <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				})
				ran := make(chan error, 1)
				go func() { ran <- pool.Run(context.Background()) }()
				pooltest.Receive(t, began)
				pooltest.Receive(t, began)
				id := k.only()
				if row.waits {
					require.NoError(t, i.StopWorker(k.Ctx(), id))
					pooltest.Receive(t, pooltest.UntilStopping(pool))
				}
				require.NoError(t, i.StopWorkerNow(k.Ctx(), id))
				var stop *work.StopError
				require.ErrorAs(t, pooltest.Receive(t, ran), &stop)
				assert.Len(t, stop.Released, 2)
				pooltest.Await(t, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "now" })
				assert.Equal(t, pooltest.IdsOf(receipts), k.InLine("n"))
				stopped, err := i.StoppedWorkers(k.Ctx(), 1)
				require.NoError(t, err)
				assert.Equal(t, inspect.WorkerStoppedByOrder, stopped[0].Why)
				require.ErrorIs(t, i.StopWorkerNow(k.Ctx(), id), inspect.ErrNoWorker)
			})
		})
	}
}

func TestAPingThatNobodyAnswersEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SADD", "workers", "frozen")
		ctx, cancel := context.WithTimeout(k.Ctx(), 2*time.Second)
		defer cancel()
		_, err := k.inspector().Ping(ctx, "frozen")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, `worker "frozen" has not answered`)
	})
}

// only is the only worker of the namespace; "" while there is none.
func (k *kit) only() string {
	k.T.Helper()
	ids := k.Strings("SMEMBERS", "workers")
	if len(ids) != 1 {
		return ""
	}
	return ids[0]
}

// visible waits until a check-in of a job is shown.
func (k *kit) visible(i *inspect.Inspector, id, message string) {
	k.T.Helper()
	k.Until("the check-in is shown", func() bool {
		job, err := i.Job(k.Ctx(), id)
		require.NoError(k.T, err)
		return job.Checkin != nil && job.Checkin.Message == message
	})
}

func TestProcessorsAreThoseOfGroups(t *testing.T) {
	t.Parallel()
	holds := func(n int) []inspect.RunningJob { return make([]inspect.RunningJob, n) }
	assert.Equal(t, inspect.Processors{}, inspect.TotalProcessors(nil))
	assert.Equal(t, inspect.Processors{Busy: 3 + 10 + 1, Total: 10 + 10 + 5}, inspect.TotalProcessors(
		[]inspect.WorkerInfo{
			{ID: "a0", Group: "a", Alive: true, Concurrency: 10, Running: holds(1)},
			{ID: "a1", Group: "a", Alive: true, Concurrency: 10, Running: holds(2)},
			{ID: "a2", Group: "a", Concurrency: 10, Running: holds(3)},
			{ID: "b0", Group: "b", Alive: true, Concurrency: 10, Running: holds(7)},
			{ID: "b1", Group: "b", Alive: true, Concurrency: 10, Running: holds(7)},
			{ID: "old", Alive: true, Concurrency: 5, Running: holds(1)},
			{ID: "silent", Concurrency: 50},
		}))
}
