// Package visible shows what a terminal or a browser would obey or hide: controls, marks that turn the direction of
// writing, invisible letters. What jobs say comes from anywhere, and "gpj.exe" may look like "exe.jpg". The command
// line and the dashboard show it in the same way.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns text on one line, with escapes as Go writes them in place of all that is not printed.
func Text(text string) string { return Except(text, "") }

// Except is Text that leaves these characters as they are.
func Except(text, left string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		char, size := utf8.DecodeRuneInString(text)
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsPrint(char), strings.ContainsRune(left, char):
			b.WriteRune(char)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(char), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// isPlain tells whether text is of printable ASCII, as most is.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
