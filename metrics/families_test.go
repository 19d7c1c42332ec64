package metrics

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
)

func byName(families []*dto.MetricFamily) map[string]*dto.MetricFamily {
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// counted are events that, together, make every family appear.
func counted() []event.Event {
	ref := event.JobRef{Name: "a"}
	return []event.Event{
		event.WorkerStarted{Queues: []string{"a"}}, event.WorkerStopped{}, event.WorkerStopped{Err: errLuck},
		event.WorkerFenced{}, event.DataLost{},
		event.JobStarted{JobRef: ref}, event.JobDone{JobRef: ref},
		event.JobFailed{JobRef: ref, Err: &work.PanicError{}},
		event.JobBuried{JobRef: ref},
		event.JobDiscarded{JobRef: ref}, event.JobCancelled{JobRef: ref}, event.JobSnoozed{JobRef: ref},
		event.JobReleased{JobRef: ref},
		event.JobExpired{JobRef: ref}, event.JobStuck{JobRef: ref, Cause: work.ErrShutdown},
		event.ClaimGone{JobRef: ref},
		event.DeathHookFailed{JobRef: ref},
		event.OutcomeUnknown{JobRef: ref}, event.WorkerCutOff{}, event.JobTrimmed{Name: "a"},
		event.JobsFetched{Jobs: 1, Asked: 2}, event.JobsSettled{Jobs: 1}, event.HistoryTold{Names: 1, Errors: 1},
		event.JobsDropped{Count: 1}, event.KeyBroken{},
		event.WorkerReaped{Jobs: 1}, event.JobsReturned{Jobs: 1}, event.PeriodicEnqueued{Name: "a"},
		event.PeriodicMissed{Name: "a", Ticks: 2},
		event.PeriodicSkipped{Name: "a"}, event.PeriodicBroken{}, event.ServerUnfit{},
		event.Trouble{Component: "fetcher"},
		event.TroubleOver{Component: "fetcher"}, event.LoopPanicked{Component: "fetcher"},
		event.FlowStored{}, event.FlowReopened{}, event.FlowEnded{How: event.FlowDone},
	}
}

// uncounted are the events that no metric tells of.
func uncounted() []event.Event {
	return []event.Event{event.PoolIdle{}, event.PartitionJoined{}, event.PartitionLeft{},
		event.WorkerTold{}, event.LimitChanged{}, event.JobCheckedIn{}, event.BatchEnded{},
		event.PeriodicChanged{}, event.PeriodicRemoved{}, event.QueueDestroyed{}, event.StepDone{}, event.WaitIgnored{}}
}

// gatherAll is one scrape of all there is, with every family in it.
var gatherAll = sync.OnceValues(func() ([]*dto.MetricFamily, error) {
	recorder := New(Options{})
	for _, e := range counted() {
		recorder.Observe(e)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(recorder,
		newFleet(&fakeFleet{queues: []inspect.QueueInfo{{Name: "a"}}, partitions: make([]inspect.PartitionInfo, 1),
			topology: inspect.Topology{Nodes: []inspect.NodeInfo{
				{Addr: "a:1", OfHome: true, MemoryUsed: 1, Lag: &inspect.ReplicaLag{}}}}},
			FleetOptions{Logger: quiet}))
	return registry.Gather()
})

func everyFamily(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := gatherAll()
	require.NoError(t, err)
	return byName(families)
}

func TestEveryDescribedFamilyIsThereToBeChecked(t *testing.T) {
	t.Parallel()
	described := make(chan *prometheus.Desc, 1000)
	New(Options{}).Describe(described)
	newFleet(&fakeFleet{}, FleetOptions{}).Describe(described)
	assert.Len(t, described, len(everyFamily(t)), "an event is missing in counted")
}

func TestPromlintHasNoComplaint(t *testing.T) {
	t.Parallel()
	families, err := gatherAll()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// total is the sum of all that a Recorder has counted.
func total(t *testing.T, r *Recorder) (sum float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(r)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

func TestEveryEventIsCountedOrLeftOutOnPurpose(t *testing.T) {
	t.Parallel()
	missing := eventNames(t)
	for _, e := range counted() {
		recorder := New(Options{})
		recorder.Observe(e)
		assert.Positive(t, total(t, recorder), "%T", e)
		delete(missing, fmt.Sprintf("%T", e))
	}
	for _, e := range uncounted() {
		recorder := New(Options{})
		recorder.Observe(e)
		assert.Zero(t, total(t, recorder), "%T", e)
		delete(missing, fmt.Sprintf("%T", e))
	}
	assert.Empty(t, missing, "neither in counted nor in uncounted")
}

// eventNames reads the names of all events from the source.
func eventNames(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../event/event.go", nil, 0)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, decl := range file.Decls {
		if method, ok := decl.(*ast.FuncDecl); ok && method.Name.Name == "event" {
			names["event."+method.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	require.Greater(t, len(names), 30)
	return names
}

func TestWhatTheRarerEventsCount(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	ref := event.JobRef{Name: "a", Begun: time.Now()}
	for _, e := range []event.Event{
		event.JobStuck{JobRef: ref, Cause: work.ErrTimeout}, event.JobStuck{JobRef: ref, Cause: work.ErrCancelled},
		event.JobStuck{JobRef: ref, Cause: errLuck},
		event.ClaimGone{JobRef: ref}, event.ClaimGone{JobRef: ref, Unaccounted: true},
		event.ClaimGone{JobRef: ref, Unaccounted: true},
		event.WorkerReaped{Jobs: 3}, event.WorkerReaped{Jobs: 4}, event.JobsReturned{Jobs: 5},
		event.JobsDropped{Count: 6},
		event.PeriodicEnqueued{Name: "a"}, event.PeriodicMissed{Name: "a", Ticks: 7}, event.PeriodicSkipped{Name: "a"},
		event.Trouble{Component: "settler"}, event.Trouble{Component: "settler, a id1"},
		event.Trouble{Component: "settler, a id2"},
		event.TroubleOver{Component: "settler, a id2"},
		event.WorkerStopped{}, event.WorkerStopped{Err: errLuck}, event.JobReleased{JobRef: ref},
		event.JobCancelled{JobRef: ref}, event.JobExpired{JobRef: ref},
	} {
		recorder.Observe(e)
	}
	page := newSite(t, recorder).scrape()
	for cause, want := range map[string]float64{"timeout": 1, "cancelled": 1, Other: 1} {
		page.is(want, "work_job_stuck_total", "name", "a", "cause", cause)
	}
	page.is(1, "work_job_claims_gone_total", "name", "a", "reason", "taken")
	page.is(2, "work_job_claims_gone_total", "name", "a", "reason", "data_lost")
	page.is(2, "work_workers_reaped_total")
	page.is(7, "work_jobs_reaped_total")
	page.is(5, "work_jobs_returned_total")
	page.is(6, "work_ids_dropped_total")
	for result, want := range map[string]float64{"enqueued": 1, "missed": 7, "skipped": 1} {
		page.is(want, "work_periodic_ticks_total", "name", "a", "result", result)
	}
	page.is(1, "work_troubles_total", "component", "settler")
	page.is(0, "work_troubles_over_total", "component", "settler")
	page.is(2, "work_troubles_total", "component", "settler, one job")
	page.is(1, "work_troubles_over_total", "component", "settler, one job")
	page.is(1, "work_workers_stopped_total", "result", "clean")
	page.is(1, "work_workers_stopped_total", "result", "error")
	assert.Equal(t, map[string]float64{"released": 1, "cancelled": 1, "expired": 1}, page.outcomes("a"))
	ended, _ := page.histogram("work_job_run_seconds", "name", "a")
	assert.Zero(t, ended, "these do not tell how long a handler took")
}

// An attempt whose time was up counts as such, whatever became of its job, and no other one does.
func TestTimeoutsAreCounted(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	ref := event.JobRef{Name: "a", Begun: time.Now()}
	for _, e := range []event.Event{
		event.JobFailed{JobRef: ref, Failure: event.FailureTimeout}, event.JobFailed{JobRef: ref, Err: work.ErrTimeout},
		event.JobBuried{JobRef: ref, Failure: event.FailureTimeout},
		event.JobDiscarded{JobRef: ref, Failure: event.FailureTimeout},
	} {
		recorder.Observe(e)
	}
	newSite(t, recorder).scrape().is(3, "work_job_timeouts_total", "name", "a")
}

func TestHowManySeriesANameHas(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	recorder.Observe(event.WorkerStarted{Queues: []string{"a"}})
	source := &fakeFleet{queues: []inspect.QueueInfo{{Name: "a"}}}
	page := newSite(t, recorder, newFleet(source, FleetOptions{Logger: quiet})).scrape()
	series := map[bool]int{} // of a fleet?
	for name, f := range page.families {
		for _, m := range f.GetMetric() {
			for _, pair := range m.GetLabel() {
				if pair.GetName() != "name" || pair.GetValue() != "a" {
					continue
				}
				n := 1
				if h := m.GetHistogram(); h != nil {
					n = len(h.GetBucket()) + 2 // count and sum
				}
				series[strings.HasPrefix(name, "work_queue_")] += n
			}
		}
	}
	assert.Equal(t, map[bool]int{false: 47, true: 9}, series, "docs/metrics.md and doc.go say so")
}

func TestTheDefaultBuckets(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384, 65.536, 262.144, 1048.576,
		4194.304}, DefaultBuckets())
}
