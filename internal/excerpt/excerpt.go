// Package excerpt keeps texts of errors short, whatever they are about: ten thousand names, an answer of Redis or an
// error of a handler of ten megabytes. What is short stays as it is.
package excerpt

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of texts, in bytes.
const (
	Whole = 4 << 10 // of an error that somebody else has made, or of several together
	Name  = 200     // of a name, an id or another value in it
	few   = 10      // so many of a list are named

	// Stack is how much is kept of the stack of a panic: the frames in which it happened come first.
	Stack = 16 << 10

	brief      = 60 // of a value that an error names in passing
	shortBytes = 32 // what is longer is told by its length
)

// Cut bounds the text of an error that quotes others: a handler's, that of Redis, or what somebody has written into a
// record.
func Cut(text string) string { return Text(text, Whole) }

// PanicStack is the stack of the goroutine that calls it, bounded: for the deferred function that recovers from a
// panic, whose stack it still is.
func PanicStack() string { return CutStack(string(debug.Stack())) }

// CutStack bounds the stack of a panic.
func CutStack(stack string) string { return Text(stack, Stack) }

// Text is at most so many bytes of a text, valid UTF-8, with how long it was where it was cut.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	tail := "… (of " + Count(len(text)) + " bytes)"
	cut := max(0, most-len(tail))
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.ToValidUTF8(text[:cut], "\uFFFD") + tail
}

// Start is the beginning of a text that is kept or shown as data: valid UTF-8 of at most so many bytes.
func Start(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Brief is a value in quotes, cut where it is long: for an error that names it in passing.
func Brief(value string) string {
	if len(value) <= brief {
		return strconv.Quote(value)
	}
	return strconv.Quote(strings.ToValidUTF8(value[:brief], "")) + "..."
}

// Quoted is a value in quotes, cut where it is long.
func Quoted(value string) string {
	if len(value) <= Name {
		return strconv.Quote(value)
	}
	return strconv.Quote(strings.ToValidUTF8(value[:Name], "")) + "…"
}

// List names the first few of a list and how many more there are: "a, b and 9,990 more", with ", " between them.
func List(items []string, between string) string {
	named := make([]string, 0, few)
	for _, item := range items[:min(len(items), few)] {
		named = append(named, Text(item, Name))
	}
	return strings.Join(named, between) + more(len(items)-len(named))
}

// Names is List with each in quotes.
func Names(items []string) string {
	named := make([]string, 0, few)
	for _, item := range items[:min(len(items), few)] {
		named = append(named, Quoted(item))
	}
	return "[" + strings.Join(named, " ") + "]" + more(len(items)-len(named))
}

// Lines are as many of n lines as fit into so many bytes, one at the least, and how many more there are.
func Lines(n, most int, line func(i int) string) string { return Some(n, most, "\n", line) }

// Some is Lines with something else between them.
func Some(n, most int, between string, item func(i int) string) string {
	var b strings.Builder
	for i := range n {
		text := Text(item(i), most/2)
		if i > 0 && b.Len()+len(text) > most-most/8 {
			b.WriteString(between + "and " + Count(n-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(text)
	}
	return b.String()
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return " and " + Count(n) + " more"
}

// Count is a number with commas between its thousands.
func Count(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Value is how a value of any kind is shown, whatever is in it: its type where that would be long.
func Value(value any) string {
	switch v := value.(type) {
	case nil, bool, int, int64, float64:
		return fmt.Sprint(v)
	case string:
		return Text(v, Name)
	case []byte: // it may be what somebody has enqueued
		if len(v) > shortBytes {
			return Count(len(v)) + " bytes"
		}
		return strconv.Quote(string(v))
	case []any:
		shown := make([]string, 0, few)
		for _, item := range v[:min(len(v), few)] {
			if list, nested := item.([]any); nested {
				shown = append(shown, "a list of "+Count(len(list)))
				continue
			}
			shown = append(shown, Value(item))
		}
		return "[" + strings.Join(shown, " ") + "]" + more(len(v)-len(shown))
	}
	return fmt.Sprintf("a %T", value)
}
