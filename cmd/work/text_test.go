package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"90s", 90 * time.Second, true}, {"1h30m", 90 * time.Minute, true}, {"7d", 7 * 24 * time.Hour, true},
		{"1d12h", 36 * time.Hour, true},
		{"0s", 0, true}, {"0d", 0, true}, {"36500d", 36_500 * 24 * time.Hour, true},
		{"36501d", 0, false}, {"-1d", 0, false}, {"-1s", 0, false}, {"d", 0, false}, {"7", 0, false}, {"", 0, false},
		{"1d-1h", 0, false}, {"99999999999999999999d", 0, false},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			var s span
			err := s.Set(row.text)
			assert.Equal(t, row.ok, err == nil, err)
			assert.Equal(t, row.want, durationOf(s))
		})
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "0s"}, {0, "0s"}, {350_400 * time.Microsecond, "350ms"},
		{12*time.Second + 900*time.Millisecond, "12s"}, {time.Minute, "1m"},
		{59*time.Minute + 59*time.Second, "59m59s"}, {90 * time.Minute, "1h30m"}, {2 * time.Hour, "2h"},
		{2*time.Hour + 30*time.Second, "2h"},
		{76 * time.Hour, "3d4h"}, {400 * 24 * time.Hour, "400d"},
	} {
		assert.Equal(t, row.want, brief(row.d), row.d)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"plain", `it said "no" \ maybe`, `it said "no" \ maybe`},
		{"lines", "one\ntwo\t3", `one\ntwo\t3`},
		{"an escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"not UTF-8", "bad\xff", `bad\xff`},
		{"the sign for it", "\ufffd", "\ufffd"},
		{"a change of direction", "\u202egnp.exe", `\u202egnp.exe`},
		{"other scripts", "żółw 漢字", "żółw 漢字"},
		{"a quote", "don't '", "don't '"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, visible(row.text))
		})
	}
}

func TestCurtailKeepsTheBeginning(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "it is", 5, "it is"},
		{"too long", "the disk is full", 10, "the disk…"},
		{"wide characters are not cut in half", "漢字漢字", 6, "漢字…"},
		{"one column", "abc", 1, "…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, curtail(row.text, row.width))
		})
	}
}

// Prose in the last column gives way before an id is cut, and goes before the id would be unreadable.
func TestProseGivesWayFirst(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", 26)
	made := func() *table {
		return &table{columns: []column{{title: "ID"}, {title: "N", right: true}, {title: "WHAT", prose: true}},
			rows: [][]string{{id, "7", "a sentence that is longer than that"}}}
	}
	for _, row := range []struct {
		width int
		want  string
	}{
		{0, id + "  7  a sentence that is longer than that"}, {80, id + "  7  a sentence that is longer than that"},
		{50, id + "  7  a sentence that is…"}, {44, id + "  7  a sentence t…"}, {36, id + "  7"},
		{20, "…" + strings.Repeat("x", 16) + "  7"},
	} {
		t.Run(fmt.Sprint(row.width), func(t *testing.T) {
			t.Parallel()
			lines := made().render(&console{width: row.width})
			assert.Equal(t, row.want, lines[1])
			if row.width > 0 {
				assert.LessOrEqual(t, uniseg.StringWidth(lines[1]), row.width)
			}
		})
	}
}

// For a program progress is an object on a line, now and then.
func TestProgressForPrograms(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := &objects{out: &out, total: 7, every: time.Hour, last: time.Now()}
	o.set(1)
	assert.Empty(t, out.String(), "it has just begun")
	o.last = time.Time{}
	o.set(2)
	o.set(3)
	assert.Equal(t, `{"progress":{"done":2,"total":7}}`+"\n", out.String())
}
