package schedule_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/schedule"
)

// planned is a schedule of the job "export".
func planned(t require.TestingT, spec string, wanted schedule.Wanted) *schedule.Schedule {
	wanted.Spec, wanted.Name = spec, "export"
	wanted.Args = func() (json.RawMessage, error) { return json.RawMessage("[]"), nil }
	s, mistakes := schedule.New(wanted)
	require.Empty(t, mistakes)
	return s
}

func TestWhatIsDoneAboutMissedTicks(t *testing.T) {
	t.Parallel()
	type want struct {
		last   string
		run    []string
		missed int
		since  string
	}
	for name, row := range map[string]struct {
		spec       string
		opts       schedule.Wanted
		after, now string
		want       want
	}{
		"nothing is due": {"* * * * *", schedule.Wanted{}, "10:00:00", "10:00:59", want{}},
		"one in time": {"* * * * *", schedule.Wanted{}, "10:00:00", "10:01:00",
			want{"10:01:00", []string{"10:01:00"}, 0, ""}},
		"one nine seconds late": {"* * * * *", schedule.Wanted{Missed: schedule.MissedSkip}, "10:00:00", "10:01:09",
			want{"10:01:00", []string{"10:01:00"}, 0, ""}},
		"one ten seconds late": {"* * * * *", schedule.Wanted{Missed: schedule.MissedSkip}, "10:00:00", "10:01:10",
			want{"10:01:00", nil, 1, "10:01:00"}},
		"each second, a takeover": {"@every 1s", schedule.Wanted{}, "10:00:00", "10:00:03",
			want{"10:00:03", []string{"10:00:01", "10:00:02", "10:00:03"}, 0, ""}},
		"once": {"* * * * *", schedule.Wanted{}, "10:00:00", "10:05:30",
			want{"10:05:00", []string{"10:05:00"}, 5, "10:01:00"}},
		"once, and one in time stands for the others": {"* * * * *", schedule.Wanted{}, "10:00:00", "10:05:01",
			want{"10:05:00", []string{"10:05:00"}, 4, "10:01:00"}},
		"skip": {"* * * * *", schedule.Wanted{Missed: schedule.MissedSkip}, "10:00:00", "10:05:30",
			want{"10:05:00", nil, 5, "10:01:00"}},
		"skip, but not the one in time": {"* * * * *", schedule.Wanted{Missed: schedule.MissedSkip}, "10:00:00",
			"10:05:01", want{"10:05:00", []string{"10:05:00"}, 4, "10:01:00"}},
		"all": {"* * * * *", schedule.Wanted{Missed: 100}, "10:00:00", "10:04:30",
			want{"10:04:00", []string{"10:01:00", "10:02:00", "10:03:00", "10:04:00"}, 4, "10:01:00"}},
		"the last two, and one in time": {"* * * * *", schedule.Wanted{Missed: 2}, "10:00:00", "10:05:01",
			want{"10:05:00", []string{"10:03:00", "10:04:00", "10:05:00"}, 4, "10:01:00"}},
		"all, but they would overlap": {"* * * * *", schedule.Wanted{Missed: 9, Overlap: schedule.OverlapSkip},
			"10:00:00", "10:05:01",
			want{"10:05:00", []string{"10:05:00"}, 4, "10:01:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(clock string) time.Time {
				parsed, err := time.Parse(time.TimeOnly, clock)
				require.NoError(t, err)
				return parsed.AddDate(2026, 0, 0)
			}
			due := planned(t, row.spec, row.opts).Due(at(row.after), at(row.now))
			shown := func(at time.Time) string {
				if at.IsZero() {
					return ""
				}
				return at.Format(time.TimeOnly)
			}
			got := want{last: shown(due.Last), missed: due.Missed, since: shown(due.Since)}
			for _, tick := range due.Run {
				got.run = append(got.run, shown(tick))
			}
			assert.Equal(t, row.want, got)
		})
	}
}

// A schedule of each second that nobody served for ten years is judged at once.
func TestALongAbsenceIsJudgedWithoutCountingIt(t *testing.T) {
	t.Parallel()
	for spec, last := range map[string]time.Time{
		"* * * * * *": time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		"@every 1s":   time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		"0 0 1 1 *":   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			s := planned(t, spec, schedule.Wanted{Missed: 100})
			for _, after := range []int{1970, 1972, 1990, 2016} {
				due := s.Due(time.Date(after, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
				assert.Equal(t, last, due.Last, after)
				assert.Equal(t, last, due.Run[len(due.Run)-1], after)
				assert.LessOrEqual(t, due.Missed, schedule.MaxCounted, after)
				assert.LessOrEqual(t, len(due.Run), schedule.MaxMissed+10+1, after)
			}
		})
	}
}

func TestIDAndJitterAreThoseOfScheduleAndTick(t *testing.T) {
	t.Parallel()
	const jitter = 30 * time.Minute
	here, there := planned(t, "@every 1h", schedule.Wanted{Jitter: jitter}),
		planned(t, "@every 1h", schedule.Wanted{Jitter: jitter})
	other := planned(t, "@every 1h", schedule.Wanted{ID: "other", Jitter: jitter})
	ids, late := map[string]bool{}, map[time.Duration]bool{}
	at := time.UnixMilli(1_800_000_000_000)
	for range 200 {
		at = here.Table.Next(at)
		a, b, c := here.TickJob(at, at), there.TickJob(at, at.Add(time.Minute)), other.TickJob(at, at)
		require.Equal(t, a.ID, b.ID)
		require.Equal(t, a.Due, b.Due)
		require.NotEqual(t, a.ID, c.ID)
		require.NoError(t, invalid.JobID(a.ID))
		require.False(t, a.Due.Before(at))
		require.Less(t, a.Due.Sub(at), jitter)
		ids[a.ID], late[a.Due.Sub(at)] = true, true
	}
	assert.Len(t, ids, 200)
	assert.Greater(t, len(late), 190, "they are spread")
}
