package metrics

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

var errLuck = errors.New("no luck")

// run lets a pool run what is due, and stops it: then it has told of everything.
func run(t *testing.T, pool *work.WorkerPool) {
	t.Helper()
	ctx := testCtx(t)
	require.NoError(t, pool.Start(ctx))
	require.NoError(t, pool.Drain(ctx))
	require.NoError(t, pool.Stop(ctx))
}

func TestExactCountsOfKnownJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		recorder := New(Options{})
		hourly := func(*work.Job, error) time.Duration { return time.Hour }
		pool := work.NewWorkerPool(nil, 4, poolOptions(t, s, recorder)).
			Job("done", func() error { return nil }).
			JobWithOptions("fails", work.JobOptions{Backoff: hourly}, func() error { return errLuck }).
			JobWithOptions("panics", work.JobOptions{Retries: -1}, func() error { panic("boom") }).
			Job("discarded", func() error { return work.Discard(errLuck) }).
			Job("snoozed", func() error { return work.Snooze(time.Hour) }).
			Job("late", func() error { return nil }).
			Job("unwanted", func() error { return nil })
		enqueuer, ctx := pool.Enqueuer(), testCtx(t)
		for name, n := range map[string]int{"done": 5, "fails": 2, "panics": 3, "discarded": 1, "snoozed": 4} {
			for range n {
				_, err := enqueuer.Enqueue(ctx, name)
				require.NoError(t, err)
			}
		}
		_, err := enqueuer.With(work.ExpireIn(time.Millisecond)).EnqueueAt(ctx, "late", time.Now().Add(-time.Hour))
		require.NoError(t, err)
		run(t, pool)

		page := newSite(t, recorder).scrape()
		for name, want := range map[string]map[string]float64{
			"done": {"done": 5}, "fails": {"failed": 2}, "panics": {"buried": 3}, "discarded": {"discarded": 1},
			"snoozed":  {"snoozed": 4},
			"unwanted": {},
		} {
			assert.Equal(t, want, page.outcomes(name), name)
		}
		for name, want := range map[string]uint64{"done": 5, "fails": 2, "panics": 3, "discarded": 1, "snoozed": 4,
			"unwanted": 0} {
			ended, _ := page.histogram("work_job_run_seconds", "name", name)
			begun, _ := page.histogram("work_job_waiting_seconds", "name", name)
			assert.Equal(t, []uint64{want, want}, []uint64{ended, begun}, name)
		}
		page.is(3, "work_job_panics_total", "name", "panics")
		page.is(1, "work_workers_started_total")
		page.is(1, "work_workers_stopped_total", "result", "clean")
		late := page.outcomes("late")
		assert.Equal(t, float64(1), late["done"]+late["expired"])
		_, fetched := page.histogram("work_fetch_jobs")
		_, settled := page.histogram("work_settle_jobs")
		assert.Equal(t, []float64{16, 16}, []float64{fetched, settled}, "5 + 2 + 3 + 1 + 4 + 1 jobs")
		assert.GreaterOrEqual(t, page.value("work_fetch_asked_jobs_total"), fetched)
	})
}

func TestRunAndWaitingTimesAreInSeconds(t *testing.T) {
	t.Parallel()
	recorder := New(Options{RunBuckets: []float64{1, 60}, WaitBuckets: []float64{0.5}})
	ref := event.JobRef{Name: "a"}
	recorder.Observe(event.JobStarted{JobRef: ref, Waited: 250 * time.Millisecond})
	recorder.Observe(event.JobDone{JobRef: ref, Elapsed: 30 * time.Second})
	recorder.Observe(event.JobFailed{JobRef: ref, Elapsed: time.Second})
	page := newSite(t, recorder).scrape()
	count, sum := page.histogram("work_job_run_seconds", "name", "a")
	assert.Equal(t, uint64(2), count)
	assert.InDelta(t, 31, sum, 1e-9)
	buckets := page.find("work_job_run_seconds", "name", "a").GetHistogram().GetBucket()
	require.Len(t, buckets, 3)
	assert.Equal(t, []uint64{1, 2, 2}, []uint64{buckets[0].GetCumulativeCount(), buckets[1].GetCumulativeCount(),
		buckets[2].GetCumulativeCount()})
	_, sum = page.histogram("work_job_waiting_seconds", "name", "a")
	assert.InDelta(t, 0.25, sum, 1e-9)
}

