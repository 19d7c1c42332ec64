package main

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, path, want string }{
		{"plain", "a/b.txt", "a/b.txt"},
		{"a space", "with space", "with space"},
		{"other scripts", "żółw/漢字", "żółw/漢字"},
		{"a space at the end", "end ", `"end "`},
		{"a newline", "new\nline", `"new\nline"`},
		{"an escape sequence", "\x1b[31m", `"\x1b[31m"`},
		{"not UTF-8", "bad\xff", `"bad\xff"`},
		{"a change of direction", "\u202egnp.exe", `"\u202egnp.exe"`},
		{"a quote, so that quoted names are told from it", `"a"`, `"\"a\""`},
		{"nothing", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, printable(row.path))
		})
	}
}

func TestShortenKeepsTheEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "a/b", 3, "a/b"},
		{"too long", "dir/file.go", 8, "…file.go"},
		{"wide characters are not cut in half", "漢字漢字", 6, "…漢字"},
		{"one column", "abc", 1, "…"},
		{"letters with marks stay whole", "xxe\u0301", 2, "…e\u0301"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, shorten(row.text, row.width))
		})
	}
}

func someTable() *table {
	return &table{
		columns: []column{{title: "FILE"}, {title: "BYTES", right: true}, {title: "LINES", right: true},
			{title: "SHA-256"}},
		rows: [][]string{
			{"internal/some/very/long/path/to/a/file/below.go", "12,345", "310", "0123456789ab"},
			{"漢字/x", "7", "1", "permission denied"},
		},
		footer: []string{"2 files", "12,352", "311", ""},
	}
}

func TestTableFitsAnyWidth(t *testing.T) {
	t.Parallel()
	for width := 5; width <= 120; width++ {
		for _, line := range someTable().render(&console{width: width}) {
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
…le/below.go  12,345
漢字/x             7
2 files       12,352
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(someTable().render(&console{width: row.width}), "\n")
			assert.Equal(t, strings.Trim(row.want, "\n"), got)
		})
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, grouped(n))
	}
}

func TestFoldBreaksAtSpaces(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"one two", "three", "a-word-that-is-too-long", "x"},
		fold("one two three a-word-that-is-too-long x", 8))
	assert.Equal(t, []string{"one two three"}, fold("one two three", 0))
}
