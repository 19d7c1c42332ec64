package pages

import (
	"slices"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/visit"
)

// overview is what goes on, as of one reading.
type overview struct {
	Counts  inspect.Counts
	Queues  []queueRow // those with something in them, fullest first, at most overviewQueues
	More    int        // how many are left out
	Alerts  []alerts.Alert
	PerSec  float64 // jobs done and dead, over the last five full minutes
	FailSec float64 // attempts failed
	// until what waits is gone at this rate if nothing more comes; 0 when nothing waits, nothing is done, or some of it
	// does not go on
	Backlog time.Duration
	Held    int // jobs that wait for what does not come by itself
	Charts  []chart.Chart
	Now     time.Time

	Missing    error                   // which partitions have not answered
	Partitions []inspect.PartitionInfo // of a namespace with several

	StateAsOf  time.Time     // queues and alerts are as of then
	StateEvery time.Duration // and read again after so long
}

// Old tells whether queues and alerts are older than the rest by more than the page's own pace.
func (o *overview) Old() bool { return o.StateEvery > liveEvery }

const (
	overviewQueues = 12
	ratesOver      = 5 * time.Minute // what the figures of QueueInfo are about
)

func (s *Site) showOverview(v *visit.Visit) error {
	o, err := s.watch.overview(v.Ctx())
	if err != nil {
		return err
	}
	return s.show(v, "overview", page{Title: "Overview", Nav: "/", Body: o, Now: o.Now})
}

// count takes the rates from the last five minutes that are full: the one under way has the last point.
func (o *overview) count(queues []inspect.QueueInfo, history []inspect.HistoryPoint) {
	var done, failed int64
	for _, p := range history[max(0, len(history)-6):max(0, len(history)-1)] {
		done, failed = done+p.Done+p.Dead, failed+p.Failed
	}
	var shown []inspect.QueueInfo
	for _, q := range queues {
		if q.Waiting > 0 || q.Running > 0 || q.Done > 0 || q.Failed > 0 || q.Dead > 0 || q.Problem != "" {
			shown = append(shown, q)
		}
	}
	o.PerSec, o.FailSec = float64(done)/ratesOver.Seconds(), float64(failed)/ratesOver.Seconds()
	for n := range queues {
		o.Held += held(&queues[n])
	}
	if o.Held == 0 {
		o.Backlog = goneIn(o.Counts.Queued, done)
	}
	slices.SortStableFunc(shown, func(a, b inspect.QueueInfo) int { return b.Waiting - a.Waiting })
	o.Queues = queueRows(shown[:min(len(shown), overviewQueues)])
	o.More = len(queues) - len(o.Queues)
}

// Table is what the template of queues takes.
func (o *overview) Table(now time.Time) queueTable {
	return queueTable{o.Queues, now, columns.Plain(queueColumns)}
}

// PartitionTable is what the template of partitions takes.
func (o *overview) PartitionTable() columns.Table[inspect.PartitionInfo] {
	return columns.Table[inspect.PartitionInfo]{Rows: o.Partitions, Columns: columns.Plain(columns.Partitions)}
}

// goneIn is how long it takes until so many jobs are done when as many end as did in the last five minutes.
func goneIn(waiting int, done int64) time.Duration {
	if waiting == 0 || done <= 0 {
		return 0
	}
	seconds := float64(waiting) / (float64(done) / ratesOver.Seconds())
	return time.Duration(min(seconds, (10000*24*time.Hour).Seconds()) * float64(time.Second))
}

func waited(p *inspect.HistoryPoint) inspect.Histogram { return p.Waited }
func ran(p *inspect.HistoryPoint) inspect.Histogram    { return p.Run }

// together adds up what all names did at the same times.
func together(by map[string][]inspect.HistoryPoint) []inspect.HistoryPoint {
	at := map[int64]*inspect.HistoryPoint{}
	for _, points := range by {
		for _, p := range points {
			sum := at[p.At.Unix()]
			if sum == nil {
				sum = &inspect.HistoryPoint{At: p.At}
				at[p.At.Unix()] = sum
			}
			sum.Done, sum.Failed, sum.Dead = sum.Done+p.Done, sum.Failed+p.Failed, sum.Dead+p.Dead
			sum.Run.Merge(p.Run)
			sum.Waited.Merge(p.Waited)
			sum.Gap += p.Gap
		}
	}
	all := make([]inspect.HistoryPoint, 0, len(at))
	for _, sum := range at {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b inspect.HistoryPoint) int { return a.At.Compare(b.At) })
	return all
}