func TestAJobWhoseHandlerWasNotCalledHasNoRunTime(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	recorder.Observe(event.JobBuried{JobRef: event.JobRef{Name: "a"}, Reason: "the record is not JSON"})
	recorder.Observe(event.JobBuried{JobRef: event.JobRef{Name: "a", Begun: time.Now().Add(-time.Minute)}})
	// the clock was set back
	recorder.Observe(event.JobBuried{JobRef: event.JobRef{Name: "a", Begun: time.Now().Add(time.Hour)}})
	page := newSite(t, recorder).scrape()
	count, sum := page.histogram("work_job_run_seconds", "name", "a")
	assert.Equal(t, uint64(2), count)
	assert.InDelta(t, 60, sum, 30)
	assert.Equal(t, map[string]float64{"buried": 3}, page.outcomes("a"))
}

func TestAtMostSoManyNamesHaveSeriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	recorder := New(Options{Names: 3})
	recorder.Observe(event.WorkerStarted{Queues: []string{"served", "also"}})
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			ref := event.JobRef{Name: fmt.Sprint("hostile ", n)}
			recorder.Observe(event.JobStarted{JobRef: ref})
			recorder.Observe(event.JobDone{JobRef: ref})
			recorder.Observe(event.JobStuck{JobRef: ref, Cause: work.ErrTimeout})
			recorder.Observe(event.PeriodicMissed{Name: ref.Name, Ticks: 2})
			recorder.Observe(event.Trouble{Component: fmt.Sprint("component ", n)})
		})
	}
	all.Wait()
	recorder.Observe(event.JobDone{JobRef: event.JobRef{Name: "served"}})
	page := newSite(t, recorder).scrape()
	labels := map[string]bool{}
	done := 0.0
	for _, m := range page.families["work_job_outcomes_total"].GetMetric() {
		labels[m.GetLabel()[0].GetValue()] = true
		if m.GetLabel()[1].GetValue() == "done" {
			done += m.GetCounter().GetValue()
		}
	}
	assert.Len(t, labels, 4)
	assert.Subset(t, labels, map[string]bool{"served": true, "also": true, Other: true})
	assert.InDelta(t, 201, done, 0, "none is lost")
	page.is(1, "work_job_outcomes_total", "name", "served", "outcome", "done")
	page.is(199, "work_job_outcomes_total", "name", Other, "outcome", "done")
	page.is(199, "work_job_stuck_total", "name", Other, "cause", "timeout")
	page.is(398, "work_periodic_ticks_total", "name", Other, "result", "missed")
	assert.LessOrEqual(t, len(page.families["work_troubles_total"].GetMetric()), maxComponents+1)
}

func TestWhatAPoolServesIsThereAsZeros(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	recorder.Observe(event.WorkerStarted{Queues: []string{"a"}})
	recorder.Observe(event.PeriodicEnqueued{Name: "a"})
	page := newSite(t, recorder).scrape()
	for _, outcome := range outcomeNames {
		page.is(0, "work_job_outcomes_total", "name", "a", "outcome", outcome)
	}
	page.is(0, "work_job_panics_total", "name", "a")
	page.is(0, "work_job_stuck_total", "name", "a", "cause", "timeout")
	page.is(0, "work_job_claims_gone_total", "name", "a", "reason", "taken")
	page.is(0, "work_periodic_ticks_total", "name", "a", "result", "missed")
	count, _ := page.histogram("work_job_run_seconds", "name", "a")
	assert.Zero(t, count)
}

