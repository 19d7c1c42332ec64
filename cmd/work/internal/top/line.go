package top

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// textPart is a piece of a line.
type textPart struct {
	style console.Style
	text  string
}

// textLine is one line of the screen. It is cut before it is painted, so that a colour never counts as a letter.
type textLine []textPart

func styled(s console.Style, text string) textLine { return textLine{{style: s, text: text}} }

func (l textLine) width() int {
	width := 0
	for _, part := range l {
		width += uniseg.StringWidth(part.text)
	}
	return width
}

// render paints the line, as much of it as there is room for.
func (l textLine) render(c *console.Console) string {
	var b strings.Builder
	room := c.Width
	for _, part := range l {
		if c.Width > 0 {
			if room <= 0 {
				break
			}
			part.text = human.CutEnd(part.text, room)
			room -= uniseg.StringWidth(part.text)
		}
		if part.style == console.Plain {
			b.WriteString(part.text)
			continue
		}
		b.WriteString(c.Paint(part.style, part.text))
	}
	return b.String()
}

// flow puts pieces side by side, and on further lines what has no room beside the others. A width of 0 is that of a
// page.
func flow(pieces []textLine, width int) []textLine {
	const between, page = "   ", 100
	if width == 0 {
		width = page
	}
	var lines []textLine
	for _, piece := range pieces {
		last := len(lines) - 1
		if last < 0 || lines[last].width()+len(between)+piece.width() > width {
			lines = append(lines, piece)
			continue
		}
		lines[last] = append(append(lines[last], textPart{text: between}), piece...)
	}
	return lines
}
