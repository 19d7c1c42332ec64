package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/schedule"
)

func TestASpecThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ spec, tz, value, remedy string }{
		"nothing":                    {"", "", `""`, "write five fields"},
		"four fields":                {"* * * *", "", `"* * * *"`, "expected 5 to 6 fields, found 4"},
		"seven fields":               {"* * * * * * *", "", `"* * * * * * *"`, "expected 5 to 6 fields, found 7"},
		"a word that is no day":      {"0 0 * * mno", "", `"0 0 * * mno"`, "mno"},
		"a minute too large":         {"60 * * * *", "", `"60 * * * *"`, "above maximum (59)"},
		"a field that names nothing": {", * * * *", "", `", * * * *"`, "before or behind a comma"},
		"a comma too many":           {"1,2,,3 * * * *", "", `"1,2,,3 * * * *"`, "before or behind a comma"},
		"a comma in front":           {"0 ,3 * * *", "", `"0 ,3 * * *"`, "before or behind a comma"},
		"a comma behind":             {"0 0 * * mon,", "", `"0 0 * * mon,"`, "before or behind a comma"},
		"an eighth day of the week":  {"0 0 * * 8", "", `"0 0 * * 8"`, "above maximum"},
		"a range of days beyond 7":   {"0 0 * * 1-8", "", `"0 0 * * 1-8"`, "above maximum"},
		"a range from 7":             {"0 0 * * 7-1", "", `"0 0 * * 7-1"`, "beginning of range (7)"},
		"a step of nothing":          {"*/0 * * * *", "", `"*/0 * * * *"`, "positive"},
		"a descriptor with a typo":   {"@dayly", "", `"@dayly"`, "unrecognized descriptor"},
		"a day that never comes":     {"0 0 31 2 *", "", `"0 0 31 2 *"`, "no such day ever comes"},
		"31 April":                   {"0 0 31 4,6,9,11 *", "", `"0 0 31 4,6,9,11 *"`, "no such day ever comes"},
		"@every without a duration":  {"@every", "", `"@every"`, "90s"},
		"@every with a typo":         {"@every 5minutes", "", `"@every 5minutes"`, "90s"},
		"@every of a negative one":   {"@every -5m", "", `"@every -5m"`, "at least 1s"},
		"@every of too little":       {"@every 500ms", "", `"@every 500ms"`, "at least 1s"},
		"@every of microseconds":     {"@every 1s1us", "", `"@every 1s1us"`, "whole milliseconds"},
		"@every of too much":         {"@every 100000h", "", `"@every 100000h"`, "at most a year"},
		"a zone with a typo": {"CRON_TZ=Europe/Berln 0 3 * * *", "", `"Europe/Berln"`,
			"a name of the IANA list"},
		"a zone beside, with a typo": {"0 3 * * *", "Mars/Olympus", `"Mars/Olympus"`, "a name of the IANA list"},
		"the zone of the machine":    {"0 3 * * *", "Local", `"Local"`, "another one on another machine"},
		"a zone and nothing else":    {"CRON_TZ=Europe/Berlin", "", `"CRON_TZ=Europe/Berlin"`, "write five fields"},
		"two zones": {"TZ=Europe/Berlin 0 3 * * *", "America/New_York", `"TZ=Europe/Berlin 0 3 * * *"`,
			`"America/New_York" is given beside it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schedule.Parse(row.spec, row.tz)
			var bad *invalid.Error
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, row.value, bad.Value)
			assert.Contains(t, bad.Remedy, row.remedy)
		})
	}
}

func TestASpecThatCanBe(t *testing.T) {
	t.Parallel()
	for spec, row := range map[string]struct {
		zone  string
		fixed bool
	}{
		"0 3 * * *":                          {"UTC", true},
		"  0 3 * * *  ":                      {"UTC", true},
		"CRON_TZ=Europe/Berlin 0 3 * * *":    {"Europe/Berlin", true},
		"TZ=Europe/Berlin  0 0 3 * * *":      {"Europe/Berlin", true},
		"CRON_TZ=America/New_York @hourly":   {"America/New_York", false},
		"CRON_TZ=America/New_York @weekly":   {"America/New_York", true},
		"CRON_TZ=America/New_York @every 1h": {"UTC", false},
		"0 9-17 * * mon-fri":                 {"UTC", true},
		"0 9-17/2 * * mon-fri":               {"UTC", false},
		"0 */2 * * *":                        {"UTC", false},
		"0 0 */2 * * *":                      {"UTC", false},
		"0 ? * * *":                          {"UTC", false},
		"*/5 4 * * *":                        {"UTC", true},
		"0 0 29 2 *":                         {"UTC", true},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			table, err := schedule.Parse(spec, "")
			require.NoError(t, err)
			assert.Equal(t, row.zone, table.Zone().String())
			assert.Equal(t, row.fixed, table.FixedHours())
		})
	}
}

func TestTheShortestTimeBetweenTicks(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]time.Duration{
		"@every 90s":     90 * time.Second,
		"* * * * *":      time.Minute,
		"0 3 * * *":      23 * time.Hour, // on the day when clocks are put forward
		"0,59 0 * * *":   59 * time.Minute,
		"0 0 1 1 *":      365 * 24 * time.Hour,
		"0 9-17 * * 1-5": time.Hour,
		"1 1 1 1 * *":    28 * 24 * time.Hour,
		"* * 1 1 1 *":    time.Second,
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			zone := ""
			if want == 23*time.Hour {
				zone = "Europe/Berlin"
			}
			table, err := schedule.Parse(spec, zone)
			require.NoError(t, err)
			assert.Equal(t, want, table.Shortest())
		})
	}
}

func FuzzASpec(f *testing.F) {
	for _, spec := range []string{"0 3 * * *", "@every 1h", "CRON_TZ=Europe/Berlin */5 1-3 ? jan,feb mon",
		"* * * * * *", "TZ=", "@"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		table, err := schedule.Parse(spec, "")
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 28, 23, 59, 59, 0, time.UTC)
		for range 10 {
			next := table.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("after %v comes %v", at, next)
			}
			at = next
		}
	})
}

func TestDay7IsSunday(t *testing.T) {
	t.Parallel()
	for spec, same := range map[string]string{
		"0 0 * * 7":          "0 0 * * sun",
		"0 0 * * 5-7":        "0 0 * * fri,sat,sun",
		"0 0 * * sat-7":      "0 0 * * 6,0",
		"0 0 * * 1-7":        "0 0 * * 0-6",
		"0 0 * * 0-7":        "0 0 * * 0-6",
		"0 0 * * 1-7/2":      "0 0 * * 1,3,5,0",
		"0 0 * * 1-7/4":      "0 0 * * 1,5",
		"0 0 * * 7/2":        "0 0 * * 0",
		"0 0 * * 2,7":        "0 0 * * 0,2",
		"0 0 1 * 7":          "0 0 1 * 0",
		"30 0 0 1 * tue,6-7": "30 0 0 1 * 2,6,0",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			seven, err := schedule.Parse(spec, "")
			require.NoError(t, err)
			zero, err := schedule.Parse(same, "")
			require.NoError(t, err)
			assert.Equal(t, zero, seven)
		})
	}
}
