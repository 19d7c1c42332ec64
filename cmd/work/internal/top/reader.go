package top

import (
	"context"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
)

// reader reads the figures. What one reading costs grows with the number of queues, workers and jobs that run, and
// not with how many wait. It is for one caller at a time.
type reader struct {
	inspector *inspect.Inspector
	pulse     pulse
}

// mostPoints bounds what one request for history brings: about 10 MB.
const mostPoints = 20_000

// read takes all figures, the errors only where they are shown: there may be 10,000 groups of them. What it found
// before an error is dropped, so that the figures of one frame belong together.
func (r *reader) read(ctx context.Context, withErrors bool) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ctx, missing := partly.Collect(ctx)
	counts, err := r.inspector.Counts(ctx)
	if err != nil {
		return snapshot{}, err
	}
	f := snapshot{AsOf: counts.AsOf, Counts: counts}
	queues, err := r.inspector.Queues(ctx)
	if err != nil {
		return snapshot{}, err
	}
	if f.Workers, err = r.inspector.Workers(ctx); err != nil {
		return snapshot{}, err
	}
	if f.Workers == nil {
		f.Workers = []inspect.WorkerInfo{} // an empty list in JSON
	}
	if _, f.AllPaused, err = r.inspector.Paused(ctx); err != nil {
		return snapshot{}, err
	}
	if withErrors {
		if f.Errors, err = r.inspector.Errors(ctx, ""); err != nil {
			return snapshot{}, err
		}
	}
	if err := r.readHistory(ctx, f.AsOf, len(queues)); err != nil {
		return snapshot{}, err
	}
	r.fill(&f, queues)
	f.Missing = missing.Partitions()
	return f, nil
}

// readHistory asks for few minutes at once where there are many names.
func (r *reader) readHistory(ctx context.Context, asOf time.Time, names int) error {
	step := time.Duration(max(1, mostPoints/max(1, names))) * time.Minute
	for since := r.pulse.since(asOf).Truncate(time.Minute); !since.After(asOf); since = since.Add(step) {
		until := since.Add(step - time.Minute)
		history, err := r.inspector.History(ctx, inspect.HistoryOptions{Since: since, Until: until, By: time.Minute})
		if err != nil {
			return err
		}
		r.pulse.take(history)
	}
	r.pulse.mark(asOf)
	return nil
}

// fill works out what follows from what was read.
func (r *reader) fill(f *snapshot, queues []inspect.QueueInfo) {
	f.Rates, f.Minutes = r.pulse.rates(), r.pulse.minutes()
	f.Processors = inspect.TotalProcessors(f.Workers)
	f.Queues = make([]queueFigures, len(queues))
	for n, q := range queues {
		f.Queues[n] = queueFigures{QueueInfo: q, LastMinute: r.pulse.minuteOf(q.Name)}
	}
}
