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
	ID    bool // it holds what somebody copies: it is shown in full or not at all
	Prose bool // it holds sentences: where there is little room it gives way first, and loses its end
}

// Table is text in columns. Where there is little room the last one gives way, if it is prose, then the first one that
// holds names, then whole columns from the right do. Ids are never cut: where the first column holds those and has no
// room, its lines are wider than the terminal.
type Table struct {
	Columns []Column
	Rows    [][]string
	Footer  []string // nil for none
}

// Left is a column of names, which lose their middle where there is little room.
func Left(title string) Column { return Column{Title: title} }

// ID is a column of ids.
func ID(title string) Column { return Column{Title: title, ID: true} }

// Right is a column of numbers.
func Right(title string) Column { return Column{Title: title, Right: true} }

// Prose is a column of sentences, for the last place.
func Prose(title string) Column { return Column{Title: title, Prose: true} }

// NewTable makes a table without rows.
func NewTable(columns ...Column) *Table { return &Table{Columns: columns} }

// Add adds a row, with a cell for each column.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

const gap = "  "

// Render returns the lines of the table, none wider than width unless it is 0 or an id is.
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

// fit narrows the first column of names to what the others leave it, and says how many columns are to be shown. It
// keeps a readable width before others are dropped for it.
func (t *Table) fit(widths []int, width int) (shown int) {
	const readable = 24
	names := t.names()
	for shown = len(widths); shown > 1; shown-- {
		t.squeeze(widths[:shown], width)
		left := width - len(gap)*(shown-1)
		for i, w := range widths[:shown] {
			if i != names {
				left -= w
			}
		}
		if names >= shown { // what is left cannot be narrowed
			if left >= 0 {
				return shown
			}
			continue
		}
		if left >= min(widths[names], readable) || (shown == 2 && left >= readable/3) {
			widths[names] = min(widths[names], left)
			return shown
		}
	}
	if names == 0 {
		widths[0] = min(widths[0], width)
	}
	return 1
}

// names is the first column that may be narrowed; behind the last where there is none.
func (t *Table) names() int {
	for i, col := range t.Columns {
		if !col.ID && !col.Right && !col.Prose {
			return i
		}
	}
	return len(t.Columns)
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
			cell = human.CutMiddle(cell, width)
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
