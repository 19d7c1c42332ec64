package human

import (
	"strings"

	"github.com/rivo/uniseg"
)

// CutMiddle leaves out the middle of text: names that belong together begin alike and differ at their end. (Truncate of
// charmbracelet/x/ansi comes out a column too wide where a wide character stands at the cut.)
func CutMiddle(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var clusters []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		clusters = append(clusters, g.Str())
	}
	start, end, room := "", "", max(0, width-1)
	for first, last := 0, len(clusters)-1; first <= last; {
		atEnd := uniseg.StringWidth(end) <= uniseg.StringWidth(start)
		next := clusters[first]
		if atEnd {
			next = clusters[last]
		}
		if room -= uniseg.StringWidth(next); room < 0 {
			break
		}
		if atEnd {
			end, last = next+end, last-1
		} else {
			start, first = start+next, first+1
		}
	}
	return start + "…" + end
}

// CutEnd leaves out the end of text, since the beginning of a sentence says more.
func CutEnd(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	kept, room := "", width-1
	for g := uniseg.NewGraphemes(text); g.Next(); {
		room -= g.Width()
		if room < 0 {
			break
		}
		kept += g.Str()
	}
	return strings.TrimRight(kept, " ") + "…"
}

// Wrap breaks text at spaces into lines of at most width, where the words allow it; 0 is no limit. It does not break at
// hyphens, as the wrapping of charmbracelet/x/ansi does: ids and paths have to stay whole to be copied.
func Wrap(text string, width int) []string {
	if width <= 0 || uniseg.StringWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
