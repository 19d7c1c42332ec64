package eventlog_test

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/eventlog"
)

var errLuck = errors.New("no luck")

// panicError has a stack, as the error of an attempt that panicked.
type panicError struct{ stack string }

func (*panicError) Error() string { return "panic: boom" }

// muteError has no text.
type muteError struct{}

func (*muteError) Error() string { panic("boom") }

func stackOf(err error) string {
	var panicked *panicError
	if errors.As(err, &panicked) {
		return panicked.stack
	}
	return ""
}

var update = flag.Bool("update", false, "write testdata/events.golden anew")

func exampleEvents() []event.Event {
	ref := event.JobRef{ID: "id1", Name: "export", SourceID: 7, Attempt: 2, Worker: "w1", Begun: time.Unix(1, 0)}
	plain := event.JobRef{ID: "id2", Name: "mail", Attempt: 1, Worker: "w1"}
	tagged := event.JobRef{ID: "id3", Name: "mail", SourceID: 7, Tags: []string{"eu", "big customer"},
		Key: "customer 7", Attempt: 1,
		Worker: "w1"}
	panicked := fmt.Errorf("audited: %w", &panicError{"goroutine 1 [running]:\nmain.go:1"})
	return []event.Event{
		event.WorkerStarted{Worker: "w1", Concurrency: 5, Queues: []string{"export", "mail"}},
		event.WorkerStopped{Worker: "w1"},
		event.WorkerStopped{Worker: "w1", Err: errors.New("the worker pool did not stop in good order: no luck")},
		event.PartitionJoined{Partition: 3, Worker: "w4"},
		event.PartitionLeft{Partition: 3},
		event.PartitionLeft{Partition: 3, Err: errors.New("no luck")},
		event.PoolIdle{Worker: "w1", Idle: time.Minute},
		event.BatchEnded{Worker: "w1", Name: "index", Jobs: 500, Elapsed: time.Second, Err: errors.New("no luck")},
		event.WorkerTold{Worker: "w1", Wanted: "pause"},
		event.WorkerTold{Worker: "w1"},
		event.LimitChanged{Name: "mail", Limit: "5 at once", Service: "shop",
			Former: "7 in 1m0s with a burst of 1", FormerService: "post"},
		event.WorkerFenced{Worker: "w1", Next: "w2", Jobs: 3},
		event.WorkerCutOff{Worker: "w1", Silence: 3 * time.Second, Jobs: 3},
		event.DataLost{Worker: "w1", Held: 4},
		event.DataLost{Worker: "w1", Held: 4, Restored: 3, Err: errLuck},
		event.DataLost{Worker: "w1", Failover: true, Held: 4, Restored: 1, Reclaimed: 2, Outcomes: 5},
		event.DataLost{Failover: true, Enqueued: []string{"id1", "id2"}},
		event.DataLost{Failover: true, FlowsMore: 3, Flows: []string{"f1", "f2"}},
		event.DataLost{Failover: true, EnqueuedMore: 3, Enqueued: []string{
			"id1", "id2", "id3", "id4", "id5", "id6", "id7", "id8", "id9", "id10", "id11"}},
		event.JobStarted{JobRef: ref, Waited: time.Second},
		event.JobCheckedIn{JobRef: ref, Message: "row 1 of 3"},
		event.JobCheckedIn{JobRef: plain, Progress: []byte(`{"done":1}`)},
		event.JobDone{JobRef: plain, Elapsed: time.Minute},
		event.JobFailed{JobRef: ref, Elapsed: time.Second, Err: errLuck, RetryIn: time.Hour},
		event.JobFailed{JobRef: plain, Err: panicked, RetryIn: time.Hour},
		event.JobFailed{JobRef: plain, Err: &muteError{}, RetryIn: time.Hour},
		event.JobBuried{JobRef: ref, Reason: "out of retries", Err: errLuck},
		event.JobBuried{JobRef: plain, Reason: "the record is not JSON"},
		event.JobDiscarded{JobRef: plain, Err: errors.New("discard")},
		event.JobCancelled{JobRef: plain},
		event.JobExpired{JobRef: tagged, At: time.Unix(60, 0).UTC()},
		event.DeathHookFailed{JobRef: plain, Err: panicked},
		event.JobSnoozed{JobRef: plain, For: time.Minute, Err: errors.New("snooze for 1m0s")},
		event.StepDone{JobRef: plain, Step: "charge", Kind: event.StepKindStep, Elapsed: time.Second, Bytes: 7},
		event.WaitIgnored{JobRef: plain, Step: "rest", Err: errLuck},
		event.JobReleased{JobRef: plain},
		event.JobReleased{JobRef: plain, Err: errLuck},
		event.JobStuck{JobRef: ref, Cause: errors.New("the job's timeout has passed")},
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
		event.JobTrimmed{ID: "id1", Name: "mail"}, event.QueueDestroyed{Name: "mail", Jobs: 7, Forgotten: true},
		event.FlowStored{Flow: "order-7", Jobs: 4},
		event.FlowEnded{Flow: "order-7", How: event.FlowDead, Generation: 2, Jobs: 4, Took: time.Minute},
		event.FlowReopened{Flow: "order-7"},
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
	var lines strings.Builder
	log := eventlog.New(slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		},
	})), stackOf)
	missing := eventNames(t)
	for _, e := range exampleEvents() {
		log.Event(e)
		delete(missing, strings.TrimPrefix(fmt.Sprintf("%T", e), "event."))
	}
	assert.Empty(t, missing, "events without an example here")
	got := lines.String()
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
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/event.go", nil, 0)
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
