package console

import (
	"fmt"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// SummaryLine is one line of a summary: a word, and what is to be said about it.
type SummaryLine [2]string

// Summary returns the lines as they are printed, without those that say nothing.
func (c *Console) Summary(lines []SummaryLine) []string {
	var printed []string
	for _, line := range lines {
		if line[1] != "" {
			printed = append(printed, line.render(c)...)
		}
	}
	return printed
}

// render wraps the text beside the word, or below it where there is little room.
func (l SummaryLine) render(c *Console) []string {
	const margin = 10
	word, text := l[0], l[1]
	if c.Width > 0 && c.Width < 3*margin {
		return append([]string{c.Paint(Faint, word)}, human.Wrap(text, c.Width)...)
	}
	width := 0
	if c.Width > 0 {
		width = c.Width - margin
	}
	lines := human.Wrap(text, width)
	for i, line := range lines {
		before := strings.Repeat(" ", margin)
		if i == 0 {
			before = c.Paint(Faint, fmt.Sprintf("%-*s", margin, word))
		}
		lines[i] = before + line
	}
	return lines
}
