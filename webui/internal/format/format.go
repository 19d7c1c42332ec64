// Package format writes numbers, times, sizes and links as pages and messages have them. It knows nothing of jobs.
package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Shorten cuts text to at most so many bytes, between characters, and shows that it did.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Middle cuts the middle out of a text of more bytes than that, between characters, and shows that it did: names that
// begin alike often end differently.
func Middle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := len(text) - most/2
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return Shorten(text, most-most/2) + text[end:]
}

// Count writes a number in groups of three.
func Count(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}

// Word is the word for so many: one of them where it is 1.
func Word(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return one
	}
	return many
}

// Counted is a number with its word, as in "1 worker" and "2,000 workers".
func Counted(n any, one, many string) string { return Count(n) + " " + Word(n, one, many) }

// Sentence begins a text with a capital letter, if it begins with a word.
func Sentence(text string) string {
	if word, _, _ := strings.Cut(text, " "); word == "" || strings.ContainsFunc(word, notLower) {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func notLower(r rune) bool { return r < 'a' || r > 'z' }

// Span is a duration with two units at the most, as people say it.
func Span(d time.Duration) string {
	d = max(d, -d)
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(max(1, d.Microseconds()), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return units(d, unit{time.Minute, "min"}, unit{time.Second, "s"})
	case d < 24*time.Hour:
		return units(d, unit{time.Hour, "h"}, unit{time.Minute, "min"})
	}
	return units(d, unit{24 * time.Hour, "d"}, unit{time.Hour, "h"})
}

type unit struct {
	of   time.Duration
	name string
}

// units names the smaller unit as well while there are few of the larger one.
func units(d time.Duration, large, small unit) string {
	whole, rest := d/large.of, d%large.of/small.of
	text := fmt.Sprintf("%d %s", whole, large.name)
	if rest > 0 && whole < 10 {
		text += fmt.Sprintf(" %d %s", rest, small.name)
	}
	return text
}

// Stamp is a time as its title says it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// Moment is a time in words and exactly.
type Moment struct {
	Machine, Exact, Words string
}

const tenYears = 10 * 365 * 24 * time.Hour

// MomentAt tells how far a time is from now.
func MomentAt(t, now time.Time) Moment {
	m := Moment{Machine: t.UTC().Format("2006-01-02T15:04:05.000Z"), Exact: Stamp(t)}
	switch d := now.Sub(t); {
	case d >= time.Second:
		m.Words = Span(d) + " ago"
	case d <= -tenYears:
		m.Words = "in over 10 years" // what waits without an end has a time like that
	case d <= -time.Second:
		m.Words = "in " + Span(d)
	default:
		m.Words = "now"
	}
	return m
}

// ClockAt is a time with the words of a clock, and of a calendar where it is of another day than now.
func ClockAt(t, now time.Time) Moment {
	m := MomentAt(t, now)
	m.Words = t.UTC().Format("2006-01-02 15:04:05")
	if day := now.UTC().Format("2006-01-02 "); strings.HasPrefix(m.Words, day) {
		m.Words = t.UTC().Format("15:04:05.000")
	}
	return m
}

// Size is a number of bytes.
func Size(n int64) string {
	value, unit := float64(n), 0
	for value >= 1000 && unit < 4 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return significant(value) + " " + []string{"", "KiB", "MiB", "GiB", "TiB"}[unit]
}

// Rate is a number per second.
func Rate(perSecond float64) string {
	if perSecond >= 1000 {
		return Count(int64(math.Round(perSecond)))
	}
	return significant(perSecond)
}

// significant writes two or three digits.
func significant(value float64) string {
	digits := 0
	switch {
	case value == 0:
		return "0"
	case value < 1:
		digits = 2
	case value < 100:
		digits = 1
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Pretty indents JSON, up to so many bytes; what is no JSON stays as it is.
func Pretty(raw json.RawMessage, most int) string {
	if len(raw) > most {
		return Shorten(strings.ToValidUTF8(string(raw[:most]), "\uFFFD"), most) + "…"
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return b.String()
}

// Link is a URL relative to any page, with a query of keys and values. Empty values are left out.
func Link(to string, pairs ...any) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := fmt.Sprint(pairs[i+1]); value != "" {
			query.Add(fmt.Sprint(pairs[i]), value)
		}
	}
	if len(query) == 0 {
		return to
	}
	return to + "?" + query.Encode()
}

// Percent is how much of the whole a part is, from 0 to 100; 0 of nothing.
func Percent(part, whole int) int {
	if whole <= 0 {
		return 0
	}
	return min(100, part*100/whole)
}

// Names joins the first few of many.
func Names(all []string) string {
	const most = 5
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
