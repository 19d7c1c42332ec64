// Package human writes numbers, times and texts as people read them in a terminal: grouped digits, rounded durations,
// texts cut to a width, and escapes in place of what a terminal would obey. It knows nothing of jobs or commands.
package human

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Visible returns text on one line, with escapes in place of what a terminal would not print or would obey. What jobs
// say comes from anywhere.
func Visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		char, size := utf8.DecodeRuneInString(text)
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsPrint(char):
			b.WriteRune(char)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(char), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

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
