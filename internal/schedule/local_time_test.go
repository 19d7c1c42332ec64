package schedule_test

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/schedule"
)

// ticksBetween are the ticks from one instant on to before another one, as the zone of the spec shows them.
func ticksBetween(t *testing.T, spec, from, to string) []string {
	t.Helper()
	table, err := schedule.Parse(spec, "")
	require.NoError(t, err)
	begin, err := time.Parse(time.RFC3339, from)
	require.NoError(t, err)
	end, err := time.Parse(time.RFC3339, to)
	require.NoError(t, err)
	shown := []string{}
	for at := table.Next(begin.Add(-time.Nanosecond)); at.Before(end); at = table.Next(at) {
		require.False(t, at.IsZero())
		require.Equal(t, time.UTC, at.Location())
		shown = append(shown, at.In(table.Zone()).Format("02T15:04:05Z07:00"))
	}
	return shown
}

// Each row is a day on which clocks are put forward or back.
func TestTicksWhenClocksArePutForwardAndBack(t *testing.T) {
	t.Parallel()
	berlin, york, howe := "CRON_TZ=Europe/Berlin ", "CRON_TZ=America/New_York ", "CRON_TZ=Australia/Lord_Howe "
	type day struct{ from, to string }
	// Berlin: 29 March 2026, 02:00 to 03:00; 25 October, 03:00 back to 02:00.
	berlinForward, berlinBack := day{"2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		day{"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}
	// New York: 8 March 2026, 02:00 to 03:00; 1 November, 02:00 back to 01:00.
	yorkForward, yorkBack := day{"2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		day{"2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"}
	// Lord Howe, by half an hour: 4 October 2026, 02:00 to 02:30; 5 April, 02:00 back to 01:30.
	howeForward, howeBack := day{"2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z"},
		day{"2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z"}
	for name, row := range map[string]struct {
		spec string
		day  day
		want []string
	}{
		"Berlin forward, a fixed hour that is left out": {berlin + "30 2 * * *", berlinForward,
			[]string{"29T03:00:00+02:00"}},
		"Berlin forward, two of them are one instant": {berlin + "0,30 2 * * *", berlinForward,
			[]string{"29T03:00:00+02:00"}},
		"Berlin forward, with one at the instant itself": {berlin + "30 2,3 * * *", berlinForward,
			[]string{"29T03:00:00+02:00", "29T03:30:00+02:00"}},
		"Berlin forward, a fixed hour before": {berlin + "59 1 * * *", berlinForward,
			[]string{"29T01:59:00+01:00"}},
		"Berlin forward, seconds in front": {berlin + "15 30 2 * * *", berlinForward,
			[]string{"29T03:00:00+02:00"}},
		"Berlin forward, a descriptor": {berlin + "@daily", berlinForward,
			[]string{"29T00:00:00+01:00"}},
		"Berlin forward, every sixth hour": {berlin + "0 */6 * * *", berlinForward,
			[]string{"29T00:00:00+01:00", "29T06:00:00+02:00", "29T12:00:00+02:00", "29T18:00:00+02:00"}},
		"Berlin forward, steps from 2": {berlin + "0 2-3/1 * * *", berlinForward,
			[]string{"29T03:00:00+02:00"}},
		"Berlin back, a fixed hour that comes twice": {berlin + "30 2 * * *", berlinBack,
			[]string{"25T02:30:00+02:00"}},
		"Berlin back, each minute of a fixed hour": {berlin + "*/20 2 * * *", berlinBack,
			[]string{"25T02:00:00+02:00", "25T02:20:00+02:00", "25T02:40:00+02:00"}},
		"Berlin back, the instant itself": {berlin + "0 3 * * *", berlinBack, []string{"25T03:00:00+01:00"}},
		"Berlin back, steps from 2": {berlin + "0 2-3/1 * * *", berlinBack,
			[]string{"25T02:00:00+02:00", "25T02:00:00+01:00", "25T03:00:00+01:00"}},
		"New York forward, a fixed hour that is left out": {york + "15 2 * * *", yorkForward,
			[]string{"08T03:00:00-04:00"}},
		"New York back, a fixed hour that comes twice": {york + "15 1 * * *", yorkBack,
			[]string{"01T01:15:00-04:00"}},
		"New York back, on Sundays": {york + "15 1 * * sun", yorkBack,
			[]string{"01T01:15:00-04:00"}},
		"Lord Howe forward, a time that is left out": {howe + "15 2 * * *", howeForward,
			[]string{"04T02:30:00+11:00"}},
		"Lord Howe forward, one that is not": {howe + "45 2 * * *", howeForward,
			[]string{"04T02:45:00+11:00"}},
		"Lord Howe back, a time that comes twice": {howe + "45 1 * * *", howeBack,
			[]string{"05T01:45:00+11:00"}},
		"Lord Howe back, one that does not": {howe + "15 1 * * *", howeBack,
			[]string{"05T01:15:00+11:00"}},
		"Lord Howe forward, each third hour": {howe + "0 */3 * * *", howeForward, []string{
			"04T00:00:00+10:30", "04T03:00:00+11:00", "04T06:00:00+11:00", "04T09:00:00+11:00", "04T12:00:00+11:00",
			"04T15:00:00+11:00", "04T18:00:00+11:00", "04T21:00:00+11:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, ticksBetween(t, row.spec, row.day.from, row.day.to))
		})
	}
	for name, row := range map[string]struct {
		spec string
		day  day
		want int
		step time.Duration
	}{
		"Berlin forward, hourly":       {berlin + "0 * * * *", berlinForward, 23, time.Hour},
		"Berlin back, hourly":          {berlin + "@hourly", berlinBack, 25, time.Hour},
		"Berlin back, a step of one":   {berlin + "0 */1 * * *", berlinBack, 25, time.Hour},
		"New York forward, hourly":     {york + "5 * * * *", yorkForward, 23, time.Hour},
		"New York back, half-hourly":   {york + "*/30 * * * *", yorkBack, 50, 30 * time.Minute},
		"Lord Howe forward, quarterly": {howe + "*/15 * * * *", howeForward, 94, 15 * time.Minute},
		"Lord Howe back, quarterly":    {howe + "*/15 * * * *", howeBack, 98, 15 * time.Minute},
		"Lord Howe forward, by @every": {howe + "@every 30m", howeForward, 47, 30 * time.Minute},
		"Berlin back, each second":     {berlin + "* * * * * *", berlinBack, 25 * 3600, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ticks := ticksBetween(t, row.spec, row.day.from, row.day.to)
			assert.Len(t, ticks, row.want, "none is left out and none comes twice")
			before, err := time.Parse("02T15:04:05Z07:00", ticks[0])
			require.NoError(t, err)
			for _, tick := range ticks[1:] {
				at, err := time.Parse("02T15:04:05Z07:00", tick)
				require.NoError(t, err)
				require.Equal(t, row.step, at.Sub(before), tick)
				before = at
			}
		})
	}
}

