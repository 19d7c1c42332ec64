package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
)

// Table says when a schedule is due. It has no state: all workers find the same ticks.
type Table struct {
	every  time.Duration      // of @every; 0 for the fields of cron
	fields *cron.SpecSchedule // in UTC: it is asked about times as a clock on the wall shows them
	zone   *time.Location
	fixed  bool // its hours are fixed, so that each day has each of them once, whatever the clocks do
}

// The bounds of @every.
const (
	minEvery = time.Second
	maxEvery = 366 * 24 * time.Hour
)

var cronParser = cron.NewParser(
	cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads a spec: five fields of cron, or six with seconds in front, or a descriptor, which a time zone
// may precede (CRON_TZ=Europe/Berlin); or @every and a duration. tz is a time zone that was given beside it, or "".
func Parse(spec, tz string) (*Table, error) {
	refuse := func(remedy string, err error) error {
		return &invalid.Error{What: "the cron spec", Value: excerpt.Brief(spec), Remedy: remedy, Err: err}
	}
	zone, rest := splitZone(spec)
	if zone != "" && tz != "" && zone != tz {
		why := fmt.Sprintf("it names a time zone, and %s is given beside it: leave one out", excerpt.Brief(tz))
		return nil, refuse(why, nil)
	}
	if zone == "" {
		zone = tz
	}
	location, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	if text, is := strings.CutPrefix(rest, "@every"); is {
		return parseEvery(strings.TrimSpace(text), refuse)
	}
	if hasEmptyPart(rest) {
		return nil, refuse("something is missing before or behind a comma: write the value, or leave the comma out",
			nil)
	}
	parsed, err := cronParser.Parse("CRON_TZ=UTC " + sundayAsZero(rest))
	fields, is := parsed.(*cron.SpecSchedule)
	if rest == "" || err != nil || !is {
		return nil, refuse(fmt.Sprintf(
			"write five fields (minute, hour, day, month, weekday), six with seconds in front, a descriptor such as "+
				"@daily, or @every 1h30m; %v", orEmpty(excerpt.Error(err))), err)
	}
	t := &Table{fields: fields, zone: location, fixed: hasFixedHours(rest)}
	if t.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, refuse("no such day ever comes", nil)
	}
	return t, nil
}

// In is the same table in another zone.
func (t *Table) In(zone *time.Location) *Table {
	other := *t
	other.zone = zone
	return &other
}

// Zone is the time zone of its fields; UTC for @every.
func (t *Table) Zone() *time.Location { return t.zone }

// FixedHours tells whether each day has each of its hours once, whatever the clocks do.
func (t *Table) FixedHours() bool { return t.fixed }

func orEmpty(err error) error {
	if err == nil {
		return errors.New("it is empty")
	}
	return err
}

// splitZone takes CRON_TZ=Europe/Berlin, or TZ=, off a spec.
func splitZone(spec string) (zone, rest string) {
	spec = strings.TrimSpace(spec)
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if named, is := strings.CutPrefix(spec, prefix); is {
			zone, rest, _ = strings.Cut(named, " ")
			return zone, strings.TrimSpace(rest)
		}
	}
	return "", spec
}

// loadZone loads a time zone; "" is UTC. The zone of the machine is refused: another worker may have another one.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil && name == "Local" {
		err = errors.New("it is another one on another machine")
	}
	if err != nil {
		return nil, &invalid.Error{
			What: "the time zone", Value: excerpt.Brief(name), Err: err,
			Remedy: fmt.Sprintf("use a name of the IANA list such as Europe/Berlin, and import time/tzdata where the "+
				"system has none (%v)", err),
		}
	}
	return zone, nil
}

func parseEvery(text string, refuse func(string, error) error) (*Table, error) {
	every, err := time.ParseDuration(text)
	if err != nil {
		return nil, refuse("write @every and a duration such as 90s, 5m or 1h30m", err)
	}
	if every < minEvery || every > maxEvery || every%time.Millisecond != 0 {
		return nil, refuse("use whole milliseconds, at least 1s and at most a year", nil)
	}
	return &Table{every: every, zone: time.UTC}, nil
}

// hasEmptyPart tells whether a list has a comma that parts nothing, as in "1,2,,3": the parser would pass over it.
func hasEmptyPart(spec string) bool {
	return slices.ContainsFunc(strings.Fields(spec), func(field string) bool {
		return slices.Contains(strings.Split(field, ","), "")
	})
}

// sundayAsZero writes 7 in the day of the week, which is Sunday as 0 is, as the parser knows it: "5-7" is "5,6,0".
func sundayAsZero(spec string) string {
	fields := strings.Fields(spec)
	if strings.HasPrefix(spec, "@") || len(fields) == 0 {
		return spec
	}
	week := &fields[len(fields)-1]
	parts := strings.Split(*week, ",")
	for i, part := range parts {
		days, step, _ := strings.Cut(part, "/")
		first, last, isRange := strings.Cut(days, "-")
		if !isRange {
			last = first
		}
		from, every := dayOfWeek(first), 1
		if n, err := strconv.Atoi(step); err == nil {
			every = n
		} else if step != "" {
			continue // the parser refuses it
		}
		if last != "7" || from < 0 || from > 7 || every < 1 {
			continue
		}
		named := []string{}
		for day := from; day <= 7; day += every {
			named = append(named, strconv.Itoa(day%7))
		}
		parts[i] = strings.Join(named, ",")
	}
	*week = strings.Join(parts, ",")
	return strings.Join(fields, " ")
}

// dayOfWeek is the number of a day by its number or its name; -1 if it is neither.
func dayOfWeek(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(text))
}

// hasFixedHours tells whether the hour of a spec that has been parsed is neither a star nor a step.
func hasFixedHours(spec string) bool {
	if strings.HasPrefix(spec, "@") {
		return spec != "@hourly"
	}
	fields := strings.Fields(spec)
	return !strings.ContainsAny(fields[len(fields)-4], "*?/")
}

// Shortest is the least time between two of its next few hundred ticks.
func (t *Table) Shortest() time.Duration {
	if t.every > 0 {
		return t.every
	}
	least := maxEvery
	before := t.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	for range 500 {
		after := t.Next(before)
		if after.IsZero() {
			break
		}
		least, before = min(least, after.Sub(before)), after
	}
	return least
}
