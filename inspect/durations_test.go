package inspect_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// durationsByHand is what is done with each duration that a program may give.
var durationsByHand = map[string]func(k *kit, d time.Duration) error{
	"Histogram.Add": func(_ *kit, d time.Duration) error {
		h := inspect.Histogram{}
		h.Add(d)
		h.Add(d)
		if h.Mean() < 0 || h.Quantile(0.5) < 0 {
			return errors.New("it was turned round")
		}
		return nil
	},
	"HistoryOptions.By": func(k *kit, d time.Duration) error {
		_, err := k.inspector().History(k.Ctx(), inspect.HistoryOptions{By: d})
		return err
	},
	"Selection.OlderThan": func(k *kit, d time.Duration) error {
		_, err := k.inspector().Bulk(k.Ctx(), inspect.Selection{State: work.StateScheduled, OlderThan: d},
			inspect.ActionRunNow, inspect.BulkOptions{DryRun: true})
		return err
	},
}

// timesByHand is the same of times.
var timesByHand = map[string]func(k *kit, at time.Time) error{
	"Inspector.Reschedule": func(k *kit, at time.Time) error {
		return k.inspector().Reschedule(k.Ctx(), k.Later("later", time.Hour).ID, at)
	},
	"ActionReschedule": func(k *kit, at time.Time) error {
		_, err := k.inspector().Bulk(k.Ctx(), inspect.Selection{State: work.StateScheduled},
			inspect.ActionReschedule(at), inspect.BulkOptions{})
		return err
	},
	"HistoryOptions.Since": func(k *kit, at time.Time) error {
		_, err := k.inspector().History(k.Ctx(), inspect.HistoryOptions{Since: at})
		return err
	},
	"HistoryOptions.Until": func(k *kit, at time.Time) error {
		_, err := k.inspector().History(k.Ctx(), inspect.HistoryOptions{Until: at})
		return err
	},
	"RunningJob.Age": func(_ *kit, at time.Time) error { inspect.RunningJob{Since: time.Now()}.Age(at); return nil },
}

// Whatever duration or time a program gives, it is used, as 100 years if it is longer, or refused by an error that says
// so.
func TestDurationsAndTimesOfAllSizesByHand(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * time.Hour
	judge := func(t *testing.T, err error, value any) {
		var invalid *work.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			assert.NoError(t, err, "%v", value)
		}
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, probe := range durationsByHand {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, d := range []time.Duration{
					math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Millisecond, century, 1, 0, -1, -century,
					math.MinInt64,
				} {
					judge(t, probe(newKit(t, s), d), d)
				}
			})
		}
		for name, probe := range timesByHand {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, at := range []time.Time{
					{}, time.Unix(0, 0), time.Unix(-1, 0), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
					time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
					time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Now().Add(-time.Hour),
					time.Now().Add(century - time.Hour), time.Now().Add(century + 48*time.Hour),
				} {
					judge(t, probe(newKit(t, s), at), at)
				}
			})
		}
	})
}
