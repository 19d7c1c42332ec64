package top

import (
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
)

// keyHelp are all keys, as the help shows them; those that sort stand with each view.
var keyHelp = []struct{ keys, does string }{
	{"1 2 3, tab", "queues, workers, errors"},
	{"↑ ↓, j k", "choose a row"},
	{"pgup pgdn", "a page up or down"},
	{"home end, g G", "the first or last row"},
	{"p", "pause or resume the queue"},
	{"/", "show rows with a text; esc ends it"},
	{"?", "this help"},
	{"q, ctrl-c", "leave"},
}

// press does what a key asks for. What was asked or is being typed comes first.
func (m *model) press(key tea.KeyPressMsg) tea.Cmd {
	name := key.String()
	switch {
	case name == "ctrl+c":
		m.interrupted = true
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.asking != nil:
		return m.answer(name)
	case m.typing:
		m.edit(name, key.Text)
		return nil
	case m.help && name != "q":
		m.help = false
		return nil
	}
	return m.command(name)
}

// answer takes nothing but y for a yes.
func (m *model) answer(name string) tea.Cmd {
	question := m.asking
	m.asking = nil
	if name != "y" && name != "Y" {
		m.notice = "nothing was changed"
		return nil
	}
	m.notice = "one moment"
	return m.desk.setPaused(question.queue, question.to)
}

// edit changes the filter.
func (m *model) edit(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "ctrl+u":
		m.filter = ""
	case "backspace":
		m.filter = withoutLast(m.filter)
	default:
		for _, char := range text {
			if unicode.IsPrint(char) {
				m.filter += string(char)
			}
		}
	}
}

// withoutLast leaves out what a reader takes for the last character.
func withoutLast(text string) string {
	rest := ""
	for g := uniseg.NewGraphemes(text); g.Next(); {
		from, _ := g.Positions()
		rest = text[:from]
	}
	return rest
}

// command does what a key means when nothing else is going on.
func (m *model) command(name string) tea.Cmd {
	switch name {
	case "q":
		return tea.Quit
	case "?":
		m.help = true
	case "/":
		m.typing = true
	case "esc":
		m.filter = ""
	case "p":
		m.question()
	case "1", "2", "3":
		return m.show(viewIndex(name[0] - '1'))
	case "tab", "right":
		return m.show((m.view + 1) % viewCount)
	case "shift+tab", "left":
		return m.show((m.view + viewCount - 1) % viewCount)
	default:
		if !m.move(name) {
			m.sort(name)
		}
	}
	return nil
}

// show turns to a view, and reads what only that one needs.
func (m *model) show(view viewIndex) tea.Cmd {
	m.view = view
	if view == errorsView {
		return m.ask()
	}
	return nil
}

// question asks whether the chosen queue is to be paused or resumed, or says why it cannot be.
func (m *model) question() {
	if m.view != queuesView {
		m.notice = "choose a queue first: 1 shows them"
		return
	}
	chosen := m.sheets[queuesView].chosen
	for _, q := range m.figures.Queues {
		switch {
		case q.Name != chosen:
		case m.figures.AllPaused:
			m.notice = "all queues are paused: `work resume --all` ends that"
		default:
			m.asking = &question{queue: q.Name, to: !q.Paused}
		}
	}
}

// move chooses another row, and tells whether the key does that.
func (m *model) move(name string) bool {
	page := max(1, m.room()-1)
	steps := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "pgdown": page, "ctrl+f": page,
		"home": -beyond, "g": -beyond, "end": beyond, "G": beyond,
	}
	step, moves := steps[name]
	if !moves {
		return false
	}
	ids := m.sheet.ids
	if len(ids) == 0 {
		return true
	}
	state := &m.sheets[m.view]
	state.chosen = ids[max(0, min(state.row(ids)+step, len(ids)-1))]
	return true
}

// beyond is more rows than there are.
const beyond = 1 << 30

// sort sorts by the column of a key, and the other way round when it is pressed again.
func (m *model) sort(name string) {
	state := &m.sheets[m.view]
	for i, title := range m.sheet.columns {
		switch {
		case title.key == "" || title.key != name:
		case state.by == i:
			state.turned = !state.turned
		default:
			state.by, state.turned = i, false
		}
	}
}

// follow makes the table anew, keeps the chosen row on the screen, and chooses another one where it has gone.
func (m *model) follow() {
	m.sheet = m.sheetAt(m.view, m.filter)
	state := &m.sheets[m.view]
	ids := m.sheet.ids
	if len(ids) == 0 {
		state.first = 0
		return // it may come back, as when a filter is typed
	}
	at := state.row(ids)
	state.chosen, state.last = ids[at], at
	room := m.room()
	state.first = max(0, min(state.first, at, len(ids)-room))
	state.first = max(state.first, at-room+1)
}
