package pages

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/visit"
)

// The bounds of what an open overview costs Redis, however many look at it.
const (
	// how old a reading may be that is shown again; the reader of open pages makes one every two seconds
	freshFor    = 1500 * time.Millisecond
	stateShare  = 50          // what grows with workers and claims is read a fiftieth of the time,
	stateAtMost = time.Minute // but once a minute where a reading takes more than 1.2 s
)

// readTimeout is how long a reading waits for Redis.
const readTimeout = 15 * time.Second

// watch makes the overview, once for all who ask at about the same time.
type watch struct {
	site *visit.Site
	now  func() time.Time // of this machine

	mu     sync.Mutex
	last   *overview // nobody changes it
	made   time.Time
	acts   int     // how often something was done here: what was read before does not show it
	flight *flight // the reading under way; nil while there is none

	// Those below belong to the reading under way.
	hour  pastHour
	state fleetState
	seen  int // acts when the state was read
}

// flight is a reading that several wait for.
type flight struct {
	acts int
	done chan struct{}
	made *overview
	err  error
}

// fleetState is what costs more the more workers and claims there are.
type fleetState struct {
	queues []inspect.QueueInfo
	alerts []alerts.Alert
	asOf   time.Time // by Redis' clock

	partitions []inspect.PartitionInfo // where there are several
	missing    error                   // which of them did not answer
	took       time.Duration           // to read it
	next       time.Time               // when it is read again, by this machine's clock
}

// every is how long it is shown before it is read again.
func (f *fleetState) every() time.Duration { return min(stateShare*f.took, stateAtMost) }

// overview returns one that is no older than freshFor. Whoever comes first reads it, and the others wait for that, or
// for the next one where something was done since it began.
func (w *watch) overview(ctx context.Context) (*overview, error) {
	for {
		w.mu.Lock()
		if w.last != nil && w.now().Sub(w.made) < freshFor {
			defer w.mu.Unlock()
			return w.last, nil
		}
		if under := w.flight; under != nil {
			late := under.acts != w.acts // what was done since it began is not in it, or not all of it
			w.mu.Unlock()
			select {
			case <-under.done:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if late || errors.Is(under.err, context.Canceled) {
				continue // in the second case who read it has left
			}
			return under.made, under.err
		}
		under := &flight{acts: w.acts, done: make(chan struct{}), err: context.Canceled} // so also after a panic
		w.flight = under
		w.mu.Unlock()
		w.fly(ctx, under)
		return under.made, under.err
	}
}

func (w *watch) fly(ctx context.Context, under *flight) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.acts == under.acts && under.err == nil {
			w.last, w.made = under.made, w.now()
		}
		w.flight = nil
		close(under.done)
	}()
	if under.acts != w.seen {
		w.state.next = time.Time{}
	}
	under.made, under.err = w.read(ctx)
	if under.err == nil {
		w.seen = under.acts
		w.site.Reached()
	}
}

// forget has the next one who asks read all anew: something was done.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = nil
	w.acts++
}

// read costs two requests and the newest minutes of the history, and at times what grows with the fleet.
func (w *watch) read(ctx context.Context) (*overview, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ctx, missing := partly.Collect(ctx)
	o := &overview{}
	var err error
	if o.Counts, err = w.site.Inspector.Counts(ctx); err != nil {
		return nil, err
	}
	o.Now = o.Counts.AsOf
	history, err := w.hour.read(ctx, w.site.Inspector, o.Now)
	if err != nil {
		return nil, err
	}
	if err := w.readState(ctx, o.Now); err != nil {
		return nil, err
	}
	if missing.Err() != nil {
		w.state.missing, w.hour = missing.Err(), pastHour{} // of what is kept some is not known
	}
	o.Missing, o.Partitions = cmp.Or(missing.Err(), w.state.missing), w.state.partitions
	o.StateAsOf, o.StateEvery = w.state.asOf, w.state.every()
	o.Alerts = w.state.alerts
	o.count(w.state.queues, history)
	o.Charts = []chart.Chart{
		chart.Outcomes(history, time.Minute),
		chart.Durations("Waiting time of jobs that began", history, time.Minute, waited),
	}
	return o, nil
}

// readState reads queues, workers and what is wrong, if it is time to. It is kept where a later reading fails while
// what costs little could be read: then it says of when it is.
func (w *watch) readState(ctx context.Context, asOf time.Time) error {
	begun := w.now()
	if w.state.queues != nil && begun.Before(w.state.next) {
		return nil
	}
	queues, err := w.site.Inspector.Queues(ctx)
	var wrong []alerts.Alert
	if err == nil {
		wrong, err = alerts.Of(ctx, w.site.Inspector,
			alerts.State{Queues: queues, Now: asOf, StuckAfter: w.site.StuckAfter})
	}
	var partitions []inspect.PartitionInfo
	if err == nil && w.site.Inspector.Divided(ctx) {
		partitions, err = w.site.Inspector.Partitions(ctx)
	}
	took := w.now().Sub(begun)
	switch {
	case err != nil && (w.state.queues == nil || !errors.Is(err, context.DeadlineExceeded)):
		return err
	case err != nil:
		w.state.took = took
	default:
		w.state = fleetState{queues: slices.Clip(append([]inspect.QueueInfo{}, queues...)), alerts: wrong, asOf: asOf,
			took: took, partitions: partitions}
	}
	w.state.next = w.now().Add(w.state.every())
	return nil
}