// Where no clock is changed, the ticks are those that the parser's own library finds.
func TestTicksAreThoseOfCronElsewhere(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"* * * * *", "*/5 * * * *", "0 0 1 * *", "0 12 * * mon-fri", "30 4 1,15 * 5", "15 10 * jan,jul *",
		"10 0 0 29 2 *",
		"@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@annually", "59 59 23 31 12 ?",
		"7 3-9/2 * * 1",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			for _, zone := range []string{"UTC", "Asia/Kathmandu"} {
				table, err := schedule.Parse(spec, zone)
				require.NoError(t, err)
				theirs, err := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month |
					cron.Dow | cron.Descriptor).Parse("CRON_TZ=" + zone + " " + spec)
				require.NoError(t, err)
				at := time.Date(2025, 6, 15, 11, 59, 58, 123456789, time.UTC)
				for range 200 {
					want := theirs.Next(at)
					require.True(t, want.Equal(table.Next(at)), "after %v: %v, not %v", at, want, table.Next(at))
					at = want
				}
			}
		})
	}
}

func TestEveryCountsFromUnixZero(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"@every 1s":     "2026-01-01T10:00:08Z",
		"@every 90s":    "2026-01-01T10:01:30Z",
		"@every 1h":     "2026-01-01T11:00:00Z",
		"@every 1h30m":  "2026-01-01T10:30:00Z",
		"@every 1500ms": "2026-01-01T10:00:07.5Z",
		"@every 168h":   "2026-01-08T00:00:00Z",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			table, err := schedule.Parse(spec, "Europe/Berlin")
			require.NoError(t, err)
			at := table.Next(time.Date(2026, 1, 1, 10, 0, 7, 499_999_999, time.UTC))
			assert.Equal(t, want, at.Format(time.RFC3339Nano))
			assert.Equal(t, table.Shortest(), table.Next(at).Sub(at))
		})
	}
}

// A day that a zone leaves out as a whole: Samoa had no 30 December 2011.
func TestADayThatIsLeftOut(t *testing.T) {
	t.Parallel()
	table, err := schedule.Parse("0 12 30 12 *", "Pacific/Apia")
	require.NoError(t, err)
	at := table.Next(time.Date(2011, 12, 1, 0, 0, 0, 0, time.UTC))
	assert.Equal(t, "2011-12-31T00:00:00+14:00", at.In(table.Zone()).Format(time.RFC3339))
}
