package work

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

var update = flag.Bool("update", false, "write testdata/events.golden anew")

func exampleEvents() []event.Event {
	ref := event.JobRef{ID: "id1", Name: "export", SourceID: 7, Attempt: 2, Worker: "w1", Begun: time.Unix(1, 0)}
	plain := event.JobRef{ID: "id2", Name: "mail", Attempt: 1, Worker: "w1"}
	tagged := event.JobRef{ID: "id3", Name: "mail", SourceID: 7, Tags: []string{"eu", "big customer"}, Attempt: 1,
		Worker: "w1"}
	panicked := fmt.Errorf("audited: %w", &PanicError{Value: "boom", Stack: "goroutine 1 [running]:\nmain.go:1"})
	return []event.Event{
		event.WorkerStarted{Worker: "w1", Concurrency: 5, Queues: []string{"export", "mail"}},
		event.WorkerStopped{Worker: "w1"},
		event.WorkerStopped{Worker: "w1", Err: &StopError{Err: errLuck}},
		event.WorkerTold{Worker: "w1", Wanted: "pause"},
		event.WorkerTold{Worker: "w1"},
		event.LimitChanged{Name: "mail", Limit: "5 at once", Service: "shop",
			Former: "7 in 1m0s with a burst of 1", FormerService: "post"},
		event.WorkerFenced{Worker: "w1", Next: "w2", Jobs: 3},
		event.WorkerCutOff{Worker: "w1", Silence: 3 * time.Second, Jobs: 3},
		event.DataLost{Worker: "w1", Held: 4},
		event.DataLost{Worker: "w1", Held: 4, Restored: 3, Err: errLuck},
		event.JobStarted{JobRef: ref, Waited: time.Second},
		event.JobCheckedIn{JobRef: ref, Message: "row 1 of 3"},
		event.JobCheckedIn{JobRef: plain, Progress: []byte(`{"done":1}`)},
		event.JobDone{JobRef: plain, Elapsed: time.Minute},
		event.JobFailed{JobRef: ref, Elapsed: time.Second, Err: errLuck, RetryIn: time.Hour},
		event.JobFailed{JobRef: plain, Err: panicked, RetryIn: time.Hour},
		event.JobFailed{JobRef: plain, Err: &hostile{text: boom[string]}, RetryIn: time.Hour},
		event.JobBuried{JobRef: ref, Reason: "out of retries", Err: errLuck},
		event.JobBuried{JobRef: plain, Reason: "the record is not JSON"},
		event.JobDiscarded{JobRef: plain, Err: Discard(nil)},
		event.JobCancelled{JobRef: plain},
		event.JobExpired{JobRef: tagged, At: time.Unix(60, 0).UTC()},
		event.DeathHookFailed{JobRef: plain, Err: panicked},
		event.JobSnoozed{JobRef: plain, For: time.Minute, Err: Snooze(time.Minute)},
		event.JobReleased{JobRef: plain},
		event.JobReleased{JobRef: plain, Err: Release(errLuck)},
		event.JobStuck{JobRef: ref, Cause: ErrTimeout},
		event.ClaimGone{JobRef: ref},
		event.ClaimGone{JobRef: ref, Unaccounted: true},
		event.JobsFetched{Worker: "w1", Jobs: 3, Asked: 5},
		event.JobsSettled{Worker: "w1", Jobs: 3},
		event.OutcomeUnknown{JobRef: ref},
		event.HistoryTold{Worker: "w1", Names: 3, Errors: 1, Waiting: 7, Every: time.Minute},
		event.JobsDropped{Count: 2},
		event.KeyBroken{Key: "{work}:queue:mail"},
		event.WorkerReaped{Worker: "w0", Jobs: 9},
		event.JobsReturned{Worker: "w1", Jobs: 1},
		event.JobTrimmed{ID: "id1", Name: "mail"},
		event.PeriodicEnqueued{Schedule: "nightly", Name: "export", Tick: time.Unix(60, 0).UTC(), ID: "id1",
			RunAt: time.Unix(75, 0).UTC()},
		event.PeriodicMissed{Schedule: "nightly", Name: "export", Ticks: 3, Since: time.Unix(60, 0).UTC(),
			Until: time.Unix(180, 0).UTC()},
		event.PeriodicSkipped{Schedule: "nightly", Name: "export", Tick: time.Unix(60, 0).UTC(), Job: "id1"},
		event.PeriodicChanged{Schedule: "nightly", Spec: "@daily", Service: "shop", FormerSpec: "@hourly",
			FormerService: "shop"},
		event.PeriodicRemoved{Schedule: "nightly", Service: "shop"},
		event.PeriodicBroken{Schedule: "nightly", Err: errLuck},
		event.ServerUnfit{Problem: "it may evict jobs", Remedy: "set maxmemory-policy to noeviction"},
		event.Trouble{Component: "fetcher", Err: errLuck},
		event.TroubleOver{Component: "fetcher", After: time.Minute, Failures: 12},
		event.LoopPanicked{Component: "settler", Value: errLuck, Stack: "goroutine 1 [running]:"},
	}
}

