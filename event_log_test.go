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

	"github.com/265d0351/work/internal/redistest"
)

var update = flag.Bool("update", false, "write testdata/events.golden anew")

func exampleEvents() []Event {
	ref := JobRef{ID: "id1", Name: "export", SourceID: 7, Attempt: 2, Worker: "w1", Begun: time.Unix(1, 0)}
	plain := JobRef{ID: "id2", Name: "mail", Attempt: 1, Worker: "w1"}
	tagged := JobRef{ID: "id3", Name: "mail", SourceID: 7, Tags: []string{"eu", "big customer"}, Attempt: 1,
		Worker: "w1"}
	panicked := fmt.Errorf("audited: %w", &PanicError{Value: "boom", Stack: "goroutine 1 [running]:\nmain.go:1"})
	return []Event{
		WorkerStarted{Worker: "w1", Concurrency: 5, Queues: []string{"export", "mail"}},
		WorkerStopped{Worker: "w1"},
		WorkerStopped{Worker: "w1", Err: &StopError{Err: errLuck}},
		WorkerTold{Worker: "w1", Wanted: "pause"},
		WorkerTold{Worker: "w1"},
		LimitChanged{Name: "mail", Limit: Limit{Concurrent: 5}, Service: "shop",
			Former: Limit{Rate: 7, Per: time.Minute, Burst: 1}, FormerService: "post"},
		WorkerFenced{Worker: "w1", Next: "w2", Jobs: 3},
		WorkerCutOff{Worker: "w1", Silence: 3 * time.Second, Jobs: 3},
		DataLost{Worker: "w1", Held: 4},
		DataLost{Worker: "w1", Held: 4, Restored: 3, Err: errLuck},
		JobStarted{JobRef: ref, Waited: time.Second},
		JobCheckedIn{JobRef: ref, Message: "row 1 of 3"},
		JobCheckedIn{JobRef: plain, Progress: []byte(`{"done":1}`)},
		JobDone{JobRef: plain, Elapsed: time.Minute},
		JobFailed{JobRef: ref, Elapsed: time.Second, Err: errLuck, RetryIn: time.Hour},
		JobFailed{JobRef: plain, Err: panicked, RetryIn: time.Hour},
		JobFailed{JobRef: plain, Err: &hostile{text: boom[string]}, RetryIn: time.Hour},
		JobBuried{JobRef: ref, Reason: "out of retries", Err: errLuck},
		JobBuried{JobRef: plain, Reason: "the record is not JSON"},
		JobDiscarded{JobRef: plain, Err: Discard(nil)},
		JobCancelled{JobRef: plain},
		JobExpired{JobRef: tagged, At: time.Unix(60, 0).UTC()},
		DeathHookFailed{JobRef: plain, Err: panicked},
		JobSnoozed{JobRef: plain, For: time.Minute, Err: Snooze(time.Minute)},
		JobReleased{JobRef: plain},
		JobReleased{JobRef: plain, Err: Release(errLuck)},
		JobStuck{JobRef: ref, Cause: ErrTimeout},
		ClaimGone{JobRef: ref},
		ClaimGone{JobRef: ref, Unaccounted: true},
		JobsFetched{Worker: "w1", Jobs: 3, Asked: 5},
		JobsSettled{Worker: "w1", Jobs: 3},
		OutcomeUnknown{JobRef: ref},
		HistoryTold{Worker: "w1", Names: 3, Errors: 1, Waiting: 7, Every: time.Minute},
		JobsDropped{Count: 2},
		KeyBroken{Key: "{work}:queue:mail"},
		WorkerReaped{Worker: "w0", Jobs: 9},
		JobsReturned{Worker: "w1", Jobs: 1},
		JobTrimmed{ID: "id1", Name: "mail"},
		PeriodicEnqueued{Schedule: "nightly", Name: "export", Tick: time.Unix(60, 0).UTC(), ID: "id1",
			RunAt: time.Unix(75, 0).UTC()},
		PeriodicMissed{Schedule: "nightly", Name: "export", Ticks: 3, Since: time.Unix(60, 0).UTC(),
			Until: time.Unix(180, 0).UTC()},
		PeriodicSkipped{Schedule: "nightly", Name: "export", Tick: time.Unix(60, 0).UTC(), Job: "id1"},
		PeriodicChanged{Schedule: "nightly", Spec: "@daily", Service: "shop", FormerSpec: "@hourly",
			FormerService: "shop"},
		PeriodicRemoved{Schedule: "nightly", Service: "shop"},
		PeriodicBroken{Schedule: "nightly", Err: errLuck},
		ServerUnfit{Problem: "it may evict jobs", Remedy: "set maxmemory-policy to noeviction"},
		Trouble{Component: "fetcher", Err: errLuck},
		TroubleOver{Component: "fetcher", After: time.Minute, Failures: 12},
		LoopPanicked{Component: "settler", Value: errLuck, Stack: "goroutine 1 [running]:"},
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
		delete(missing, strings.TrimPrefix(fmt.Sprintf("%T", e), "work."))
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
	file, err := parser.ParseFile(token.NewFileSet(), "events.go", nil, 0)
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
		await(t, k.spy, ofJob[JobDone](id))
		k.drained(pool)
		assert.Equal(t, 2, await[JobsDropped](t, k.spy, nil).Count)
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
		assert.Equal(t, "{"+k.namespace+"}:queue:broken", await[KeyBroken](t, k.spy, nil).Key)
		for range 20 {
			await(t, k.spy, ofJob[JobDone](k.enqueue("sound").ID))
		}
		assert.Equal(t, 1, count[KeyBroken](k.spy))
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
		worker := await[WorkerStarted](t, k.spy, nil).Worker
		k.do("SREM", "workers", worker)
		fenced := await[WorkerFenced](t, k.spy, nil)
		assert.Equal(t, WorkerFenced{Worker: worker, Next: fenced.Next, Jobs: 1}, fenced)
		stuck := await(t, k.spy, ofJob[JobStuck](id))
		require.ErrorIs(t, stuck.Cause, ErrFenced)
		assert.Equal(t, worker, stuck.Worker)
		close(release)
		k.drained(pool)
		assert.Equal(t, 1, count[JobStuck](k.spy))
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
		worker := await[WorkerStarted](t, k.spy, nil).Worker
		fetched, settled := JobsFetched{}, 0
		events, _ := k.spy.all()
		for _, e := range events {
			switch e := e.(type) {
			case JobsFetched:
				assert.Positive(t, e.Asked, "a look for work is no fetch")
				assert.Equal(t, worker, e.Worker)
				if e.Jobs > 0 {
					assert.Zero(t, fetched, "one fetch brings all")
					fetched = e
				}
			case JobsSettled:
				assert.Positive(t, e.Jobs)
				assert.Equal(t, worker, e.Worker)
				settled += e.Jobs
			}
		}
		assert.Equal(t, JobsFetched{Worker: worker, Jobs: jobs, Asked: 10}, fetched)
		assert.Equal(t, jobs, settled)
	})
}
