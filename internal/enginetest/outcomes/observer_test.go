package outcomes_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// journal is a log without times, kept line by line.
type journal struct {
	mu    sync.Mutex
	text  bytes.Buffer
	level slog.LevelVar
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Split(strings.TrimSpace(j.text.String()), "\n")
}

// with returns the lines that contain that text.
func (j *journal) with(text string) (lines []string) {
	for _, line := range j.lines() {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{
		Level: &j.level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func TestTheEventsOfAJobComeInOrderWithTheirFields(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).Job("a", func(job *work.Job) error {
			if job.Attempt == 1 {
				return work.RetryIn(0, pooltest.ErrLuck)
			}
			return nil
		}))
		receipt, err := k.Enq.SourcedEnqueue(k.Ctx(), "a", 77)
		require.NoError(t, err)
		k.Drained(pool)
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		worker := pooltest.Await[event.WorkerStarted](t, k.Spy, nil)
		assert.Equal(t, 3, worker.Concurrency)
		assert.Equal(t, []string{"a"}, worker.Queues)

		seen := pooltest.SeenBy(t, k.Spy, receipt.ID)
		require.Len(t, seen, 4)
		for i, wanted := range []event.Event{event.JobStarted{}, event.JobFailed{}, event.JobStarted{},
			event.JobDone{}} {
			require.IsType(t, wanted, seen[i])
			of := seen[i].(interface{ Ref() event.JobRef }).Ref()
			assert.Equal(t, event.JobRef{
				ID: receipt.ID, Name: "a", SourceID: 77, Attempt: i/2 + 1, Worker: worker.Worker, Begun: of.Begun,
			}, of)
			assert.WithinDuration(t, time.Now(), of.Begun, pooltest.Patience)
		}
		first, again := seen[0].(event.JobStarted), seen[2].(event.JobStarted)
		assert.GreaterOrEqual(t, first.Waited, time.Duration(0))
		assert.GreaterOrEqual(t, again.Begun.Sub(first.Begun), 100*time.Millisecond)
		assert.Less(t, again.Waited, again.Begun.Sub(first.Begun), "it counts from when the retry was due")
		assert.Equal(t, 100*time.Millisecond, seen[1].(event.JobFailed).RetryIn)
		assert.Positive(t, seen[3].(event.JobDone).Elapsed)
	})
}

func TestAnObserverThatPanicsHarmsNothingAndIsReportedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log := &journal{}
		options := k.Options()
		options.Logger = log.logger()
		var told atomic.Int64
		options.Observers = []work.Observer{
			work.ObserverFunc(func(event.Event) { told.Add(1); panic("cannot count") }),
			k.Spy, // behind it
		}
		pool := work.NewWorkerPool(nil, 2, options).
			Job("a", func() error { return nil }).
			JobWithOptions("b", work.JobOptions{Retries: -1}, func() error { return pooltest.ErrLuck })
		require.NoError(t, pool.Start(k.Ctx()))
		for range 50 {
			k.Enqueue("a")
			k.Enqueue("b")
		}
		k.Drained(pool)
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, 50, pooltest.Count[event.JobDone](k.Spy))
		assert.Equal(t, 50, pooltest.Count[event.JobBuried](k.Spy))
		events, _ := k.Spy.All()
		assert.Equal(t, int64(len(events)), told.Load(), "it is told again all the same")
		panics := log.with("an observer panicked")
		require.Len(t, panics, 1)
		// mostly of WorkerStarted: a worker may have fetched before that is told
		assert.Regexp(t, `level=ERROR msg="work: an observer panicked" observer=work.ObserverFunc `+
			`event=event\.(WorkerStarted|Jobs?\w+) panic="cannot count" panics=1 stack=`, panics[0])
	})
}

func TestAnObserverThatEndsGoroutinesIsSurvived(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log := &journal{}
		options := k.Options()
		options.Logger = log.logger()
		var starts atomic.Int64
		options.Observers = []work.Observer{k.Spy, work.ObserverFunc(func(e event.Event) {
			_, isStart := e.(event.JobStarted)
			_, ofJob := e.(interface{ Ref() event.JobRef })
			if ofJob && (!isStart || starts.Add(1) == 1) {
				runtime.Goexit() // as require.NoError does
			}
		})}
		pool := work.NewWorkerPool(nil, 1, options).
			JobWithOptions("a", work.JobOptions{Backoff: pooltest.Hourly}, func() error { return pooltest.ErrLuck })
		require.NoError(t, pool.Start(k.Ctx()))
		for range 3 {
			k.Store("a", k.newID(), "no record") // buried by the fetcher
			k.Enqueue("a")
		}
		k.Drained(pool)
		require.NoError(t, k.Stop(pool))
		assert.Zero(t, pooltest.Parts(pool).Slots.Busy(), "each slot was given back once")
		assert.Equal(t, 3, k.Number("ZCARD", "morgue"))
		assert.Equal(t, 3, k.Number("ZCARD", "retry"))
		require.Len(t, log.with("an observer panicked"), 1)
		assert.Contains(t, log.with("an observer panicked")[0], "panic=runtime.Goexit")
	})
}

func (k *kit) newID() string { return ids.Job(time.Now()) }

// rude is a slog.Handler that panics.
type rude struct{ slog.Handler }

func (rude) Enabled(context.Context, slog.Level) bool { return true }

func (rude) Handle(context.Context, slog.Record) error { panic("no paper") }

func TestALogThatPanicsHarmsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Logger = slog.New(rude{})
		options.Observers = []work.Observer{work.ObserverFunc(func(event.Event) { panic("as well") }), k.Spy}
		pool := k.Start(work.NewWorkerPool(nil, 1, options).Job("a", func() error { return nil }))
		id := k.Enqueue("a").ID
		k.Drained(pool)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
	})
}

func TestTheLogFollowsItsLevelWhileThePoolRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log := &journal{}
		options := k.Options()
		options.Logger, options.Observers = log.logger(), nil
		pool := k.Start(work.NewWorkerPool(nil, 1, options).Job("a", func() error { return nil }))
		k.Enqueue("a")
		k.Drained(pool)
		assert.Empty(t, log.with("job done"), "what goes well is not told by default")
		log.level.Set(slog.LevelDebug)
		id := k.Enqueue("a").ID
		k.Drained(pool)
		require.Len(t, log.with("job done"), 1)
		assert.Contains(t, log.with("job started")[0],
			`level=DEBUG msg="work: job started" job=a id=`+id+` attempt=1 waited=`)
	})
}

func TestAnObserverThatPanicsIsReportedAgainAfterAMinuteWithACount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		emit := inside.Enqueuer(pooltest.EnqueuerOn(&pooltest.StubDriver{}, "test", work.WithLogger(log.logger()),
			work.WithObserver(work.ObserverFunc(func(event.Event) { panic("again") })))).Emit
		for range 10 {
			emit(event.JobsDropped{Count: 1})
		}
		require.Len(t, log.with("panicked"), 1)
		pooltest.Elapse(time.Minute)
		emit(event.JobsDropped{Count: 1})
		require.Len(t, log.with("panicked"), 2)
		assert.Contains(t, log.with("panicked")[1], " panics=10 ")
	})
}
