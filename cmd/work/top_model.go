package main

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// topModel is what is on the screen: the last figures, and what was typed. It changes in Update only, which does
// nothing but that; what talks to Redis are commands of its desk.
type topModel struct {
	desk      topDesk
	console   console // its width is that of the screen, 0 for none
	height    int     // of the screen; 0 is as much as there is
	namespace string
	place     string         // of Redis
	zone      *time.Location // in which times are shown
	interval  time.Duration

	figures  topFigures
	beats    []float64 // jobs done per second, at each reading
	answered time.Time // when the figures came, by the clock of this machine, as all that follows
	now      time.Time
	asked    time.Time // since when an answer is awaited; zero while none is
	lost     error     // why the last reading brought nothing

	view   topView
	sheets [topViews]topSheetState
	sheet  topSheet // of this view, made once for each message
	filter string
	typing bool // a filter is being typed
	asking *topQuestion
	notice string // what became of what was asked for, until the next key
	help   bool

	interrupted bool
}

// topDesk makes the commands of a model: each answers with one message.
type topDesk interface {
	read(withErrors bool) tea.Cmd            // topRead
	setPaused(queue string, to bool) tea.Cmd // topPaused
}

// The messages that a model gets beside keys and sizes.
type (
	topTick struct{ at time.Time } // an interval has passed
	topRead struct {
		figures topFigures
		at      time.Time
		err     error
	}
	topPaused struct {
		queue string
		to    bool
		err   error
	}
)

// topQuestion is asked before a queue is paused or resumed. What was meant when it was asked is done, whatever is
// chosen since.
type topQuestion struct {
	queue string
	to    bool
}

// topBeats is how many readings are remembered for the sparkline.
const topBeats = 120

func newTopModel(a *app, f topFlags, figures topFigures) *topModel {
	now := time.Now()
	m := &topModel{
		console: *newConsole(a), namespace: a.namespace, place: topPlace(a.redis), zone: time.Local,
		interval: f.interval,
		figures:  figures, answered: now, now: now,
	}
	m.sheets = topDefaults
	m.follow()
	return m
}

// Init begins the ticks.
func (m *topModel) Init() tea.Cmd { return m.tick() }

// tick comes after the interval, whether Redis answers or not: the screen is to say how long it does not.
func (m *topModel) tick() tea.Cmd {
	return tea.Tick(m.interval, func(at time.Time) tea.Msg { return topTick{at: at} })
}

// Update takes one message.
func (m *topModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case topTick:
		m.now = msg.at
		cmd = tea.Batch(m.tick(), m.ask())
	case topRead:
		m.take(msg)
	case topPaused:
		m.notice = msg.text()
		cmd = m.ask()
	case tea.WindowSizeMsg:
		m.console.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.PasteMsg:
		if m.typing {
			m.edit("", msg.Content)
		}
	case tea.KeyPressMsg:
		m.notice = ""
		cmd = m.press(msg)
	}
	m.follow()
	return m, cmd
}

// ask wants new figures, unless some are under way: a slow Redis is not asked twice at once.
func (m *topModel) ask() tea.Cmd {
	if !m.asked.IsZero() {
		return nil
	}
	m.asked = m.now
	return m.desk.read(m.view == topErrors)
}

// take keeps the last figures where nothing new came.
func (m *topModel) take(msg topRead) {
	m.asked, m.lost = time.Time{}, msg.err
	m.now = later(m.now, msg.at)
	if msg.err != nil {
		return
	}
	if msg.figures.Errors == nil {
		msg.figures.Errors = m.figures.Errors
	}
	m.figures, m.answered = msg.figures, msg.at
	m.beats = append(m.beats, msg.figures.Rates.Done)
	m.beats = m.beats[max(0, len(m.beats)-topBeats):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// text is what became of it.
func (p topPaused) text() string {
	switch {
	case p.err != nil:
		return p.err.Error()
	case p.to:
		return "queue " + visible(p.queue) + " is paused: what runs goes on"
	}
	return "queue " + visible(p.queue) + " goes on"
}
