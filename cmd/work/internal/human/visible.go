// Package human writes numbers, times and texts as people read them in a terminal: grouped digits, rounded durations,
// texts cut to a width, and escapes in place of what a terminal would obey. It knows nothing of jobs or commands.
package human

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/265d0351/work/internal/visible"
)

// Visible returns text on one line, with escapes in place of what a terminal would not print or would obey. What jobs
// say comes from anywhere.
func Visible(text string) string { return visible.Text(text) }

// OrDash is text, or a dash where there is none.
func OrDash(text string) string { return cmp.Or(Visible(text), "-") }

// Printable returns a path as it may be shown: in quotes, with escapes, if it holds what a terminal would not print or
// would obey.
func Printable(path string) string {
	plain := utf8.ValidString(path) && path == strings.TrimSpace(path) && !strings.ContainsAny(path, `"\`)
	for _, char := range path {
		plain = plain && strconv.IsPrint(char)
	}
	if plain {
		return path
	}
	return strconv.Quote(path)
}