func TestNoNameHasSeriesOfItsOwn(t *testing.T) {
	t.Parallel()
	recorder := New(Options{Names: -1})
	recorder.Observe(event.JobDone{JobRef: event.JobRef{Name: "a"}})
	page := newSite(t, recorder).scrape()
	page.is(1, "work_job_outcomes_total", "name", Other, "outcome", "done")
	assert.Len(t, page.families["work_job_run_seconds"].GetMetric(), 1)
}

func TestHostileNamesAreLabelsThatAScrapeCanRead(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct{ name, label string }{
		"quotes and newlines":       {"a\"b\\c\nd", "a\"b\\c\nd"},
		"not UTF-8":                 {"a\xff", "a\uFFFD"},
		"empty":                     {"", Other},
		"the one of all others":     {Other, Other},
		"too long":                  {strings.Repeat("x", 300), strings.Repeat("x", maxLabelBytes)},
		"too long, cut in a letter": {strings.Repeat("x", maxLabelBytes-1) + "é", strings.Repeat("x", maxLabelBytes-1)},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			recorder := New(Options{})
			recorder.Observe(event.JobDone{JobRef: event.JobRef{Name: c.name}})
			newSite(t, recorder).scrape().is(1, "work_job_outcomes_total", "name", c.label, "outcome", "done")
		})
	}
}

func TestOneRecorderObservesSeveralPools(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		recorder := New(Options{})
		var both sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			pool := work.NewWorkerPool(nil, 2, poolOptions(t, s, recorder)).
				Job(name, func() error { return nil }).Job("common", func() error { return nil })
			for _, job := range []string{name, "common", "common"} {
				_, err := pool.Enqueuer().Enqueue(testCtx(t), job)
				require.NoError(t, err)
			}
			both.Go(func() { run(t, pool) })
		}
		both.Wait()
		page := newSite(t, recorder).scrape()
		page.is(2, "work_workers_started_total")
		for name, want := range map[string]float64{"a": 1, "b": 1, "common": 4} {
			page.is(want, "work_job_outcomes_total", "name", name, "outcome", "done")
		}
	})
}

func TestRecordersOfTwoPoolsAreToldApartByALabel(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	for n, pool := range []string{"front", "back"} {
		recorder := New(Options{})
		require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"pool": pool}, registry).Register(recorder))
		for range n + 1 {
			recorder.Observe(event.JobDone{JobRef: event.JobRef{Name: "a"}})
		}
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	page := &page{t: t, families: byName(families)}
	page.is(1, "work_job_outcomes_total", "name", "a", "outcome", "done", "pool", "front")
	page.is(2, "work_job_outcomes_total", "name", "a", "outcome", "done", "pool", "back")
}

// shouting is an error whose methods panic.
type shouting struct{}

func (shouting) Error() string { panic("do not read me") }
func (shouting) Unwrap() error { panic("do not look into me") }

func TestAnErrorWhoseMethodsPanicIsCounted(t *testing.T) {
	t.Parallel()
	recorder := New(Options{})
	recorder.Observe(event.JobFailed{JobRef: event.JobRef{Name: "a"}, Err: shouting{}})
	recorder.Observe(event.JobFailed{JobRef: event.JobRef{Name: "a"},
		Err: fmt.Errorf("audited: %w", &work.PanicError{})})
	page := newSite(t, recorder).scrape()
	page.is(2, "work_job_outcomes_total", "name", "a", "outcome", "failed")
	page.is(1, "work_job_panics_total", "name", "a")
}

func TestBucketsThatDoNotGrowAreRefused(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { New(Options{RunBuckets: []float64{2, 1}}) })
}

func BenchmarkObserveAJob(b *testing.B) {
	recorder := New(Options{})
	ref := event.JobRef{Name: "a"}
	started, done := event.Event(event.JobStarted{JobRef: ref, Waited: time.Millisecond}),
		event.Event(event.JobDone{JobRef: ref, Elapsed: time.Second})
	b.ReportAllocs()
	for b.Loop() {
		recorder.Observe(started)
		recorder.Observe(done)
	}
}
