package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// View draws the screen.
func (m *model) View() tea.View {
	view := tea.NewView(strings.Join(m.frame(), "\n"))
	view.AltScreen = true
	view.WindowTitle = "work top " + human.Visible(m.namespace)
	return view
}

// frame is all lines of the screen: never more than there is room for, and none too wide.
func (m *model) frame() []string {
	var lines []textLine
	if m.help {
		lines = append([]textLine{m.title(), nil}, m.helpLines()...)
	} else {
		lines = append(m.head(), m.body()...)
	}
	if m.height > 0 {
		most := max(m.height-1, 0)
		lines = lines[:min(len(lines), most)]
		for len(lines) < most {
			lines = append(lines, nil)
		}
	}
	lines = append(lines, m.foot())
	drawn := make([]string, len(lines))
	for i, line := range lines {
		drawn[i] = line.render(&m.console)
	}
	return drawn
}

// printed are the lines for a reader that is no screen: all views, one below the other.
func (m *model) printed(c *console.Console) []string {
	page := *m
	page.console, page.height = *c, 0
	lines := page.head()
	for view := range viewCount {
		sheet := page.sheetAt(view, "")
		title, rows := sheet.lines(0, len(sheet.ids), c.Width)
		lines = append(lines, nil)
		if len(rows) == 0 {
			lines = append(lines, styled(console.Plain, page.none(view)))
			continue
		}
		lines = append(lines, styled(console.Bold, title))
		for _, row := range rows {
			lines = append(lines, styled(console.Plain, row))
		}
	}
	drawn := make([]string, len(lines))
	for i, line := range lines {
		drawn[i] = strings.TrimRight(line.render(c), " ")
	}
	return drawn
}

// head is what stands above the tables: the title, what is wrong, the totals and the sparklines. On a low screen it
// leaves the tables two thirds.
func (m *model) head() []textLine {
	lines := []textLine{m.title()}
	if trouble := m.trouble(); trouble != "" {
		for _, line := range human.Wrap(trouble, m.console.Width) {
			lines = append(lines, styled(console.Red, line))
		}
		if m.height > 0 {
			lines = lines[:min(len(lines), max(2, m.height/4))]
		}
	}
	totals := flow(m.totals(), m.console.Width)
	charts := m.charts()
	if m.height > 0 {
		room := max(1, m.height/3-len(lines))
		totals = totals[:min(len(totals), max(1, room-1))] // one for what moves
		charts = charts[:min(len(charts), max(0, room-len(totals)))]
	}
	lines = append(append(lines, totals...), charts...)
	if m.height >= spaciousHeight {
		lines = append(lines, nil)
	}
	return lines
}

// spaciousHeight is the height from which on there is room for an empty line.
const spaciousHeight = 20

// title says what is shown, and at the right as of when.
func (m *model) title() textLine {
	at := m.figures.AsOf.In(m.zone).Format(time.TimeOnly)
	line := textLine{{console.Bold, "work top"}, {console.Plain, "  " + human.Visible(m.namespace)}}
	place := textPart{console.Faint, "  " + human.Visible(m.place)}
	every := textPart{console.Faint, "  every " + human.Duration(m.interval)}
	width := m.console.Width
	if width == 0 {
		return append(line, place, textPart{console.Plain, "  " + m.figures.AsOf.UTC().Format(time.RFC3339)})
	}
	clock := textLine{{console.Plain, at}}
	for _, more := range []struct {
		part textPart
		to   *textLine
	}{{place, &line}, {every, &clock}} {
		if line.width()+2+clock.width()+uniseg.StringWidth(more.part.text) <= width {
			*more.to = append(*more.to, more.part)
		}
	}
	if left := width - line.width() - clock.width(); left >= 2 {
		return append(append(line, textPart{console.Plain, strings.Repeat(" ", left)}), clock...)
	}
	return append(textLine{{console.Bold, human.Visible(m.namespace)}, {console.Plain, "  "}}, clock...)
}

// trouble is why the figures are old, or nothing.
func (m *model) trouble() string {
	lasts := human.Duration(m.now.Sub(m.answered).Truncate(time.Second))
	since := m.answered.In(m.zone).Format(time.TimeOnly)
	switch {
	case m.lost != nil:
		return fmt.Sprintf("no Redis since %s (%s): %s", since, lasts, human.Visible(m.lost.Error()))
	case !m.asked.IsZero() && m.now.Sub(m.asked) > slowAnswer:
		return fmt.Sprintf("Redis is slow: nothing since %s (%s)", since, lasts)
	}
	return ""
}

// slowAnswer is how long an answer may take before it is spoken of.
const slowAnswer = 2 * time.Second

// foot is the last line: a question, what is typed, what was done, or the keys.
func (m *model) foot() textLine {
	switch {
	case m.asking != nil && m.asking.to:
		return m.yesOrNo("pause ")
	case m.asking != nil:
		return m.yesOrNo("resume ")
	case m.typing:
		return textLine{{console.Bold, "/" + human.Visible(m.filter)}, {console.Reversed, " "},
			{console.Faint, "  enter keeps it, esc ends it"}}
	case m.notice != "":
		return styled(console.Yellow, human.Visible(m.notice))
	case m.filter != "":
		return textLine{{console.Bold, "/" + human.Visible(m.filter)}, {console.Faint, "  esc shows all"}}
	}
	return m.hints()
}

// yesOrNo is a question, of which the name gives way where there is little room.
func (m *model) yesOrNo(verb string) textLine {
	const answers = "? y/n"
	name := human.CutMiddle(human.Visible(m.asking.queue), max(2, m.console.Width-len(verb)-len(answers)))
	return textLine{{console.Yellow, verb + name}, {console.Bold, answers}}
}

// hints are the keys that there is room for, the ones that lead on first.
func (m *model) hints() textLine {
	var line textLine
	for _, hint := range []struct{ key, does string }{{"q", "quit"}, {"?", "help"}, {"tab", "view"}, {"p", "pause"},
		{"/", "filter"}, {"j k", "choose"}} {
		if hint.key == "p" && m.view != queuesView {
			continue
		}
		more := textLine{{console.Bold, hint.key}, {console.Faint, " " + hint.does}}
		if len(line) > 0 {
			more = append(textLine{{console.Plain, "   "}}, more...)
		}
		if line.width()+more.width() > m.console.Width {
			break
		}
		line = append(line, more...)
	}
	return line
}

// helpLines are the keys, those of the present view last.
func (m *model) helpLines() []textLine {
	const margin = 21
	var lines []textLine
	add := func(keys, does string) {
		if m.console.Width < 2*margin {
			for _, line := range human.Wrap(strings.TrimSpace(keys+"  "+does), m.console.Width) {
				lines = append(lines, styled(console.Plain, line))
			}
			return
		}
		for _, line := range human.Wrap(does, m.console.Width-margin) {
			lines = append(lines, textLine{{console.Bold, fmt.Sprintf("  %-*s", margin-2, keys)},
				{console.Plain, line}})
			keys = ""
		}
	}
	for _, k := range keyHelp {
		add(k.keys, k.does)
	}
	var keys, about []string
	for _, c := range m.sheet.columns {
		keys = append(keys, c.key)
		about = append(about, c.key+" "+strings.TrimRight(cmp.Or(c.about, c.Title), sortMarks))
	}
	lines = append(lines, nil)
	add(strings.Join(keys, " "), "sort by it; pressed again, the other way round")
	add("", strings.Join(about, ", "))
	if m.view == queuesView {
		add(strings.TrimSpace(pausedMark), "behind a name: the queue is paused")
	}
	return lines
}
