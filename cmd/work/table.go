package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// column is one of a table.
type column struct {
	title string
	right bool // it holds numbers, which stand at the right
	prose bool // it holds sentences: where there is little room it gives way first, and loses its end
}

// table is text in columns. Where there is little room the last one gives way, if it is prose, then the first one, then
// whole columns from the right do.
type table struct {
	columns []column
	rows    [][]string
	footer  []string // nil for none
}

const gap = "  "

// render returns the lines of the table, none wider than width unless it is 0.
func (t *table) render(c *console) []string {
	widths := t.widths()
	shown := len(t.columns)
	if c.width > 0 {
		shown = t.fit(widths, c.width)
	}
	titles := make([]string, len(t.columns))
	for i, col := range t.columns {
		titles[i] = col.title
	}
	lines := []string{c.paint(bold, t.line(titles, widths[:shown]))}
	for _, row := range t.rows {
		lines = append(lines, t.line(row, widths[:shown]))
	}
	if t.footer == nil {
		return lines
	}
	return append(lines, c.paint(bold, t.line(t.footer, widths[:shown])))
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, col := range t.columns {
		widths[i] = uniseg.StringWidth(col.title)
		if t.footer != nil {
			widths[i] = max(widths[i], uniseg.StringWidth(t.footer[i]))
		}
		for _, row := range t.rows {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
	}
	return widths
}

// fit narrows the first column to what the others leave it, and says how many columns are to be shown. The first
// keeps a readable width before others are dropped for it.
func (t *table) fit(widths []int, width int) (shown int) {
	const readable = 24
	for shown = len(widths); shown > 1; shown-- {
		t.squeeze(widths[:shown], width)
		rest := 0
		for _, w := range widths[1:shown] {
			rest += w + len(gap)
		}
		if left := width - rest; left >= min(widths[0], readable) || (shown == 2 && left >= readable/3) {
			widths[0] = min(widths[0], left)
			return shown
		}
	}
	widths[0] = min(widths[0], width)
	return 1
}

// squeeze narrows a last column of prose as far as the others need it.
func (t *table) squeeze(widths []int, width int) {
	const least = 12
	last := len(widths) - 1
	if !t.columns[last].prose {
		return
	}
	over := len(gap)*last - width
	for _, w := range widths {
		over += w
	}
	if over > 0 && widths[last] > least {
		widths[last] = max(least, widths[last]-over)
	}
}

func (t *table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, width := range widths {
		if i > 0 {
			b.WriteString(gap)
		}
		cell := cells[i]
		if t.columns[i].prose {
			cell = curtail(cell, width)
		} else {
			cell = shorten(cell, width)
		}
		padding := strings.Repeat(" ", width-uniseg.StringWidth(cell))
		if t.columns[i].right {
			b.WriteString(padding + cell)
			continue
		}
		b.WriteString(cell + padding)
	}
	return strings.TrimRight(b.String(), " ")
}

// shorten leaves out the beginning of text, since the end of a path says more.
func shorten(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var clusters []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		clusters = append(clusters, g.Str())
	}
	kept, room := "", width-1
	for i := len(clusters) - 1; i >= 0; i-- {
		room -= uniseg.StringWidth(clusters[i])
		if room < 0 {
			break
		}
		kept = clusters[i] + kept
	}
	return "…" + kept
}

// curtail leaves out the end of text, since the beginning of a sentence says more.
func curtail(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	kept, room := "", width-1
	for g := uniseg.NewGraphemes(text); g.Next(); {
		room -= g.Width()
		if room < 0 {
			break
		}
		kept += g.Str()
	}
	return strings.TrimRight(kept, " ") + "…"
}

// printable returns a path as it may be shown: in quotes, with escapes, if it holds what a terminal would not print or
// would obey.
func printable(path string) string {
	plain := utf8.ValidString(path) && path == strings.TrimSpace(path) && !strings.ContainsAny(path, `"\`)
	for _, char := range path {
		plain = plain && strconv.IsPrint(char)
	}
	if plain {
		return path
	}
	return strconv.Quote(path)
}

// grouped writes a number with commas.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted is "1 file", "2 files".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", grouped(int64(n)), noun)
}
