package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestTheFleetOfKnownJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		ctx := testCtx(t)
		begun, release := make(chan struct{}, 10), make(chan struct{})
		options := poolOptions(t, s)
		options.Prefetch = work.NoPrefetch // so that no more count as running than run
		pool := work.NewWorkerPool(nil, 2, options).
			Job("slow", func() error { begun <- struct{}{}; <-release; return nil }).
			JobWithOptions("bad", work.JobOptions{Retries: -1}, func() error { return errLuck })
		enqueuer, inspector := pool.Enqueuer(), inspect.Of(pool)
		enqueue := func(name string, n int) {
			for range n {
				_, err := enqueuer.Enqueue(ctx, name)
				require.NoError(t, err)
			}
		}
		enqueue("bad", 3)
		require.NoError(t, pool.Start(ctx))
		require.NoError(t, pool.Drain(ctx))
		enqueue("slow", 2)
		<-begun
		<-begun
		enqueue("slow", 4)
		other, err := work.NewEnqueuer(s.DSN(), work.Namespace(options.Namespace))
		require.NoError(t, err)
		defer other.Close() //lint:ignore errcheck nothing is lost
		for range 5 {
			_, err = other.Enqueue(ctx, "unserved")
			require.NoError(t, err)
		}
		_, err = enqueuer.EnqueueIn(ctx, "slow", time.Hour)
		require.NoError(t, err)
		require.NoError(t, inspector.PauseQueue(ctx, "unserved"))

		page := newSite(t, Fleet(inspector, FleetOptions{Logger: quiet})).scrape()
		page.is(1, "work_fleet_up")
		page.is(0, "work_fleet_read_errors_total")
		for state, want := range map[string]float64{"queued": 9, "running": 2, "scheduled": 1, "retrying": 0,
			"stalled": 0, "dead": 3} {
			page.is(want, "work_fleet_jobs", "state", state)
		}
		page.is(1, "work_fleet_workers", "state", "alive")
		page.is(0, "work_fleet_workers", "state", "silent")
		page.is(2, "work_fleet_processors")
		page.is(2, "work_fleet_processors_busy")
		for name, want := range map[string][]float64{"slow": {4, 2, 1, 0}, "bad": {0, 0, 1, 0},
			"unserved": {5, 0, 0, 1}} {
			page.is(want[0], "work_queue_waiting_jobs", "name", name)
			page.is(want[1], "work_queue_running_jobs", "name", name)
			page.is(want[2], "work_queue_workers", "name", name)
			page.is(want[3], "work_queue_paused", "name", name)
			page.is(0, "work_queue_broken", "name", name)
		}
		page.is(0, "work_queue_oldest_waiting_seconds", "name", "bad")
		assert.GreaterOrEqual(t, page.value("work_queue_oldest_waiting_seconds", "name", "slow"), 0.0)
		page.is(3, "work_queue_processors_wanted", "name", "slow")
		page.is(0, "work_queue_processors_wanted", "name", "unserved")
		close(release)
		require.NoError(t, pool.Stop(ctx))
	})
}

func TestTheOldestThatWaitsIsAnAge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		namespace := redistest.Namespace(t)
		enqueuer, err := work.NewEnqueuer(s.DSN(), work.Namespace(namespace))
		require.NoError(t, err)
		defer enqueuer.Close() //lint:ignore errcheck nothing is lost
		inspector, err := inspect.New(s.DSN(), work.Namespace(namespace))
		require.NoError(t, err)
		defer inspector.Close() //lint:ignore errcheck nothing is lost
		_, err = enqueuer.Enqueue(testCtx(t), "a")
		require.NoError(t, err)
		site := newSite(t, Fleet(inspector, FleetOptions{Logger: quiet}))
		require.Eventually(t, func() bool {
			return site.scrape().value("work_queue_oldest_waiting_seconds", "name", "a") >= 0.05
		}, patience, 10*time.Millisecond)
		assert.Less(t, site.scrape().value("work_queue_oldest_waiting_seconds", "name", "a"), (2 * patience).Seconds())
	})
}

