package metrics

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

func TestProcessorsWanted(t *testing.T) {
	t.Parallel()
	limit := func(l work.Limit) *inspect.LimitInfo { return &inspect.LimitInfo{Limit: l} }
	for name, c := range map[string]struct {
		queue inspect.QueueInfo
		run   time.Duration
		want  float64
	}{
		"nothing waits":           {inspect.QueueInfo{Running: 3}, time.Second, 3},
		"a backlog":               {inspect.QueueInfo{Running: 3, Waiting: 600}, time.Second, 13},
		"rounded up":              {inspect.QueueInfo{Waiting: 61}, time.Second, 2},
		"at least one":            {inspect.QueueInfo{Waiting: 1}, time.Microsecond, 1},
		"no more than wait":       {inspect.QueueInfo{Running: 1, Waiting: 2}, time.Hour, 3},
		"a run that is not known": {inspect.QueueInfo{Waiting: 1000}, 0, 1},
		"paused":                  {inspect.QueueInfo{Running: 2, Waiting: 1000, Paused: true}, time.Second, 2},
		"at most so many at once": {inspect.QueueInfo{Running: 3, Waiting: 6000,
			Limit: limit(work.Limit{Concurrent: 8})}, time.Second, 8},
		"all that a limit allows run": {inspect.QueueInfo{Running: 8, Waiting: 6000,
			Limit: limit(work.Limit{Concurrent: 8})}, time.Second, 8},
		"more than a limit allows run": {inspect.QueueInfo{Running: 9, Waiting: 6000,
			Limit: limit(work.Limit{Concurrent: 8})}, time.Second, 9},
		"a rate": {inspect.QueueInfo{Waiting: 6000,
			Limit: limit(work.Limit{Rate: 10, Per: time.Minute})}, 30 * time.Second, 5},
		"a rate, and a run not known": {inspect.QueueInfo{Waiting: 6000,
			Limit: limit(work.Limit{Rate: 10, Per: time.Minute})}, 0, 1},
		"a limit that cannot be understood": {inspect.QueueInfo{Waiting: 5,
			Limit: &inspect.LimitInfo{Problem: errors.New("no")}}, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, c.want, wanted(&c.queue, c.run, time.Minute), 0)
		})
	}
}

func TestWhereTheTimeOfARunComesFrom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ended := inspect.HistoryPoint{}
	for _, took := range []time.Duration{time.Second, 3 * time.Second} {
		ended.Run.Add(took)
	}
	source := &fakeFleet{
		counts: inspect.Counts{AsOf: now},
		queues: []inspect.QueueInfo{{Name: "ended", Waiting: 300}, {Name: "running", Waiting: 300, Running: 2},
			{Name: "new", Waiting: 300}},
		workers: []inspect.WorkerInfo{{Alive: true, AsOf: now, Running: []inspect.RunningJob{
			{Name: "running", Since: now.Add(-10 * time.Second)}, {Name: "running", Since: now.Add(-20 * time.Second)},
			{Name: "ended", Since: now.Add(-time.Hour)}}}},
		history: map[string][]inspect.HistoryPoint{"ended": {{}, ended}, "running": {{}}},
	}
	site := newSite(t, newFleet(source, FleetOptions{Target: 30 * time.Second, Logger: quiet}))
	page := site.scrape()
	page.is(300*2/30, "work_queue_processors_wanted", "name", "ended")
	page.is(2+300*15/30, "work_queue_processors_wanted", "name", "running")
	page.is(1, "work_queue_processors_wanted", "name", "new")

	source.failure = errLuck
	site.scrape().is(0, "work_fleet_up")

	source.queues = source.queues[:1]
	source.queues[0].Waiting = 0
	// where nothing waits no history is read: without names it would be that of all
	site.scrape().is(1, "work_fleet_up")
}
