package console

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// Column is one of a table.
type Column struct {
	Title string
	Right bool // it holds numbers, which stand at the right
	Prose bool // it holds sentences: where there is little room it gives way first, and loses its end
}

// Table is text in columns. Where there is little room the last one gives way, if it is prose, then the first one, then
// whole columns from the right do.
type Table struct {
	Columns []Column
	Rows    [][]string
	Footer  []string // nil for none
}

// Left is a column of words, of which the end stays where there is little room.
func Left(title string) Column { return Column{Title: title} }

// Right is a column of numbers.
func Right(title string) Column { return Column{Title: title, Right: true} }

// Prose is a column of sentences, for the last place.
func Prose(title string) Column { return Column{Title: title, Prose: true} }

// NewTable makes a table without rows.
func NewTable(columns ...Column) *Table { return &Table{Columns: columns} }

// Add adds a row, with a cell for each column.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

const gap = "  "

// Render returns the lines of the table, none wider than width unless it is 0.
func (t *Table) Render(c *Console) []string {
	widths := t.widths()
	shown := len(t.Columns)
	if c.Width > 0 {
		shown = t.fit(widths, c.Width)
	}
	titles := make([]string, len(t.Columns))
	for i, col := range t.Columns {
		titles[i] = col.Title
	}
	lines := []string{c.Paint(Bold, t.line(titles, widths[:shown]))}
	for _, row := range t.Rows {
		lines = append(lines, t.line(row, widths[:shown]))
	}
	if t.Footer == nil {
		return lines
	}
	return append(lines, c.Paint(Bold, t.line(t.Footer, widths[:shown])))
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, col := range t.Columns {
		widths[i] = uniseg.StringWidth(col.Title)
		if t.Footer != nil {
			widths[i] = max(widths[i], uniseg.StringWidth(t.Footer[i]))
		}
		for _, row := range t.Rows {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
	}
	return widths
}

// fit narrows the first column to what the others leave it, and says how many columns are to be shown. The first
// keeps a readable width before others are dropped for it.
func (t *Table) fit(widths []int, width int) (shown int) {
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
func (t *Table) squeeze(widths []int, width int) {
	const least = 12
	last := len(widths) - 1
	if !t.Columns[last].Prose {
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

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, width := range widths {
		if i > 0 {
			b.WriteString(gap)
		}
		cell := cells[i]
		if t.Columns[i].Prose {
			cell = human.CutEnd(cell, width)
		} else {
			cell = human.CutStart(cell, width)
		}
		padding := strings.Repeat(" ", width-uniseg.StringWidth(cell))
		if t.Columns[i].Right {
			b.WriteString(padding + cell)
			continue
		}
		b.WriteString(cell + padding)
	}
	return strings.TrimRight(b.String(), " ")
}
