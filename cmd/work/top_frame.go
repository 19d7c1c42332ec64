package main

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
)

// View draws the screen.
func (m *topModel) View() tea.View {
	view := tea.NewView(strings.Join(m.frame(), "\n"))
	view.AltScreen = true
	view.WindowTitle = "work top " + visible(m.namespace)
	return view
}

// frame is all lines of the screen: never more than there is room for, and none too wide.
func (m *topModel) frame() []string {
	var lines []topLine
	if m.help {
		lines = append([]topLine{m.title(), nil}, m.helpLines()...)
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
func (m *topModel) printed(c *console) []string {
	page := *m
	page.console, page.height = *c, 0
	lines := page.head()
	for view := range topViews {
		sheet := page.sheetAt(view, "")
		title, rows := sheet.lines(0, len(sheet.ids), c.width)
		lines = append(lines, nil)
		if len(rows) == 0 {
			lines = append(lines, topText(plain, page.none(view)))
			continue
		}
		lines = append(lines, topText(bold, title))
		for _, row := range rows {
			lines = append(lines, topText(plain, row))
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
func (m *topModel) head() []topLine {
	lines := []topLine{m.title()}
	if trouble := m.trouble(); trouble != "" {
		for _, line := range fold(trouble, m.console.width) {
			lines = append(lines, topText(red, line))
		}
		if m.height > 0 {
			lines = lines[:min(len(lines), max(2, m.height/4))]
		}
	}
	totals := flow(m.totals(), m.console.width)
	charts := m.charts()
	if m.height > 0 {
		room := max(1, m.height/3-len(lines))
		totals = totals[:min(len(totals), max(1, room-1))] // one for what moves
		charts = charts[:min(len(charts), max(0, room-len(totals)))]
	}
	lines = append(append(lines, totals...), charts...)
	if m.height >= topAiry {
		lines = append(lines, nil)
	}
	return lines
}

// topAiry is the height from which on there is room for an empty line.
const topAiry = 20

// title says what is shown, and at the right as of when.
func (m *topModel) title() topLine {
	at := m.figures.AsOf.In(m.zone).Format(time.TimeOnly)
	line := topLine{{bold, "work top"}, {plain, "  " + visible(m.namespace)}}
	place := topPart{faint, "  " + visible(m.place)}
	every := topPart{faint, "  every " + brief(m.interval)}
	width := m.console.width
	if width == 0 {
		return append(line, place, topPart{plain, "  " + m.figures.AsOf.UTC().Format(time.RFC3339)})
	}
	clock := topLine{{plain, at}}
	for _, more := range []struct {
		part topPart
		to   *topLine
	}{{place, &line}, {every, &clock}} {
		if line.width()+2+clock.width()+uniseg.StringWidth(more.part.text) <= width {
			*more.to = append(*more.to, more.part)
		}
	}
	if left := width - line.width() - clock.width(); left >= 2 {
		return append(append(line, topPart{plain, strings.Repeat(" ", left)}), clock...)
	}
	return append(topLine{{bold, visible(m.namespace)}, {plain, "  "}}, clock...)
}

// trouble is why the figures are old, or nothing.
func (m *topModel) trouble() string {
	lasts := brief(m.now.Sub(m.answered).Truncate(time.Second))
	since := m.answered.In(m.zone).Format(time.TimeOnly)
	switch {
	case m.lost != nil:
		return fmt.Sprintf("no Redis since %s (%s): %s", since, lasts, visible(m.lost.Error()))
	case !m.asked.IsZero() && m.now.Sub(m.asked) > topSlow:
		return fmt.Sprintf("Redis is slow: nothing since %s (%s)", since, lasts)
	}
	return ""
}

// topSlow is how long an answer may take before it is spoken of.
const topSlow = 2 * time.Second

// foot is the last line: a question, what is typed, what was done, or the keys.
func (m *topModel) foot() topLine {
	switch {
	case m.asking != nil && m.asking.to:
		return m.yesOrNo("pause ")
	case m.asking != nil:
		return m.yesOrNo("resume ")
	case m.typing:
		return topLine{{bold, "/" + visible(m.filter)}, {reversed, " "}, {faint, "  enter keeps it, esc ends it"}}
	case m.notice != "":
		return topText(yellow, visible(m.notice))
	case m.filter != "":
		return topLine{{bold, "/" + visible(m.filter)}, {faint, "  esc shows all"}}
	}
	return m.hints()
}

// yesOrNo is a question, of which the name gives way where there is little room.
func (m *topModel) yesOrNo(verb string) topLine {
	const answers = "? y/n"
	name := shorten(visible(m.asking.queue), max(2, m.console.width-len(verb)-len(answers)))
	return topLine{{yellow, verb + name}, {bold, answers}}
}

// hints are the keys that there is room for, the ones that lead on first.
func (m *topModel) hints() topLine {
	var line topLine
	for _, hint := range []struct{ key, does string }{{"q", "quit"}, {"?", "help"}, {"tab", "view"}, {"p", "pause"},
		{"/", "filter"}, {"j k", "choose"}} {
		if hint.key == "p" && m.view != topQueues {
			continue
		}
		more := topLine{{bold, hint.key}, {faint, " " + hint.does}}
		if len(line) > 0 {
			more = append(topLine{{plain, "   "}}, more...)
		}
		if line.width()+more.width() > m.console.width {
			break
		}
		line = append(line, more...)
	}
	return line
}

// helpLines are the keys, those of the present view last.
func (m *topModel) helpLines() []topLine {
	const margin = 21
	var lines []topLine
	add := func(keys, does string) {
		if m.console.width < 2*margin {
			for _, line := range fold(strings.TrimSpace(keys+"  "+does), m.console.width) {
				lines = append(lines, topText(plain, line))
			}
			return
		}
		for _, line := range fold(does, m.console.width-margin) {
			lines = append(lines, topLine{{bold, fmt.Sprintf("  %-*s", margin-2, keys)}, {plain, line}})
			keys = ""
		}
	}
	for _, k := range topKeys {
		add(k.keys, k.does)
	}
	var keys, about []string
	for _, c := range m.sheet.columns {
		keys = append(keys, c.key)
		about = append(about, c.key+" "+strings.TrimRight(fallback(c.about, c.title), sortMarks))
	}
	lines = append(lines, nil)
	add(strings.Join(keys, " "), "sort by it; pressed again, the other way round")
	add("", strings.Join(about, ", "))
	if m.view == topQueues {
		add(strings.TrimSpace(topPausedMark), "behind a name: the queue is paused")
	}
	return lines
}
