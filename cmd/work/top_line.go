package main

import (
	"strings"

	"github.com/rivo/uniseg"
)

// The styles of top, beside those of all commands.
const (
	plain    style = ""
	yellow   style = "\x1b[33m"
	reversed style = "\x1b[7m"
)

// topPart is a piece of a line.
type topPart struct {
	style style
	text  string
}

// topLine is one line of the screen. It is cut before it is painted, so that a colour never counts as a letter.
type topLine []topPart

func topText(s style, text string) topLine { return topLine{{style: s, text: text}} }

func (l topLine) width() int {
	width := 0
	for _, part := range l {
		width += uniseg.StringWidth(part.text)
	}
	return width
}

// render paints the line, as much of it as there is room for.
func (l topLine) render(c *console) string {
	var b strings.Builder
	room := c.width
	for _, part := range l {
		if c.width > 0 {
			if room <= 0 {
				break
			}
			part.text = curtail(part.text, room)
			room -= uniseg.StringWidth(part.text)
		}
		if part.style == plain {
			b.WriteString(part.text)
			continue
		}
		b.WriteString(c.paint(part.style, part.text))
	}
	return b.String()
}

// flow puts pieces side by side, and on further lines what has no room beside the others. A width of 0 is that of a
// page.
func flow(pieces []topLine, width int) []topLine {
	const between, page = "   ", 100
	if width == 0 {
		width = page
	}
	var lines []topLine
	for _, piece := range pieces {
		last := len(lines) - 1
		if last < 0 || lines[last].width()+len(between)+piece.width() > width {
			lines = append(lines, piece)
			continue
		}
		lines[last] = append(append(lines[last], topPart{text: between}), piece...)
	}
	return lines
}
