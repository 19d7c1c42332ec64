package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/console"
)

func someTable() *console.Table {
	return &console.Table{
		Columns: []console.Column{{Title: "FILE"}, {Title: "BYTES", Right: true}, {Title: "LINES", Right: true},
			{Title: "SHA-256"}},
		Rows: [][]string{
			{"internal/some/very/long/path/to/a/file/below.go", "12,345", "310", "0123456789ab"},
			{"漢字/x", "7", "1", "permission denied"},
		},
		Footer: []string{"2 files", "12,352", "311", ""},
	}
}

func TestTableFitsAnyWidth(t *testing.T) {
	t.Parallel()
	for width := 5; width <= 120; width++ {
		for _, line := range someTable().Render(&console.Console{Width: width}) {
			assert.LessOrEqual(t, uniseg.StringWidth(line), width, "width %d: %q", width, line)
		}
	}
}

func TestTableGolden(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		width int
		want  string
	}{
		{"as wide as it likes", 0, `
FILE                                              BYTES  LINES  SHA-256
internal/some/very/long/path/to/a/file/below.go  12,345    310  0123456789ab
漢字/x                                                7      1  permission denied
2 files                                          12,352    311
`},
		{"20 columns", 20, `
FILE           BYTES
inter…low.go  12,345
漢字/x             7
2 files       12,352
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(someTable().Render(&console.Console{Width: row.width}), "\n")
			assert.Equal(t, strings.Trim(row.want, "\n"), got)
		})
	}
}

// Prose in the last column gives way before an id is cut, and goes before the id would be unreadable.
func TestProseGivesWayFirst(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", 26)
	made := func() *console.Table {
		return &console.Table{Columns: []console.Column{console.ID("ID"), {Title: "N", Right: true},
			{Title: "WHAT", Prose: true}}, Rows: [][]string{{id, "7", "a sentence that is longer than that"}}}
	}
	for _, row := range []struct {
		width int
		want  string
	}{
		{0, id + "  7  a sentence that is longer than that"}, {80, id + "  7  a sentence that is longer than that"},
		{50, id + "  7  a sentence that is…"}, {44, id + "  7  a sentence t…"}, {36, id + "  7"},
		{20, id},
	} {
		t.Run(fmt.Sprint(row.width), func(t *testing.T) {
			t.Parallel()
			lines := made().Render(&console.Console{Width: row.width})
			assert.Equal(t, row.want, lines[1])
			if row.width > len(id) {
				assert.LessOrEqual(t, uniseg.StringWidth(lines[1]), row.width)
			}
		})
	}
}

func TestTableWithoutAFooter(t *testing.T) {
	t.Parallel()
	lines := (&console.Table{Columns: []console.Column{{Title: "A"}, {Title: "B", Right: true}},
		Rows: [][]string{{"x", "12"}}}).Render(&console.Console{})
	assert.Equal(t, []string{"A   B", "x  12"}, lines)
}

// A name beside an id loses its middle, the id nothing.
func TestIDsAreNeverCut(t *testing.T) {
	t.Parallel()
	id, name := strings.Repeat("i", 22), "create_watch_for_"+strings.Repeat("x", 40)+"_user"
	for width := 10; width <= 120; width++ {
		table := console.NewTable(console.ID("ID"), console.Left("NAME"), console.Right("N"), console.ID("OTHER"))
		table.Add(id, name, "7", id)
		line := table.Render(&console.Console{Width: width})[1]
		assert.True(t, strings.HasPrefix(line, id), "%d: %s", width, line)
		if width >= len(id) {
			assert.LessOrEqual(t, uniseg.StringWidth(line), width)
		}
		if strings.Count(line, "i") > len(id)+10 {
			assert.True(t, strings.HasSuffix(line, "  7  "+id), "%d: %s", width, line)
		}
		if width == 60 {
			assert.Contains(t, line, id+"  create_watch_")
			assert.Contains(t, line, "xxx_user")
		}
	}
}
