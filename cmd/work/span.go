package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is a flag that takes a duration, also in days.
type span time.Duration

// durationOf is what the flag holds.
func durationOf(s span) time.Duration { return time.Duration(s) }

func (*span) Type() string { return "span" }

func (s *span) String() string { return time.Duration(*s).String() }

// Set reads 90s, 2h, 7d or 1d12h.
func (s *span) Set(text string) error {
	var whole time.Duration
	if days, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > mostDays {
			return errNoSpan
		}
		whole, text = time.Duration(n)*24*time.Hour, rest
		if text == "" {
			text = "0s"
		}
	}
	part, err := time.ParseDuration(text)
	if err != nil || part < 0 {
		return errNoSpan
	}
	*s = span(whole + part)
	return nil
}

// mostDays keep what is added to them within a time.Duration.
const mostDays = 36_500

var errNoSpan = errors.New("it is no duration")

// brief is a duration in its two largest units: "3d4h", "1h30m", "2m", "12s".
func brief(d time.Duration) string {
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

// sinceText is for how long something lasts, "-" where it is not known since when.
func sinceText(begin, now time.Time) string {
	if begin.IsZero() {
		return "-"
	}
	return brief(now.Sub(begin))
}

// stamp is a moment as tables show it, "-" where there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
