package top

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// chosenMark and gutter are where the chosen row has its mark.
const (
	chosenMark = "› "
	gutter     = "  "
)

// body is the names of the views, and the table of the present one.
func (m *model) body() []textLine {
	sheet := m.sheet
	lines := []textLine{m.tabs(sheet)}
	if len(sheet.ids) == 0 {
		none := m.none(m.view)
		if sheet.all > 0 {
			none = fmt.Sprintf("nothing here has %q in it", m.filter)
		}
		for _, line := range human.Wrap(none, max(1, m.console.Width-len(gutter))) {
			lines = append(lines, styled(console.Faint, gutter+line))
		}
		return lines
	}
	first := m.sheets[m.view].first
	title, rows := sheet.lines(first, min(len(sheet.ids), first+m.room()), max(1, m.console.Width-len(gutter)))
	lines = append(lines, styled(console.Bold, gutter+title))
	for n, row := range rows {
		lines = append(lines, m.row(row, sheet.ids[first+n]))
	}
	return lines
}

// row marks the chosen row, in letters too: colours may be off.
func (m *model) row(text, id string) textLine {
	if id == m.sheets[m.view].chosen {
		text = chosenMark + text
		if m.console.Coloured { // the bar reaches over the whole screen
			text += strings.Repeat(" ", max(0, m.console.Width-uniseg.StringWidth(text)))
		}
		return styled(console.Reversed, text)
	}
	return styled(m.tint(id), gutter+text)
}

// tint shows at a glance what needs somebody.
func (m *model) tint(id string) console.Style {
	switch m.view {
	case queuesView:
		for _, q := range m.figures.Queues {
			if q.Name == id {
				return queueStyle(q)
			}
		}
	case workersView:
		for _, w := range m.figures.Workers {
			if w.ID == id {
				if !w.Alive {
					return console.Red
				}
				return hue(w.Wanted != "", console.Yellow)
			}
		}
	}
	return console.Plain
}

// room is how many rows fit below the head, the tabs and the titles, above the foot.
func (m *model) room() int {
	if m.height == 0 {
		return beyond
	}
	return max(1, m.height-len(m.head())-3)
}

// tabs are the views, the present one in brackets, and where in it the chosen row is.
func (m *model) tabs(sheet viewTable) textLine {
	names := [viewCount]string{"queues", "workers", "errors"}
	state := m.sheets[m.view]
	where := ""
	if len(sheet.ids) > 0 {
		where = fmt.Sprintf("  %s of %s", human.Number(state.row(sheet.ids)+1), human.Number(len(sheet.ids)))
	}
	var long, short textLine
	for view, name := range names {
		key := fmt.Sprint(view + 1)
		if viewIndex(view) == m.view {
			long, short = append(long, textPart{console.Bold, "[" + key + " " + name + "] "}),
				append(short, textPart{console.Bold, "[" + key + " " + name + "]"})
			continue
		}
		long, short = append(long, textPart{console.Faint, " " + key + " " + name + "  "}),
			append(short, textPart{console.Faint, " " + key + " "})
	}
	if whole := append(long, textPart{console.Faint, where}); whole.width() <= m.console.Width {
		return whole
	}
	if whole := append(short, textPart{console.Faint, where}); whole.width() <= m.console.Width {
		return whole
	}
	return short
}

// none is said where a view has nothing to show.
func (m *model) none(view viewIndex) string {
	switch {
	case view == queuesView:
		return "there are no queues: nothing was enqueued"
	case view == workersView && m.figures.Counts.Queued > 0:
		return "there are no workers: what waits will wait on"
	case view == workersView:
		return "there are no workers"
	}
	return "no errors were counted"
}
