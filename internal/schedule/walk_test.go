package schedule_test

import (
	"archive/zip"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/schedule"
)

// Ticks are compared with a walk over every minute, which knows nothing but the rule: a spec whose hours are fixed has
// a tick where a clock on the wall goes beyond a time of the spec for the first time, any other one wherever the clock
// shows such a time.
//
// Zones come in two kinds of data: those of time/tzdata end with a rule for all years to come, those of most systems
// have every change up to 2037 before it.

// madeSpec is a spec that was made with what it means.
type madeSpec struct {
	spec  string
	fixed bool
	field [5]uint64 // minute, hour, day, month, day of the week: a bit for each value
	star  [5]bool
}

// face is what a clock on the wall shows.
type face [5]int

func faceOf(shown time.Time) face {
	return face{shown.Minute(), shown.Hour(), shown.Day(), int(shown.Month()), int(shown.Weekday())}
}

// often tells whether there is more than a tick an hour on some day.
func (w *madeSpec) often() bool {
	return bits.OnesCount64(w.field[0])*bits.OnesCount64(w.field[1]) > 24
}

func (w *madeSpec) matches(shown face) bool {
	has := func(field int) bool { return w.field[field]>>shown[field]&1 == 1 }
	if !has(0) || !has(1) || !has(3) {
		return false
	}
	day, weekday := has(2), has(4)
	if w.star[2] || w.star[4] {
		return day && weekday
	}
	return day || weekday // as cron has it
}

// madeSpecs are specs of all kinds, always the same ones.
func madeSpecs(n int) []*madeSpec {
	dice := rand.New(rand.NewPCG(5, 2028))
	bounds := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}
	specs := []*madeSpec{}
	for _, known := range []string{"0 * 1 * *", "30 * * * *", "0 0 31 12 *", "30 2 * * *", "0 */6 * * *", "59 23 * * 7",
		"0 0 29 2 *"} {
		specs = append(specs, readMadeSpec(known, bounds))
	}
	for len(specs) < n {
		var parts [5]string
		for i, bound := range bounds {
			low, high := bound[0], bound[1]
			any := func() int { return low + dice.IntN(high-low+1) }
			switch kind := dice.IntN(10); {
			case kind < 3 && i > 0 || kind < 1:
				parts[i] = "*"
			case kind < 7:
				parts[i] = strconv.Itoa(any())
			case kind < 8:
				from := any()
				parts[i] = fmt.Sprintf("%d-%d", from, from+dice.IntN(high-from+1))
			case kind < 9:
				parts[i] = fmt.Sprintf("*/%d", 1+dice.IntN(high))
			default:
				parts[i] = fmt.Sprintf("%d,%d", any(), any())
			}
		}
		specs = append(specs, readMadeSpec(strings.Join(parts[:], " "), bounds))
	}
	return specs
}

// readMadeSpec reads what madeSpecs writes, in the plainest way.
func readMadeSpec(spec string, bounds [5][2]int) *madeSpec {
	w := &madeSpec{spec: spec}
	for i, field := range strings.Fields(spec) {
		for _, part := range strings.Split(field, ",") {
			from, to, step := bounds[i][0], bounds[i][1], 1
			if head, tail, stepped := strings.Cut(part, "/"); stepped {
				step, _ = strconv.Atoi(tail)
				part = head
			}
			if i == 4 {
				to = 6 // a star has no seventh day
			}
			w.star[i] = w.star[i] || part == "*" && step == 1
			if low, high, is := strings.Cut(part, "-"); is {
				from, _ = strconv.Atoi(low)
				to, _ = strconv.Atoi(high)
			} else if part != "*" {
				from, _ = strconv.Atoi(part)
				to = from
			}
			for value := from; value <= to; value += step {
				if i == 4 {
					w.field[i] |= 1 << (value % 7)
				} else {
					w.field[i] |= 1 << value
				}
			}
		}
	}
	w.fixed = !strings.Contains(strings.Fields(spec)[1], "*")
	return w
}

// walkMinutes goes from minute to minute and compares each tick of the specs with what they find themselves.
func walkMinutes(t *testing.T, zone *time.Location, specs []*madeSpec, from, to time.Time) {
	t.Helper()
	tables, next := make([]*schedule.Table, len(specs)), make([]time.Time, len(specs))
	for i, w := range specs {
		table, err := schedule.Parse(w.spec, "")
		require.NoError(t, err, w.spec)
		table = table.In(zone)
		require.Equal(t, w.fixed, table.FixedHours(), w.spec)
		tables[i], next[i] = table, table.Next(from)
	}
	highest := time.Time{} // that the clock has shown
	var reached []face
	for at := from.Add(-48 * time.Hour); at.Before(to); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		shown := at.Add(time.Duration(offset) * time.Second)
		now := faceOf(shown)
		reached = append(reached[:0], now)
		for missing := shown.Add(-time.Minute); !highest.IsZero() &&
			missing.After(highest); missing = missing.Add(-time.Minute) {
			reached = append(reached, faceOf(missing)) // the clock has left it out
		}
		first := shown.After(highest)
		if first {
			highest = shown
		}
		if !at.After(from) {
			continue
		}
		for i, w := range specs {
			if len(reached) == 1 && w.field[0]>>now[0]&1 == 0 && next[i].Unix() != at.Unix() {
				continue // neither has a tick
			}
			is := !w.fixed && w.matches(now) || w.fixed && first && slices.ContainsFunc(reached, w.matches)
			if is != next[i].Equal(at) {
				require.Failf(t, "another tick", "%q in %s: %v (a tick: %v), the next was %v", w.spec, zone,
					at.In(zone), is, next[i].In(zone))
			}
			if is {
				next[i] = tables[i].Next(at)
				require.True(t, next[i].After(at), "%q in %s: after %v comes %v", w.spec, zone, at.In(zone),
					next[i].In(zone))
			}
		}
	}
}

