package main

import (
	"slices"
	"strings"
)

// topView is one of the tables.
type topView int

const (
	topQueues topView = iota
	topWorkers
	topErrors
	topViews // how many there are
)

// topTitle is a column and how it is sorted by.
type topTitle struct {
	column
	key   string // that sorts by it; "" where none does
	about string // in the help; "" is the title
}

// topColumn is a column of a table of such things.
type topColumn[T any] struct {
	topTitle
	cell  func(T) string
	order func(a, b T) int // what stands first at the first press
}

// topKind says how things of one kind are shown.
type topKind[T any] struct {
	columns []topColumn[T]
	id      func(T) string // by which a row is known from one reading to the next
	text    func(T) string // in which a filter looks
}

// topSheet is a table that is ready to be drawn. There may be thousands of rows, of which a screen shows some: only
// those are written.
type topSheet struct {
	columns []topTitle
	ids     []string             // of the rows, in order
	cells   func(n int) []string // of a row
	all     int                  // rows there would be without a filter
}

// topSheetState is what somebody has chosen of a sheet.
type topSheetState struct {
	by     int    // the column that it is sorted by
	turned bool   // the other way round
	chosen string // id of a row
	last   int    // where that was: when it has gone, the one there is chosen
	first  int    // the first row on the screen
}

// topDefaults are how the views begin.
var topDefaults = [topViews]topSheetState{topQueues: {by: 1}, topWorkers: {by: 0}, topErrors: {by: 1}}

// row is where the chosen row is, or the one that took its place.
func (s topSheetState) row(ids []string) int {
	if at := slices.Index(ids, s.chosen); at >= 0 {
		return at
	}
	return max(0, min(s.last, len(ids)-1))
}

// sheetOf makes a table of things. Those that are equal in the column that counts are ordered by id, so that rows stay
// where they are.
func sheetOf[T any](kind topKind[T], things []T, state topSheetState, filter string) topSheet {
	sheet := topSheet{all: len(things)}
	for i, c := range kind.columns {
		if i == state.by {
			c.title += sortMark(state.turned)
		}
		sheet.columns = append(sheet.columns, c.topTitle)
	}
	filter = strings.ToLower(filter)
	kept := slices.DeleteFunc(slices.Clone(things), func(thing T) bool {
		return !strings.Contains(strings.ToLower(kind.text(thing)), filter)
	})
	order := kind.columns[state.by].order
	slices.SortFunc(kept, func(a, b T) int {
		by := order(a, b)
		if state.turned {
			by = -by
		}
		if by == 0 {
			by = strings.Compare(kind.id(a), kind.id(b))
		}
		return by
	})
	for _, thing := range kept {
		sheet.ids = append(sheet.ids, kind.id(thing))
	}
	sheet.cells = func(n int) (cells []string) {
		for _, c := range kind.columns {
			cells = append(cells, c.cell(kept[n]))
		}
		return cells
	}
	return sheet
}

// sortMarks stand behind the title of the column that a table is sorted by.
const sortMarks = "▾▴"

func sortMark(turned bool) string {
	if turned {
		return "▴"
	}
	return "▾"
}

// sheetAt is the table of a view.
func (m *topModel) sheetAt(view topView, filter string) topSheet {
	state := m.sheets[view]
	switch view {
	case topWorkers:
		return sheetOf(topWorkerKind(), m.figures.Workers, state, filter)
	case topErrors:
		return sheetOf(topErrorKind(m.figures.AsOf, m.numbers()), m.figures.Errors, state, filter)
	}
	return sheetOf(topQueueKind(m.figures.AsOf, m.numbers()), m.figures.Queues, state, filter)
}

// numbers writes numbers as long as there is room for: they matter more than names.
func (m *topModel) numbers() func(int64) string {
	if m.console.width > 0 && m.console.width < topNarrow {
		return topRough
	}
	return grouped
}

// lines are the titles and some of the rows, none wider than that.
func (s topSheet) lines(first, end, width int) (title string, rows []string) {
	t := &table{}
	for _, c := range s.columns {
		t.columns = append(t.columns, c.column)
	}
	for n := first; n < end; n++ {
		t.rows = append(t.rows, s.cells(n))
	}
	lines := t.render(&console{width: width})
	return lines[0], lines[1:]
}
