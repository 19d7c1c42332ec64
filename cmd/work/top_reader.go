package main

import (
	"context"
	"time"

	"github.com/265d0351/work"
)

// topReader reads the figures. What one reading costs grows with the number of queues, workers and jobs that run, and
// not with how many wait. It is for one caller at a time.
type topReader struct {
	inspector *work.Inspector
	pulse     topPulse
}

// topMostPoints bounds what one request for history brings: about 10 MB.
const topMostPoints = 20_000

// read takes all figures, the errors only where they are shown: there may be 10,000 groups of them. What it found
// before an error is dropped, so that the figures of one frame belong together.
func (r *topReader) read(ctx context.Context, withErrors bool) (topFigures, error) {
	ctx, cancel := context.WithTimeout(ctx, topReadPatience)
	defer cancel()
	counts, err := r.inspector.Counts(ctx)
	if err != nil {
		return topFigures{}, err
	}
	f := topFigures{AsOf: counts.AsOf, Counts: counts}
	queues, err := r.inspector.Queues(ctx)
	if err != nil {
		return topFigures{}, err
	}
	if f.Workers, err = r.inspector.Workers(ctx); err != nil {
		return topFigures{}, err
	}
	if f.Workers == nil {
		f.Workers = []work.WorkerInfo{} // an empty list in JSON
	}
	if _, f.AllPaused, err = r.inspector.Paused(ctx); err != nil {
		return topFigures{}, err
	}
	if withErrors {
		if f.Errors, err = r.inspector.Errors(ctx, ""); err != nil {
			return topFigures{}, err
		}
	}
	if err := r.readHistory(ctx, f.AsOf, len(queues)); err != nil {
		return topFigures{}, err
	}
	r.fill(&f, queues)
	return f, nil
}

// readHistory asks for few minutes at once where there are many names.
func (r *topReader) readHistory(ctx context.Context, asOf time.Time, names int) error {
	step := time.Duration(max(1, topMostPoints/max(1, names))) * time.Minute
	for since := r.pulse.since(asOf).Truncate(time.Minute); !since.After(asOf); since = since.Add(step) {
		history, err := r.inspector.History(ctx, work.HistoryOptions{Since: since, Until: since.Add(step - time.Minute),
			By: time.Minute})
		if err != nil {
			return err
		}
		r.pulse.take(history)
	}
	r.pulse.mark(asOf)
	return nil
}

// fill works out what follows from what was read.
func (r *topReader) fill(f *topFigures, queues []work.QueueInfo) {
	f.Rates, f.Minutes = r.pulse.rates(), r.pulse.minutes()
	for _, w := range f.Workers {
		if w.Alive {
			f.Processors.Busy += len(w.Running)
			f.Processors.Total += w.Concurrency
		}
	}
	f.Queues = make([]topQueue, len(queues))
	for n, q := range queues {
		f.Queues[n] = topQueue{QueueInfo: q, LastMinute: r.pulse.minuteOf(q.Name)}
	}
}
