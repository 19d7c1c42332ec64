package work

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
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
		pool := k.start(NewWorkerPool(nil, 3, k.options()).Job("a", func(job *Job) error {
			if job.Attempt == 1 {
				return RetryIn(0, errLuck)
			}
			return nil
		}))
		receipt, err := k.enq.SourcedEnqueue(k.ctx(), "a", 77)
		require.NoError(t, err)
		k.drained(pool)
		await[event.JobDone](t, k.spy, nil)
		worker := await[event.WorkerStarted](t, k.spy, nil)
		assert.Equal(t, 3, worker.Concurrency)
		assert.Equal(t, []string{"a"}, worker.Queues)

		seen := seenBy(t, k.spy, receipt.ID)
		require.Len(t, seen, 4)
		for i, wanted := range []event.Event{event.JobStarted{}, event.JobFailed{}, event.JobStarted{},
			event.JobDone{}} {
			require.IsType(t, wanted, seen[i])
			of := seen[i].(interface{ Ref() event.JobRef }).Ref()
			assert.Equal(t, event.JobRef{
				ID: receipt.ID, Name: "a", SourceID: 77, Attempt: i/2 + 1, Worker: worker.Worker, Begun: of.Begun,
			}, of)
			assert.WithinDuration(t, time.Now(), of.Begun, patience)
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
		options := k.options()
		options.Logger = log.logger()
		var told atomic.Int64
		options.Observers = []Observer{
			ObserverFunc(func(event.Event) { told.Add(1); panic("cannot count") }),
			k.spy, // behind it
		}
		pool := NewWorkerPool(nil, 2, options).
			Job("a", func() error { return nil }).
			JobWithOptions("b", JobOptions{Retries: -1}, func() error { return errLuck })
		require.NoError(t, pool.Start(k.ctx()))
		for range 50 {
			k.enqueue("a")
			k.enqueue("b")
		}
		k.drained(pool)
		require.NoError(t, k.stop(pool))
		assert.Equal(t, 50, count[event.JobDone](k.spy))
		assert.Equal(t, 50, count[event.JobBuried](k.spy))
		events, _ := k.spy.all()
		assert.Equal(t, int64(len(events)), told.Load(), "it is told again all the same")
		panics := log.with("an observer panicked")
		require.Len(t, panics, 1)
		assert.Contains(t, panics[0], `level=ERROR msg="work: an observer panicked" observer=work.ObserverFunc `+
			`event=event.WorkerStarted panic="cannot count" panics=1 stack=`)
	})
}

func TestAnObserverThatPanicsIsReportedAgainAfterAMinuteWithACount(t *testing.T) {
	t.Parallel()
	log := &journal{}
	s := newStream(log.logger(), []Observer{ObserverFunc(func(event.Event) { panic("again") })})
	for range 10 {
		s.emit(event.JobsDropped{Count: 1})
	}
	require.Len(t, log.with("panicked"), 1)
	s.observers[0].told = time.Now().Add(-complaintInterval)
	s.emit(event.JobsDropped{Count: 1})
	require.Len(t, log.with("panicked"), 2)
	assert.Contains(t, log.with("panicked")[1], " panics=10 ")
}

func TestAnObserverThatEndsGoroutinesIsSurvived(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log := &journal{}
		options := k.options()
		options.Logger = log.logger()
		var starts atomic.Int64
		options.Observers = []Observer{k.spy, ObserverFunc(func(e event.Event) {
			_, isStart := e.(event.JobStarted)
			_, ofJob := e.(interface{ Ref() event.JobRef })
			if ofJob && (!isStart || starts.Add(1) == 1) {
				runtime.Goexit() // as require.NoError does
			}
		})}
		pool := NewWorkerPool(nil, 1, options).
			JobWithOptions("a", JobOptions{Backoff: hourly}, func() error { return errLuck })
		require.NoError(t, pool.Start(k.ctx()))
		for range 3 {
			k.store("a", k.newID(), "no record") // buried by the fetcher
			k.enqueue("a")
		}
		k.drained(pool)
		require.NoError(t, k.stop(pool))
		assert.Zero(t, pool.workers[0].slots.busy.Load(), "each slot was given back once")
		assert.Equal(t, 3, k.number("ZCARD", "morgue"))
		assert.Equal(t, 3, k.number("ZCARD", "retry"))
		require.Len(t, log.with("an observer panicked"), 1)
		assert.Contains(t, log.with("an observer panicked")[0], "panic=runtime.Goexit")
	})
}

func (k *kit) newID() string { return newID(time.Now()) }

// rude is a slog.Handler that panics.
type rude struct{ slog.Handler }

func (rude) Enabled(context.Context, slog.Level) bool  { return true }
func (rude) Handle(context.Context, slog.Record) error { panic("no paper") }

func TestALogThatPanicsHarmsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Logger = slog.New(rude{})
		options.Observers = []Observer{ObserverFunc(func(event.Event) { panic("as well") }), k.spy}
		pool := k.start(NewWorkerPool(nil, 1, options).Job("a", func() error { return nil }))
		id := k.enqueue("a").ID
		k.drained(pool)
		await(t, k.spy, ofJob[event.JobDone](id))
	})
}

func TestTheLogFollowsItsLevelWhileThePoolRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log := &journal{}
		options := k.options()
		options.Logger, options.Observers = log.logger(), nil
		pool := k.start(NewWorkerPool(nil, 1, options).Job("a", func() error { return nil }))
		k.enqueue("a")
		k.drained(pool)
		assert.Empty(t, log.with("job done"), "what goes well is not told by default")
		log.level.Set(slog.LevelDebug)
		id := k.enqueue("a").ID
		k.drained(pool)
		require.Len(t, log.with("job done"), 1)
		assert.Contains(t, log.with("job started")[0],
			`level=DEBUG msg="work: job started" job=a id=`+id+` attempt=1 waited=`)
	})
}

func TestHealthIsToldOncePerChange(t *testing.T) {
	t.Parallel()
	seen := newSpy()
	h := &health{component: "fetcher", events: newStream(silent(), []Observer{seen})}
	first, second := errors.New("first"), errors.New("second")
	for _, err := range []error{nil, nil, first, second, second, nil, nil, second, nil} {
		h.report(err)
	}
	events, _ := seen.all()
	require.Len(t, events, 4)
	assert.Equal(t, event.Trouble{Component: "fetcher", Err: first}, events[0])
	over := events[1].(event.TroubleOver)
	assert.Equal(t, event.TroubleOver{Component: "fetcher", After: over.After, Failures: 3}, over)
	assert.Equal(t, event.Trouble{Component: "fetcher", Err: second}, events[2])
	assert.Equal(t, 1, events[3].(event.TroubleOver).Failures)
}
