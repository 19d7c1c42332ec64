package work

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// timetable says when a schedule is due. It has no state: all workers find the same ticks.
type timetable struct {
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

var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// parseTimetable reads a spec: five fields of cron, or six with seconds in front, or a descriptor, which a time zone may
// precede (CRON_TZ=Europe/Berlin); or @every and a duration. tz is a time zone that was given beside it, or "".
func parseTimetable(spec, tz string) (*timetable, error) {
	refuse := func(remedy string, err error) error {
		return &InvalidError{What: "the cron spec", Value: quoted(spec), Remedy: remedy, Err: err}
	}
	zone, rest := splitZone(spec)
	if zone != "" && tz != "" && zone != tz {
		return nil, refuse(fmt.Sprintf("it names a time zone, and %q is given beside it: leave one out", tz), nil)
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
	parsed, err := cronParser.Parse("CRON_TZ=UTC " + rest)
	fields, is := parsed.(*cron.SpecSchedule)
	if rest == "" || err != nil || !is {
		return nil, refuse(fmt.Sprintf("write five fields (minute, hour, day, month, weekday), six with seconds in front, a descriptor such as @daily, or @every 1h30m; %v", orEmpty(err)), err)
	}
	for _, bits := range []uint64{fields.Second, fields.Minute, fields.Hour, fields.Dom, fields.Month, fields.Dow} {
		if bits<<1 == 0 { // the top bit only says that there was a star
			return nil, refuse("one of its fields names nothing: write a value or *", nil)
		}
	}
	t := &timetable{fields: fields, zone: location, fixed: hasFixedHours(rest)}
	if t.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, refuse("no such day ever comes", nil)
	}
	return t, nil
}

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
		return nil, &InvalidError{
			What: "the time zone", Value: quoted(name), Err: err,
			Remedy: fmt.Sprintf("use a name of the IANA list such as Europe/Berlin, and import time/tzdata where the system has none (%v)", err),
		}
	}
	return zone, nil
}

func parseEvery(text string, refuse func(string, error) error) (*timetable, error) {
	every, err := time.ParseDuration(text)
	if err != nil {
		return nil, refuse("write @every and a duration such as 90s, 5m or 1h30m", err)
	}
	if every < minEvery || every > maxEvery || every%time.Millisecond != 0 {
		return nil, refuse("use whole milliseconds, at least 1s and at most a year", nil)
	}
	return &timetable{every: every, zone: time.UTC}, nil
}

// hasFixedHours tells whether the hour of a spec that has been parsed is neither a star nor a step.
func hasFixedHours(spec string) bool {
	if strings.HasPrefix(spec, "@") {
		return spec != "@hourly"
	}
	fields := strings.Fields(spec)
	return !strings.ContainsAny(fields[len(fields)-4], "*?/")
}

// shortest is the least time between two of its next few hundred ticks.
func (t *timetable) shortest() time.Duration {
	if t.every > 0 {
		return t.every
	}
	least := maxEvery
	before := t.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	for range 500 {
		after := t.next(before)
		if after.IsZero() {
			break
		}
		least, before = min(least, after.Sub(before)), after
	}
	return least
}