func TestHowEachEventIsLogged(t *testing.T) {
	t.Parallel()
	log := &journal{}
	log.level.Set(slog.LevelDebug)
	logger := log.logger()
	missing := eventNames(t)
	for _, e := range exampleEvents() {
		logEvent(logger, e)
		delete(missing, strings.TrimPrefix(fmt.Sprintf("%T", e), "event."))
	}
	assert.Empty(t, missing, "events without an example here")
	got := strings.Join(log.lines(), "\n") + "\n"
	const golden = "testdata/events.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -run TestHowEachEventIsLogged -update writes it anew")
}

// eventNames reads the names of all events from the source.
func eventNames(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event/event.go", nil, 0)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, decl := range file.Decls {
		if method, ok := decl.(*ast.FuncDecl); ok && method.Name.Name == "event" {
			names[method.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	require.Greater(t, len(names), 15)
	return names
}

func TestIDsWithoutARecordAreDroppedWithAnEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("LPUSH", "queue:a", "ghost 1", "ghost 2")
		k.do("SADD", "ready", "a")
		id := k.enqueue("a").ID
		pool := k.start(NewWorkerPool(nil, 5, k.options()).Job("a", func() error { return nil }))
		await(t, k.spy, ofJob[event.JobDone](id))
		k.drained(pool)
		assert.Equal(t, 2, await[event.JobsDropped](t, k.spy, nil).Count)
		k.empty("a")
	})
}

func TestABrokenKeyIsReportedOnceByItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("SET", "queue:broken", "by hand")
		k.do("SADD", "ready", "broken")
		k.start(NewWorkerPool(nil, 5, k.options()).
			Job("broken", func() error { return nil }).
			Job("sound", func() error { return nil }))
		assert.Equal(t, "{"+k.namespace+"}:queue:broken", await[event.KeyBroken](t, k.spy, nil).Key)
		for range 20 {
			await(t, k.spy, ofJob[event.JobDone](k.enqueue("sound").ID))
		}
		assert.Equal(t, 1, count[event.KeyBroken](k.spy))
	})
}

// A worker that is taken out of workers by hand is what a reaper leaves of one that was silent for too long.
func TestAFencedHandlerThatDoesNotReturnIsStuck(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release, begun := make(chan struct{}), make(chan struct{}, 2)
		pool := NewWorkerPool(nil, 1, k.options()).Job("deaf", func(job *Job) error {
			begun <- struct{}{}
			<-release
			return nil
		})
		pool.stuckAfter = 5 * time.Millisecond
		k.start(pool)
		id := k.enqueue("deaf").ID
		receive(t, begun)
		worker := await[event.WorkerStarted](t, k.spy, nil).Worker
		k.do("SREM", "workers", worker)
		fenced := await[event.WorkerFenced](t, k.spy, nil)
		assert.Equal(t, event.WorkerFenced{Worker: worker, Next: fenced.Next, Jobs: 1}, fenced)
		stuck := await(t, k.spy, ofJob[event.JobStuck](id))
		require.ErrorIs(t, stuck.Cause, ErrFenced)
		assert.Equal(t, worker, stuck.Worker)
		close(release)
		k.drained(pool)
		assert.Equal(t, 1, count[event.JobStuck](k.spy))
	})
}

func TestAFetchAndASettlementOfManyJobsAreOneEventEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 7
		for range jobs {
			k.enqueue("a")
		}
		together := make(chan struct{}, jobs)
		pool := NewWorkerPool(nil, 10, k.options()).Job("a", func() error {
			together <- struct{}{}
			for len(together) < jobs { // so that there is one fetch, as its processors come free afterwards only
				runtime.Gosched()
			}
			return nil
		})
		require.NoError(t, pool.Start(k.ctx()))
		k.drained(pool)
		require.NoError(t, k.stop(pool)) // the event follows what it tells of
		worker := await[event.WorkerStarted](t, k.spy, nil).Worker
		fetched, settled := event.JobsFetched{}, 0
		events, _ := k.spy.all()
		for _, e := range events {
			switch e := e.(type) {
			case event.JobsFetched:
				assert.Positive(t, e.Asked, "a look for work is no fetch")
				assert.Equal(t, worker, e.Worker)
				if e.Jobs > 0 {
					assert.Zero(t, fetched, "one fetch brings all")
					fetched = e
				}
			case event.JobsSettled:
				assert.Positive(t, e.Jobs)
				assert.Equal(t, worker, e.Worker)
				settled += e.Jobs
			}
		}
		assert.Equal(t, event.JobsFetched{Worker: worker, Jobs: jobs, Asked: 10}, fetched)
		assert.Equal(t, jobs, settled)
	})
}
