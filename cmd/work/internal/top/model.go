package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// model is what is on the screen: the last figures, and what was typed. It changes in Update only, which does
// nothing but that; what talks to Redis are commands of its desk.
type model struct {
	desk      desk
	console   console.Console // its width is that of the screen, 0 for none
	height    int             // of the screen; 0 is as much as there is
	namespace string
	place     string         // of Redis
	zone      *time.Location // in which times are shown
	interval  time.Duration

	figures  snapshot
	beats    []float64 // jobs done per second, at each reading
	answered time.Time // when the figures came, by the clock of this machine, as all that follows
	now      time.Time
	asked    time.Time // since when an answer is awaited; zero while none is
	lost     error     // why the last reading brought nothing

	view   viewIndex
	sheets [viewCount]viewState
	sheet  viewTable // of this view, made once for each message
	filter string
	typing bool // a filter is being typed
	asking *question
	notice string // what became of what was asked for, until the next key
	help   bool

	interrupted bool
}

// desk makes the commands of a model: each answers with one message.
type desk interface {
	read(withErrors bool) tea.Cmd            // answered by readMsg
	setPaused(queue string, to bool) tea.Cmd // answered by pausedMsg
}

// The messages that a model gets beside keys and sizes.
type (
	tickMsg struct{ at time.Time } // an interval has passed
	readMsg struct {
		figures snapshot
		at      time.Time
		err     error
	}
	pausedMsg struct {
		queue string
		to    bool
		err   error
	}
)

// question is asked before a queue is paused or resumed. What was meant when it was asked is done, whatever is
// chosen since.
type question struct {
	queue string
	to    bool
}

// mostBeats is how many readings are remembered for the sparkline.
const mostBeats = 120

func newModel(o Options, figures snapshot) *model {
	now := time.Now()
	m := &model{
		console: *o.Console, namespace: o.Namespace, place: dsn.Place(o.Redis), zone: time.Local,
		interval: o.Interval,
		figures:  figures, answered: now, now: now,
	}
	m.sheets = defaultStates
	m.follow()
	return m
}

// Init begins the ticks.
func (m *model) Init() tea.Cmd { return m.tick() }

// tick comes after the interval, whether Redis answers or not: the screen is to say how long it does not.
func (m *model) tick() tea.Cmd {
	return tea.Tick(m.interval, func(at time.Time) tea.Msg { return tickMsg{at: at} })
}

// Update takes one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tickMsg:
		m.now = msg.at
		cmd = tea.Batch(m.tick(), m.ask())
	case readMsg:
		m.take(msg)
	case pausedMsg:
		m.notice = msg.text()
		cmd = m.ask()
	case tea.WindowSizeMsg:
		m.console.Width, m.height = max(msg.Width, 1), max(msg.Height, 1)
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
func (m *model) ask() tea.Cmd {
	if !m.asked.IsZero() {
		return nil
	}
	m.asked = m.now
	return m.desk.read(m.view == errorsView)
}

// take keeps the last figures where nothing new came.
func (m *model) take(msg readMsg) {
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
	m.beats = m.beats[max(0, len(m.beats)-mostBeats):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// text is what became of it.
func (p pausedMsg) text() string {
	switch {
	case p.err != nil:
		return p.err.Error()
	case p.to:
		return "queue " + human.Visible(p.queue) + " is paused: what runs goes on"
	}
	return "queue " + human.Visible(p.queue) + " goes on"
}
