package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

func TestNextRunsAreTheTicksAfterNext(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 3, 28, 1, 30, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		info inspect.ScheduleInfo
		want []string
	}{
		"every half hour": {inspect.ScheduleInfo{Spec: "@every 30m", Next: first},
			[]string{"28 01:30", "28 02:00", "28 02:30"}},
		"a day of cron": {inspect.ScheduleInfo{Spec: "30 1 * * *", Next: first},
			[]string{"28 01:30", "29 01:30", "30 01:30"}},
		"a zone's hours": {inspect.ScheduleInfo{Spec: "30 2 * * *", Options: work.PeriodicOptions{TZ: "Europe/Berlin"},
			Next: first}, []string{"28 01:30", "29 01:00", "30 00:30"}},
		"paused":         {inspect.ScheduleInfo{Spec: "@every 1h", Paused: true}, nil},
		"not understood": {inspect.ScheduleInfo{Spec: "now and then", Next: first}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, at := range row.info.NextRuns(3) {
				got = append(got, at.UTC().Format("02 15:04"))
			}
			assert.Equal(t, row.want, got)
		})
	}
	assert.Empty(t, inspect.ScheduleInfo{Spec: "@every 1h", Next: first}.NextRuns(0))
	assert.Len(t, inspect.ScheduleInfo{Spec: "@every 1h", Next: first}.NextRuns(1_000_000), inspect.MaxRuns)
}
