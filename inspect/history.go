package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
)

// HistoryOptions says which history is wanted.
type HistoryOptions struct {
	Names []string      // of jobs; empty is every name that was counted in that time
	Since time.Time     // by Redis' clock; zero is an hour before Until
	Until time.Time     // zero, or later than Redis' clock, is now
	By    time.Duration // time.Minute or 24*time.Hour; 0 is minutes where they are all still kept, else days

	Together bool // one sum over all those names, under the name "", however many they are
}

// maxHistoryPoints is how many points one call returns at the most; each takes 480 bytes.
const maxHistoryPoints = 200_000

const day = 24 * time.Hour

// History returns what became of the jobs of each name, one point for each minute or day from that of Since to that of
// Until, in order; where nothing was counted it is a point of zeros. Minutes are kept for 24 hours and days, in UTC,
// for 90 days: what is asked for beyond that is left out, since nobody knows it. A name that was asked for is always
// there. More than 200,000 points in all are an *[work.InvalidError].
//
// Workers bring their counts with their heartbeats, so the last second may be missing; docs/history.md says what is
// lost when.
func (i *Inspector) History(ctx context.Context, opts HistoryOptions) (map[string][]HistoryPoint, error) {
	of := i.everywhere(ctx)
	if of.err == nil && !of.single() && opts.By == 0 {
		if _, err := opts.times(time.Now()); err != nil { // all are to answer the same, by clocks that differ a little
			return nil, err
		}
	}
	return readAll(ctx, of, func(v *view, ctx context.Context) (map[string][]HistoryPoint, error) {
		return v.history(ctx, opts)
	}, addHistories)
}

func (v *view) history(ctx context.Context, opts HistoryOptions) (map[string][]HistoryPoint, error) {
	now, err := v.store.Time(ctx)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be read: %w", err)
	}
	at, err := opts.times(now)
	if err != nil {
		return nil, err
	}
	h := &historyReading{at: at, together: opts.Together, points: map[string][]HistoryPoint{}}
	asked := opts.Names
	if opts.Together {
		asked = []string{""}
	}
	for _, name := range asked {
		if _, err := h.of(name); err != nil {
			return nil, err
		}
	}
	if err := h.read(ctx, v.store, opts); err != nil {
		return nil, err
	}
	return h.points, nil
}

// addHistories adds the points of another partition. Its clock may have come to another minute by now.
func addHistories(all *map[string][]HistoryPoint, one map[string][]HistoryPoint) {
	by := map[time.Time]bool{}
	for _, points := range []map[string][]HistoryPoint{*all, one} {
		for _, of := range points {
			for n := range of {
				by[of[n].At] = true
			}
			break // those of all names are at the same times
		}
	}
	at := slices.SortedFunc(maps.Keys(by), time.Time.Compare)
	for name := range one {
		if _, known := (*all)[name]; !known {
			(*all)[name] = nil
		}
	}
	for name, points := range *all {
		(*all)[name] = addPoints(at, points, one[name])
	}
}

// addPoints adds up points at those times, which both may have.
func addPoints(at []time.Time, of ...[]HistoryPoint) []HistoryPoint {
	sums := make([]HistoryPoint, len(at))
	for n := range at {
		sums[n].At = at[n]
	}
	for _, points := range of {
		n := 0
		for k := range points {
			for !sums[n].At.Equal(points[k].At) {
				n++
			}
			sums[n].merge(&points[k])
		}
	}
	return sums
}

// times are those of the points, by the clock of Redis. By is set where it was open.
func (o *HistoryOptions) times(now time.Time) ([]time.Time, error) {
	until := o.Until
	if until.IsZero() || until.After(now) {
		until = now
	}
	since := o.Since
	if since.IsZero() {
		since = until.Add(-time.Hour)
	}
	if since.After(until) {
		return nil, &work.InvalidError{What: "HistoryOptions.Since", Value: since.UTC().Format(time.RFC3339),
			Remedy: "use one that is not after Until or Redis' clock, " + until.UTC().Format(time.RFC3339)}
	}
	if o.By == 0 {
		o.By = time.Minute
		// who asks for all of them looked at a clock a moment ago
		if since.Before(now.Add(-rdb.MinutesKept - time.Minute)) {
			o.By = day
		}
	}
	kept := rdb.MinutesKept
	switch o.By {
	case time.Minute:
	case day:
		kept = rdb.DaysKept
	default:
		return nil, &work.InvalidError{What: "HistoryOptions.By", Value: o.By.String(),
			Remedy: "use time.Minute or 24*time.Hour"}
	}
	if oldest := now.Add(-kept); since.Before(oldest) {
		since = oldest.Add(o.By - 1) // a part of it may be gone
	}
	var at []time.Time
	for t := since.UTC().Truncate(o.By); !t.After(until); t = t.Add(o.By) {
		at = append(at, t)
	}
	return at, nil
}

// historyReading gathers points.
type historyReading struct {
	at       []time.Time
	together bool
	points   map[string][]HistoryPoint
}

func (h *historyReading) read(ctx context.Context, store *rdb.Store, opts HistoryOptions) error {
	read := store.Minutes
	if opts.By == day {
		read = store.Days
	}
	names := slices.Compact(slices.Sorted(slices.Values(opts.Names)))
	var tooMany error
	err := read(ctx, h.at, names, func(at time.Time, sums rdb.Sums) {
		points, err := h.of(sums.Name)
		if err != nil {
			tooMany = err
			return
		}
		points[int(at.Sub(h.at[0])/opts.By)].add(sums.Counts)
	})
	if err != nil {
		return fmt.Errorf("the history cannot be read: %w", err)
	}
	return tooMany
}

// of returns the points of a name, all zero where nothing is known of it yet.
func (h *historyReading) of(name string) ([]HistoryPoint, error) {
	if h.together {
		name = ""
	}
	points, known := h.points[name]
	if known {
		return points, nil
	}
	if total := (len(h.points) + 1) * len(h.at); total > maxHistoryPoints {
		return nil, &work.InvalidError{What: "the number of points of a history",
			Value: fmt.Sprint("more than ", maxHistoryPoints),
			Remedy: fmt.Sprintf("there are %d of each name: name fewer jobs, or ask for a shorter time or for days",
				len(h.at))}
	}
	points = make([]HistoryPoint, len(h.at))
	for i, at := range h.at {
		points[i].At = at
	}
	h.points[name] = points
	return points, nil
}
