package top

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/inspect"
)

// noon is when the figures of the tests were read.
var noon = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)

// sample are figures in which everything occurs.
func sample() snapshot {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	f := snapshot{
		AsOf: noon,
		Counts: inspect.Counts{Queued: 1_250_319, Running: 31, Scheduled: 48, Retrying: 3, Dead: 17, Queues: 6,
			Workers: 2, AsOf: noon},
		Processors: inspect.Processors{Busy: 31, Total: 40},
		Rates:      rates{Done: 812.44, Failed: 3.2},
	}
	queue := func(info inspect.QueueInfo, done, failed float64) {
		f.Queues = append(f.Queues, queueFigures{QueueInfo: info, LastMinute: rates{Done: done, Failed: failed}})
	}
	queue(inspect.QueueInfo{Name: "clean_up", Workers: 2}, 0.3, 0)
	queue(inspect.QueueInfo{Name: "create_monthly_statement_of_account", Waiting: 1_249_988,
		Oldest: ago(26 * time.Hour), Running: 20, Workers: 2}, 41_003, 0)
	queue(inspect.QueueInfo{Name: "export", Waiting: 312, Oldest: ago(12 * time.Second), Running: 5, Workers: 2,
		Limit: &inspect.LimitInfo{Name: "export", Limit: work.Limit{Concurrent: 5}, Running: 5}}, 7_240, 190)
	queue(inspect.QueueInfo{Name: "overwritten", Problem: "WRONGTYPE"}, 0, 0)
	queue(inspect.QueueInfo{Name: "send_mail", Waiting: 19, Oldest: ago(3 * time.Minute), Running: 6, Paused: true,
		Workers: 1,
		Limit:   &inspect.LimitInfo{Name: "send_mail", Paused: true, Limit: work.Limit{Rate: 100, Per: time.Second}}},
		512,
		2)
	queue(inspect.QueueInfo{Name: "wide_漢字_name", Waiting: 1, Oldest: ago(400 * time.Millisecond)}, 0, 0)
	f.Workers = []inspect.WorkerInfo{
		{ID: "a1", Host: "web-1", PID: 4242, Service: "shop", Version: "v1.4.0", Started: ago(75 * time.Hour),
			Concurrency: 20, Alive: true, AsOf: noon,
			Queues: []string{"export", "send_mail"},
			Running: []inspect.RunningJob{{ID: "1", Name: "export", Since: ago(90 * time.Second)},
				{ID: "2", Name: "send_mail"}}},
		{ID: "b2", Host: "web-2", PID: 77, Service: "shop", Version: "v1.5.0", Started: ago(4 * time.Minute),
			Concurrency: 20, Alive: true, Wanted: "quiet", AsOf: noon},
		{ID: "c3", Host: "batch-1", PID: 9, Service: "nightly", Started: ago(time.Hour), Concurrency: 4, AsOf: noon},
	}
	f.Errors = []inspect.ErrorGroup{
		{Digest: "e1", Name: "export", Message: "Post \"https://api.example.com/v1/report\": context deadline exceeded",
			Count: 12_030, Last: ago(2 * time.Second)},
		{Digest: "e2", Name: "send_mail", Message: "550 no such mailbox\x1b[2J", Count: 17, Last: ago(5 * time.Hour)},
	}
	for n := range shownMinutes {
		f.Minutes = append(f.Minutes, minuteFigures{At: noon.Add(time.Duration(n-shownMinutes+1) * time.Minute),
			endCounts: endCounts{Done: int64(30_000 + 20_000*math.Sin(float64(n)/7))}})
	}
	return f
}

// deskLog is a desk that writes down what it is asked for.
type deskLog struct{ given []string }

func (o *deskLog) read(withErrors bool) tea.Cmd {
	o.given = append(o.given, fmt.Sprint("read ", withErrors))
	return nil
}

func (o *deskLog) setPaused(queue string, to bool) tea.Cmd {
	o.given = append(o.given, fmt.Sprint("pause ", queue, " ", to))
	return nil
}

// watched is a model with the sample on a screen of that size.
func watched(width, height int) (*model, *deskLog) {
	desk := &deskLog{}
	m := newModel(Options{Console: &console.Console{}, Namespace: "shop",
		Redis: "redis://:secret@localhost:6379/0", Interval: time.Second}, sample())
	m.desk, m.zone, m.now, m.answered = desk, time.UTC, noon, noon
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m, desk
}

// press presses keys: letters, or a name such as "tab".
func press(m *model, keys ...string) (last tea.Cmd) {
	named := map[string]rune{"tab": tea.KeyTab, "esc": tea.KeyEscape, "enter": tea.KeyEnter, "up": tea.KeyUp,
		"down":      tea.KeyDown,
		"backspace": tea.KeyBackspace, "home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown,
		"pgup": tea.KeyPgUp}
	for _, key := range keys {
		msg := tea.KeyPressMsg{Text: key, Code: []rune(key)[0]}
		if code, is := named[key]; is {
			msg = tea.KeyPressMsg{Code: code}
		}
		if rest, is := strings.CutPrefix(key, "ctrl+"); is {
			msg = tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
		}
		_, last = m.Update(msg)
	}
	return last
}

func screen(m *model) string { return m.View().Content + "\n" }

// idsShown are the ids of the rows that are on the screen's table, in order.
func idsShown(m *model) []string {
	return m.sheet.ids
}

// quits tells whether a command ends the program.
func quits(t *testing.T, cmd tea.Cmd) bool {
	t.Helper()
	if cmd == nil {
		return false
	}
	_, is := cmd().(tea.QuitMsg)
	return is
}

var errNoRedis = errors.New("cannot connect to Redis at localhost:6379: connection refused")

func TestTheKitPressesKeysAsATerminalDoes(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "tab", tea.KeyPressMsg{Code: tea.KeyTab}.String())
	assert.Equal(t, "ctrl+c", tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}.String())
	assert.Equal(t, "pgdown", tea.KeyPressMsg{Code: tea.KeyPgDown}.String())
	require.Equal(t, "G", tea.KeyPressMsg{Code: 'G', Text: "G"}.String())
}
