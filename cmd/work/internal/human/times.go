package human

import (
	"fmt"
	"time"
)

// Duration is a duration in its two largest units: "3d4h", "1h30m", "2m", "12s".
func Duration(d time.Duration) string {
	d = max(d, 0)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	units := []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for n, unit := range units {
		if d < unit.size {
			continue
		}
		text := fmt.Sprint(int64(d/unit.size)) + unit.name
		if rest := d % unit.size; n+1 < len(units) && rest >= units[n+1].size {
			text += fmt.Sprint(int64(rest/units[n+1].size)) + units[n+1].name
		}
		return text
	}
	return ""
}

// Since is for how long something lasts, "-" where it is not known since when.
func Since(begin, now time.Time) string {
	if begin.IsZero() {
		return "-"
	}
	return Duration(now.Sub(begin))
}

// Stamp is a time as tables show it, "-" where there is none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// When is a time, and how far away that is.
func When(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Sub(now).Abs() < time.Second: // the clock that it is by may be off by so much
		return Stamp(t) + ", now"
	case t.After(now):
		return fmt.Sprintf("%s, in %s", Stamp(t), Duration(t.Sub(now)))
	}
	return fmt.Sprintf("%s, %s ago", Stamp(t), Duration(now.Sub(t)))
}
