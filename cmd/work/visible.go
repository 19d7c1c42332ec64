package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// visible returns text on one line, with escapes in place of what a terminal would not print or would obey. What jobs
// say comes from anywhere.
func visible(text string) string {
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

// orDash is text, or a dash where there is none.
func orDash(text string) string { return fallback(visible(text), "-") }