// zoneData are the zones of one kind of data, by name.
type zoneData struct {
	kind string
	load func(name string) []byte
}

// bothKinds reads the zones that Go brings along and those of the system.
func bothKinds(t *testing.T) (names []string, kinds []zoneData) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	packed, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = packed.Close() })
	for _, file := range packed.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	kinds = append(kinds, zoneData{"slim", func(name string) []byte {
		file, err := packed.Open(name)
		require.NoError(t, err)
		defer file.Close() //lint:ignore errcheck it was read
		data, err := io.ReadAll(file)
		require.NoError(t, err)
		return data
	}})
	const system = "/usr/share/zoneinfo"
	if _, err := os.Stat(system + "/Europe/Berlin"); err != nil {
		if os.Getenv("WORK_REQUIRE_REDIS") != "" { // CI
			require.NoError(t, err, "install tzdata: half of the comparison is missing")
		}
		t.Logf("the zones of the system are not compared: %v", err)
		return names, kinds
	}
	return names, append(kinds, zoneData{"system", func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(system, name))
		if os.IsNotExist(err) {
			return nil // the two are of different years
		}
		require.NoError(t, err)
		return data
	}})
}

// chosenZones are so many of all, and those that are known to be odd.
func chosenZones(all []string, n int) []string {
	chosen := []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Auckland", "America/Santiago",
		"Africa/Casablanca",
		"Europe/Dublin", "Asia/Gaza", "America/Nuuk", "Antarctica/Troll", "Asia/Kathmandu", "UTC",
	}
	for i := 0; len(chosen) < n; i++ {
		if name := all[i*7919%len(all)]; !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen[:n]
}

// Short, the days around the ends of leap years and the changes of clocks are walked over; WORK_CRON_LONG walks over
// all minutes up to 2045, for those specs that do not have ticks all day long.
func TestTicksAreThoseOfAWalk(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it reckons, in one goroutine")
	zones, each := 20, 12
	long := os.Getenv("WORK_CRON_LONG") != ""
	if long {
		zones, each = 200, 50
	}
	all, kinds := bothKinds(t)
	specs := madeSpecs(1000)
	for n, name := range chosenZones(all, zones) {
		for k, kind := range kinds {
			data := kind.load(name)
			if data == nil {
				continue
			}
			t.Run(name+", "+kind.kind, func(t *testing.T) {
				t.Parallel()
				zone, err := time.LoadLocationFromTZData(name, data)
				require.NoError(t, err)
				own := slices.Clone(specs[:4])
				for i := range each {
					own = append(own, specs[((n*len(kinds)+k)*each+i)%len(specs)])
				}
				if long {
					seldom := slices.DeleteFunc(slices.Clone(own), (*madeSpec).often)
					walkMinutes(t, zone, seldom, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
						time.Date(2045, 1, 1, 0, 0, 0, 0, time.UTC))
				}
				for _, day := range oddDays(zone) {
					walkMinutes(t, zone, own, day.Add(-26*time.Hour), day.Add(26*time.Hour))
				}
			})
		}
	}
}

// oddDays are some of those from 2026 to 2045 on which something may go wrong.
func oddDays(zone *time.Location) []time.Time {
	days := []time.Time{}
	_, before := time.Date(2026, 1, 1, 0, 0, 0, 0, zone).Zone()
	for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2045; day = day.AddDate(0, 0, 1) {
		_, offset := day.In(zone).Zone()
		newYear := day.YearDay() == 1 && day.AddDate(0, 0, -1).YearDay() == 366
		if newYear || offset != before && day.Year()%7 == 1 {
			days = append(days, day)
		}
		before = offset
	}
	return days
}

// What was found by users, with the changes up to 2037 written out and without.
func TestTheLastDayOfALeapYearComesToAnEnd(t *testing.T) {
	t.Parallel()
	_, kinds := bothKinds(t)
	for _, kind := range kinds {
		zone, err := time.LoadLocationFromTZData("Europe/Berlin", kind.load("Europe/Berlin"))
		require.NoError(t, err)
		for year := 2024; year < 2100; year += 4 {
			for spec, want := range map[string]string{"0 * 1 * *": "01T00:00", "30 * * * *": "31T11:30",
				"0 0 1 1 *": "01T00:00"} {
				table, err := schedule.Parse(spec, "")
				require.NoError(t, err)
				table = table.In(zone)
				at := table.Next(time.Date(year, 12, 31, 11, 0, 0, 1, zone))
				require.Equal(t, want, at.In(zone).Format("02T15:04"), "%s %d %s", kind.kind, year, spec)
			}
		}
	}
}