func TestAScrapeWhileRedisIsAwayAndAfterwards(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		inspector, err := inspect.New(proxy.DSN(), work.Namespace(redistest.Namespace(t)))
		require.NoError(t, err)
		defer inspector.Close() //lint:ignore errcheck nothing is lost
		log := &journal{}
		site := newSite(t, Fleet(inspector,
			FleetOptions{Timeout: 2 * time.Second, Logger: slog.New(slog.NewJSONHandler(log, nil))}))
		proxy.Pause()
		for n := range 2 {
			page := site.scrape()
			page.is(0, "work_fleet_up")
			page.is(float64(n+1), "work_fleet_read_errors_total")
			assert.GreaterOrEqual(t, page.value("work_fleet_read_seconds"), 2.0)
			assert.Nil(t, page.families["work_fleet_jobs"], "what is not known is not told")
		}
		proxy.Resume()
		page := site.scrape()
		for deadline := time.Now().Add(patience); page.value("work_fleet_up") != 1; page = site.scrape() {
			require.Less(t, time.Now(), deadline, "it does not come up")
		}
		page.is(0, "work_fleet_jobs", "state", "queued")
		assert.Equal(t, []string{"WARN", "INFO"}, log.levels(t), "once when it began, once when it was over")
	})
}

func TestAScrapeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	source := &fakeFleet{hang: true, asked: make(chan struct{}, 1)}
	site := newSite(t, newFleet(source, FleetOptions{Context: ctx, Timeout: time.Hour, Logger: quiet}))
	go func() {
		<-source.asked
		cancel()
	}()
	site.scrape().is(0, "work_fleet_up")
}

func TestAScrapeEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	site := newSite(t, newFleet(&fakeFleet{hang: true}, FleetOptions{Timeout: 10 * time.Millisecond, Logger: quiet}))
	page := site.scrape()
	page.is(0, "work_fleet_up")
	assert.GreaterOrEqual(t, page.value("work_fleet_read_seconds"), 0.01)
}

func TestScrapesAtTheSameTimeShareOneReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &fakeFleet{asked: make(chan struct{}, 100), release: make(chan struct{})}
		f := newFleet(source, FleetOptions{Logger: quiet, Timeout: time.Hour})
		const scrapes = 10
		readings := make(chan *reading, scrapes)
		for range scrapes {
			go func() { readings <- f.read() }()
		}
		synctest.Wait() // one reads, the others wait for it
		assert.Len(t, source.asked, 1)
		close(source.release)
		first := <-readings
		for range scrapes - 1 {
			assert.Same(t, first, <-readings)
		}
		assert.NotSame(t, first, f.read(), "a later one reads anew")
		assert.Len(t, source.asked, 2)
	})
}

func TestAReadingThatPanicsFailsNoScrape(t *testing.T) {
	t.Parallel()
	source := &fakeFleet{panics: true}
	site := newSite(t, newFleet(source, FleetOptions{Logger: quiet}))
	site.scrape().is(0, "work_fleet_up")
	page := site.scrape()
	page.is(0, "work_fleet_up")
	page.is(2, "work_fleet_read_errors_total")
}

func TestAtMostSoManyQueuesHaveSeriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	source := &fakeFleet{counts: inspect.Counts{AsOf: now}}
	for n := range 50 {
		source.queues = append(source.queues, inspect.QueueInfo{Name: fmt.Sprintf("hostile %02d", n), Waiting: n,
			Oldest: now.Add(-time.Duration(n) * time.Second)})
	}
	source.queues = append(source.queues, inspect.QueueInfo{Name: "served", Workers: 1},
		inspect.QueueInfo{Name: "bad\xff", Workers: 1, Waiting: 3, Running: 2})
	site := newSite(t, newFleet(source, FleetOptions{Names: 4, Logger: quiet}))
	page := site.scrape()
	assert.Len(t, page.families["work_queue_waiting_jobs"].GetMetric(), 5)
	page.is(0, "work_queue_waiting_jobs", "name", "served")
	page.is(3, "work_queue_waiting_jobs", "name", "bad\uFFFD")
	page.is(49, "work_queue_waiting_jobs", "name", "hostile 49")
	page.is(48, "work_queue_waiting_jobs", "name", "hostile 48")
	page.is(47*48/2, "work_queue_waiting_jobs", "name", Other)
	page.is(47, "work_queue_oldest_waiting_seconds", "name", Other)
	page.is(47, "work_queue_processors_wanted", "name", Other)
	assert.ElementsMatch(t, []string{"hostile 48", "hostile 49", "bad\xff"}, source.asks, "history is read of no more")

	source.queues[0].Waiting = 1000
	page = site.scrape()
	page.is(48, "work_queue_waiting_jobs", "name", "hostile 48")
	assert.Nil(t, page.find("work_queue_waiting_jobs", "name", "hostile 00"), "who has a label keeps it")
	source.queues = source.queues[:48]
	page = site.scrape()
	page.is(1000, "work_queue_waiting_jobs", "name", "hostile 00")
}

func TestQueuesThatShareALabelAreAddedUp(t *testing.T) {
	t.Parallel()
	now := time.Now()
	source := &fakeFleet{counts: inspect.Counts{AsOf: now}, queues: []inspect.QueueInfo{
		{Name: "a\xff", Waiting: 1, Parked: 1, Keys: 6, Workers: 5, Oldest: now.Add(-time.Minute), Paused: true},
		{Name: "a\xfe", Waiting: 2, Parked: 2, Keys: 1, Workers: 3, Oldest: now.Add(-time.Second), Problem: "no list"},
		{Name: Other, Waiting: 4}}}
	page := newSite(t, newFleet(source, FleetOptions{Logger: quiet})).scrape()
	page.is(3, "work_queue_waiting_jobs", "name", "a\uFFFD")
	page.is(5, "work_queue_workers", "name", "a\uFFFD")
	page.is(3, "work_queue_parked_jobs", "name", "a\uFFFD")
	page.is(7, "work_queue_keys", "name", "a\uFFFD")
	page.is(0, "work_queue_keys", "name", Other)
	page.is(60, "work_queue_oldest_waiting_seconds", "name", "a\uFFFD")
	page.is(1, "work_queue_paused", "name", "a\uFFFD")
	page.is(1, "work_queue_broken", "name", "a\uFFFD")
	page.is(4, "work_queue_waiting_jobs", "name", Other)
}

func TestWorkersAndTheirProcessors(t *testing.T) {
	t.Parallel()
	holds := func(n int) []inspect.RunningJob { return make([]inspect.RunningJob, n) }
	source := &fakeFleet{workers: []inspect.WorkerInfo{
		{ID: "a", Alive: true, Concurrency: 10, Running: holds(4), Load: inspect.Load{One: 3, Five: 2, Fifteen: 1}},
		{ID: "b", Alive: true, Concurrency: 5, Running: holds(9), Load: inspect.Load{One: 0.5}},
		{ID: "c", Concurrency: 100, Running: holds(50), Load: inspect.Load{One: 100}}}}
	page := newSite(t, newFleet(source, FleetOptions{Logger: quiet})).scrape()
	page.is(2, "work_fleet_workers", "state", "alive")
	page.is(1, "work_fleet_workers", "state", "silent")
	page.is(15, "work_fleet_processors")
	page.is(9, "work_fleet_processors_busy")
	page.is(3.5, "work_fleet_load", "window", "1m")
	page.is(2, "work_fleet_load", "window", "5m")
	page.is(1, "work_fleet_load", "window", "15m")
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) levels(t *testing.T) (levels []string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		var record struct{ Level string }
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		levels = append(levels, record.Level)
	}
	return levels
}
