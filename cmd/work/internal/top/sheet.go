package top

import (
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// viewIndex is one of the tables.
type viewIndex int

const (
	queuesView viewIndex = iota
	workersView
	errorsView
	viewCount // how many there are
)

// columnTitle is a column and how it is sorted by.
type columnTitle struct {
	console.Column
	key   string // that sorts by it; "" where none does
	about string // in the help; "" is the title
}

// viewColumn is a column of a table of such things.
type viewColumn[T any] struct {
	columnTitle
	cell  func(T) string
	order func(a, b T) int // what stands first at the first press
}

// tableKind says how things of one kind are shown.
type tableKind[T any] struct {
	columns []viewColumn[T]
	id      func(T) string // by which a row is known from one reading to the next
	text    func(T) string // in which a filter looks
}

// viewTable is a table that is ready to be drawn. There may be thousands of rows, of which a screen shows some: only
// those are written.
type viewTable struct {
	columns []columnTitle
	ids     []string             // of the rows, in order
	cells   func(n int) []string // of a row
	all     int                  // rows there would be without a filter
}

// viewState is what somebody has chosen of a sheet.
type viewState struct {
	by     int    // the column that it is sorted by
	turned bool   // the other way round
	chosen string // id of a row
	last   int    // where that was: when it has gone, the one there is chosen
	first  int    // the first row on the screen
}

// defaultStates are how the views begin.
var defaultStates = [viewCount]viewState{queuesView: {by: 1}, workersView: {by: 0}, errorsView: {by: 1}}

// row is where the chosen row is, or the one that took its place.
func (s viewState) row(ids []string) int {
	if at := slices.Index(ids, s.chosen); at >= 0 {
		return at
	}
	return max(0, min(s.last, len(ids)-1))
}

// sheetOf makes a table of things. Those that are equal in the column that counts are ordered by id, so that rows stay
// where they are.
func sheetOf[T any](kind tableKind[T], things []T, state viewState, filter string) viewTable {
	sheet := viewTable{all: len(things)}
	for i, c := range kind.columns {
		if i == state.by {
			c.Title += sortMark(state.turned)
		}
		sheet.columns = append(sheet.columns, c.columnTitle)
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
func (m *model) sheetAt(view viewIndex, filter string) viewTable {
	state := m.sheets[view]
	switch view {
	case workersView:
		return sheetOf(workerKind(), m.figures.Workers, state, filter)
	case errorsView:
		return sheetOf(errorKind(m.figures.AsOf, m.numbers()), m.figures.Errors, state, filter)
	}
	return sheetOf(queueKind(m.figures.AsOf, m.numbers()), m.figures.Queues, state, filter)
}

// numbers writes numbers as long as there is room for: they matter more than names.
func (m *model) numbers() func(int64) string {
	if m.console.Width > 0 && m.console.Width < narrowWidth {
		return rough
	}
	return human.Grouped
}

// lines are the titles and some of the rows, none wider than that.
func (s viewTable) lines(first, end, width int) (title string, rows []string) {
	t := &console.Table{}
	for _, c := range s.columns {
		t.Columns = append(t.Columns, c.Column)
	}
	for n := first; n < end; n++ {
		t.Rows = append(t.Rows, s.cells(n))
	}
	lines := t.Render(&console.Console{Width: width})
	return lines[0], lines[1:]
}
