package main

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// topGutter is where the chosen row has its mark.
const (
	topChosen = "› "
	topGutter = "  "
)

// body is the names of the views, and the table of the present one.
func (m *topModel) body() []topLine {
	sheet := m.sheet
	lines := []topLine{m.tabs(sheet)}
	if len(sheet.ids) == 0 {
		none := m.none(m.view)
		if sheet.all > 0 {
			none = fmt.Sprintf("nothing here has %q in it", m.filter)
		}
		for _, line := range fold(none, max(1, m.console.width-len(topGutter))) {
			lines = append(lines, topText(faint, topGutter+line))
		}
		return lines
	}
	first := m.sheets[m.view].first
	title, rows := sheet.lines(first, min(len(sheet.ids), first+m.room()), max(1, m.console.width-len(topGutter)))
	lines = append(lines, topText(bold, topGutter+title))
	for n, row := range rows {
		lines = append(lines, m.row(row, sheet.ids[first+n]))
	}
	return lines
}

// row marks the chosen row, in letters too: colours may be off.
func (m *topModel) row(text, id string) topLine {
	if id == m.sheets[m.view].chosen {
		text = topChosen + text
		if m.console.coloured { // the bar reaches over the whole screen
			text += strings.Repeat(" ", max(0, m.console.width-uniseg.StringWidth(text)))
		}
		return topText(reversed, text)
	}
	return topText(m.tint(id), topGutter+text)
}

// tint shows at a glance what needs somebody.
func (m *topModel) tint(id string) style {
	switch m.view {
	case topQueues:
		for _, q := range m.figures.Queues {
			if q.Name == id {
				return topStateStyle(q)
			}
		}
	case topWorkers:
		for _, w := range m.figures.Workers {
			if w.ID == id {
				if !w.Alive {
					return red
				}
				return hue(w.Wanted != "", yellow)
			}
		}
	}
	return plain
}

// room is how many rows fit below the head, the tabs and the titles, above the foot.
func (m *topModel) room() int {
	if m.height == 0 {
		return topFar
	}
	return max(1, m.height-len(m.head())-3)
}

// tabs are the views, the present one in brackets, and where in it the chosen row is.
func (m *topModel) tabs(sheet topSheet) topLine {
	names := [topViews]string{"queues", "workers", "errors"}
	state := m.sheets[m.view]
	where := ""
	if len(sheet.ids) > 0 {
		where = fmt.Sprintf("  %s of %s", number(state.row(sheet.ids)+1), number(len(sheet.ids)))
	}
	var long, short topLine
	for view, name := range names {
		key := fmt.Sprint(view + 1)
		if topView(view) == m.view {
			long, short = append(long, topPart{bold, "[" + key + " " + name + "] "}),
				append(short, topPart{bold, "[" + key + " " + name + "]"})
			continue
		}
		long, short = append(long, topPart{faint, " " + key + " " + name + "  "}),
			append(short, topPart{faint, " " + key + " "})
	}
	if whole := append(long, topPart{faint, where}); whole.width() <= m.console.width {
		return whole
	}
	if whole := append(short, topPart{faint, where}); whole.width() <= m.console.width {
		return whole
	}
	return short
}

// none is said where a view has nothing to show.
func (m *topModel) none(view topView) string {
	switch {
	case view == topQueues:
		return "there are no queues: nothing was enqueued"
	case view == topWorkers && m.figures.Counts.Queued > 0:
		return "there are no workers: what waits will wait on"
	case view == topWorkers:
		return "there are no workers"
	}
	return "no errors were counted"
}
