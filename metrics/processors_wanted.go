package metrics

import (
	"context"
	"math"
	"time"

	"github.com/265d0351/work/inspect"
)

// historyWindow is of which time runs are averaged: long enough that one slow minute does not double a fleet, short
// enough that a new version of a handler counts soon.
const historyWindow = 10 * time.Minute

// meanRuns is how long one attempt takes in each queue in which jobs wait: the mean of those that ended in the last ten
// minutes. Where none did it is the mean age of those that run, which they will exceed; where none runs either the name
// is missing. Queues without a label of their own are left out, so that a hostile number of names costs no more.
func (f *fleet) meanRuns(ctx context.Context, queues []inspect.QueueInfo, workers []inspect.WorkerInfo,
	now time.Time) (map[string]time.Duration, error) {
	var waiting []string
	for n := range queues {
		if queues[n].Waiting > 0 && f.names.known[queues[n].Name] {
			waiting = append(waiting, queues[n].Name)
		}
	}
	if len(waiting) == 0 { // no names would mean all
		return nil, nil
	}
	history, err := f.source.History(ctx, inspect.HistoryOptions{Names: waiting, Since: now.Add(-historyWindow),
		By: time.Minute})
	if !answered(err) {
		return nil, err
	}
	ages := agesOf(workers)
	means := map[string]time.Duration{}
	for _, name := range waiting {
		ended := ages[name]
		var all inspect.Histogram
		for _, point := range history[name] {
			all.Merge(point.Run)
		}
		if all.Count() > 0 {
			ended = all
		}
		if ended.Count() > 0 {
			means[name] = ended.Mean()
		}
	}
	return means, nil
}

// agesOf are the ages of all that runs, by name.
func agesOf(workers []inspect.WorkerInfo) map[string]inspect.Histogram {
	ages := map[string]inspect.Histogram{}
	for n := range workers {
		for k := range workers[n].Running {
			job := &workers[n].Running[k]
			all := ages[job.Name]
			all.Add(job.Age(workers[n].AsOf))
			ages[job.Name] = all
		}
	}
	return ages
}

// wanted is how many processors a queue could use: those that are busy with it, and as many more as begin all that
// waits within the target,
//
//	running + waiting * run / target
//
// where run is how long one attempt takes. The second part is rounded up; it is at least 1 where anything waits and at
// most what waits, and it is 1 where run is not known. Nothing is added that a pause or a limit would keep from
// running.
func wanted(q *inspect.QueueInfo, run time.Duration, target time.Duration) float64 {
	more := math.Ceil(float64(q.Waiting) * run.Seconds() / target.Seconds())
	more = min(max(more, 1), float64(q.Waiting), allowed(q, run))
	return float64(q.Running) + max(more, 0)
}

// allowed is how many more of its jobs may run. A rate allows as many at once as begin while one runs.
func allowed(q *inspect.QueueInfo, run time.Duration) float64 {
	switch {
	case q.Paused || q.Limit != nil && q.Limit.Problem != nil:
		return 0
	case q.Limit == nil:
		return math.Inf(1)
	}
	most, limit := math.Inf(1), q.Limit.Limit
	if limit.Concurrent > 0 {
		most = float64(limit.Concurrent)
	}
	if limit.Rate > 0 && run > 0 {
		most = min(most, math.Ceil(float64(limit.Rate)*run.Seconds()/limit.Per.Seconds()))
	}
	return most - float64(q.Running)
}
