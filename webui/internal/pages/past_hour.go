package pages

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/inspect"
)

const (
	settledAfter = 3 * time.Minute  // heartbeats bring counts within seconds: older minutes do not change
	hourAnew     = 10 * time.Minute // all of it is read again, in case one did
)

// pastHour is the last hour of all names together, minute by minute. Of what was read before only the newest minutes
// are read again.
type pastHour struct {
	points []inspect.HistoryPoint
	whole  time.Time // when all of it was read, by Redis' clock
}

// read returns the points of the hour before now, which is by Redis' clock.
func (h *pastHour) read(
	ctx context.Context, inspector *inspect.Inspector, now time.Time,
) ([]inspect.HistoryPoint, error) {
	options := inspect.HistoryOptions{By: time.Minute, Together: true, Since: now.Add(-time.Hour)}
	if since := now.Sub(h.whole); len(h.points) > 0 && since >= 0 && since < hourAnew {
		if newest := h.points[len(h.points)-1].At.Add(-settledAfter); newest.After(options.Since) &&
			!newest.After(now) {
			options.Since = newest
		}
	}
	if !options.Since.Before(now) {
		options.Since = now
	}
	read, err := inspector.History(ctx, options)
	if err != nil {
		return nil, err
	}
	fresh := read[""]
	if options.Since.Equal(now.Add(-time.Hour)) {
		h.whole, h.points = now, nil
	}
	oldest := now.Add(-time.Hour).Truncate(time.Minute)
	kept := slices.DeleteFunc(slices.Clone(h.points), func(p inspect.HistoryPoint) bool {
		return p.At.Before(oldest) || len(fresh) > 0 && !p.At.Before(fresh[0].At)
	})
	h.points = append(kept, fresh...)
	return h.points, nil
}
