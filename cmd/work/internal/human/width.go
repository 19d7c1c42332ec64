package human

import (
	"strings"

	"github.com/rivo/uniseg"
)

// CutStart leaves out the beginning of text, since the end of a path says more. (TruncateLeft of charmbracelet/x/ansi
// comes out a column too wide where a wide character stands at the cut.)
func CutStart(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	var clusters []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		clusters = append(clusters, g.Str())
	}
	kept, room := "", width-1
	for i := len(clusters) - 1; i >= 0; i-- {
		room -= uniseg.StringWidth(clusters[i])
		if room < 0 {
			break
		}
		kept = clusters[i] + kept
	}
	return "…" + kept
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
