package webui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// overview is what goes on, as of one reading.
type overview struct {
	Counts  work.Counts
	Queues  []queueRow // those with something in them, fullest first, at most overviewQueues
	More    int        // how many are left out
	Alerts  []alert
	PerSec  float64 // jobs done and dead, over the last five full minutes
	FailSec float64 // attempts failed
	// until what waits is gone at this rate if nothing more comes; 0 when nothing waits or nothing is done
	Backlog time.Duration
	Charts  []chart
	Now     time.Time

	StateAsOf  time.Time     // queues and alerts are as of then
	StateEvery time.Duration // and read again after so long
}

// Old tells whether queues and alerts are older than the rest by more than the page's own pace.
func (o *overview) Old() bool { return o.StateEvery > liveEvery }

const (
	overviewQueues = 12
	ratesOver      = 5 * time.Minute // what the figures of QueueInfo are about
)

func showOverview(v *visit) error {
	o, err := v.watch.overview(v.ctx())
	if err != nil {
		return err
	}
	return v.show("overview", page{Title: "Overview", Nav: "/", Body: o, Now: o.Now})
}

// count takes the rates from the last five minutes that are full: the one under way has the last point.
func (o *overview) count(queues []work.QueueInfo, history []work.HistoryPoint) {
	var done, failed int64
	for _, p := range history[max(0, len(history)-6):max(0, len(history)-1)] {
		done, failed = done+p.Done+p.Dead, failed+p.Failed
	}
	var shown []work.QueueInfo
	for _, q := range queues {
		if q.Waiting > 0 || q.Running > 0 || q.Done > 0 || q.Failed > 0 || q.Dead > 0 || q.Problem != "" {
			shown = append(shown, q)
		}
	}
	o.PerSec, o.FailSec = float64(done)/ratesOver.Seconds(), float64(failed)/ratesOver.Seconds()
	o.Backlog = goneIn(o.Counts.Queued, done)
	slices.SortStableFunc(shown, func(a, b work.QueueInfo) int { return b.Waiting - a.Waiting })
	o.Queues = queueRows(shown[:min(len(shown), overviewQueues)])
	o.More = len(queues) - len(o.Queues)
}

// Table is what the template of queues takes.
func (o *overview) Table(now time.Time) queueTable { return queueTable{o.Queues, now} }

// goneIn is how long it takes until so many jobs are done when as many end as did in the last five minutes.
func goneIn(waiting int, done int64) time.Duration {
	if waiting == 0 || done <= 0 {
		return 0
	}
	seconds := float64(waiting) / (float64(done) / ratesOver.Seconds())
	return time.Duration(min(seconds, (10000*24*time.Hour).Seconds()) * float64(time.Second))
}

func waited(p *work.HistoryPoint) work.Histogram { return p.Waited }
func ran(p *work.HistoryPoint) work.Histogram    { return p.Run }

// together adds up what all names did at the same times.
func together(by map[string][]work.HistoryPoint) []work.HistoryPoint {
	at := map[int64]*work.HistoryPoint{}
	for _, points := range by {
		for _, p := range points {
			sum := at[p.At.Unix()]
			if sum == nil {
				sum = &work.HistoryPoint{At: p.At}
				at[p.At.Unix()] = sum
			}
			sum.Done, sum.Failed, sum.Dead = sum.Done+p.Done, sum.Failed+p.Failed, sum.Dead+p.Dead
			sum.Run.Merge(p.Run)
			sum.Waited.Merge(p.Waited)
		}
	}
	all := make([]work.HistoryPoint, 0, len(at))
	for _, sum := range at {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b work.HistoryPoint) int { return a.At.Compare(b.At) })
	return all
}

// names joins a few of many.
func names(all []string) string {
	const most = 5
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
