package top

import (
	"errors"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

func TestTopSortsByKeys(t *testing.T) {
	t.Parallel()
	const statement, wide = "create_monthly_statement_of_account", "wide_漢字_name"
	for _, row := range []struct {
		keys []string
		want []string
	}{
		{nil, []string{statement, "export", "send_mail", wide, "clean_up", "overwritten"}},
		{[]string{"w"}, []string{"clean_up", "overwritten", wide, "send_mail", "export", statement}},
		{[]string{"n"}, []string{"clean_up", statement, "export", "overwritten", "send_mail", wide}},
		{[]string{"n", "n"}, []string{wide, "send_mail", "overwritten", "export", statement, "clean_up"}},
		{[]string{"n", "n", "n"}, []string{"clean_up", statement, "export", "overwritten", "send_mail", wide}},
		{[]string{"w", "n"}, []string{"clean_up", statement, "export", "overwritten", "send_mail", wide}},
		{[]string{"o"}, []string{statement, "send_mail", "export", wide, "clean_up", "overwritten"}},
		{[]string{"r"}, []string{statement, "send_mail", "export", "clean_up", "overwritten", wide}},
		{[]string{"d"}, []string{statement, "export", "send_mail", "clean_up", "overwritten", wide}},
		{[]string{"f"}, []string{"export", "send_mail", "clean_up", statement, "overwritten", wide}},
		{[]string{"s"}, []string{wide, "send_mail", "overwritten", "clean_up", statement, "export"}},
		{[]string{"l"}, []string{"export", "send_mail", "clean_up", statement, "overwritten", wide}},
		{[]string{"v"}, []string{"clean_up", statement, "export", "send_mail", "overwritten", wide}},
		{[]string{"2"}, []string{"c3", "a1", "b2"}},
		{[]string{"2", "b"}, []string{"a1", "b2", "c3"}},
		{[]string{"2", "u"}, []string{"a1", "c3", "b2"}},
		{[]string{"2", "o"}, []string{"a1", "b2", "c3"}},
		{[]string{"3"}, []string{"e1", "e2"}},
		{[]string{"3", "c"}, []string{"e2", "e1"}},
		{[]string{"3", "l", "l"}, []string{"e2", "e1"}},
		{[]string{"3", "m"}, []string{"e2", "e1"}},
	} {
		m, _ := watched(120, 24)
		press(m, row.keys...)
		assert.Equal(t, row.want, idsShown(m), "%v", row.keys)
	}
}

func TestTopRowsThatAreEqualStayInOrder(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 24)
	f := snapshot{AsOf: noon}
	for _, name := range []string{"c", "a", "d", "b"} {
		f.Queues = append(f.Queues, queueFigures{QueueInfo: inspect.QueueInfo{Name: name}})
	}
	m.Update(readMsg{figures: f, at: noon})
	assert.Equal(t, []string{"a", "b", "c", "d"}, idsShown(m))
}

// A letter means one thing in each view.
func TestTopSortKeysAreTheirOwn(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 24)
	for view := range viewCount {
		seen := map[string]bool{"q": true, "p": true, "/": true, "?": true, "j": true, "k": true, "g": true, "G": true}
		for _, c := range m.sheetAt(view, "").columns {
			assert.False(t, seen[c.key], "%s in view %d", c.key, view)
			seen[c.key] = true
		}
	}
}

func TestTopTheChosenRowStaysTheSame(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 24)
	chosen := func() string { return m.sheets[m.view].chosen }
	require.Equal(t, "create_monthly_statement_of_account", chosen())
	press(m, "j", "j")
	require.Equal(t, "send_mail", chosen())
	press(m, "n")
	assert.Equal(t, "send_mail", chosen(), "sorted otherwise")
	f := sample()
	f.Queues[4].Waiting = 9_999_999
	m.Update(readMsg{figures: f, at: noon})
	assert.Equal(t, "send_mail", chosen(), "after a reading")
	f.Queues = append(f.Queues[:4:4], f.Queues[5])
	m.Update(readMsg{figures: f, at: noon})
	assert.Equal(t, "wide_漢字_name", chosen(), "the one that took its place")
	press(m, "up", "up")
	assert.Equal(t, "export", chosen())
	press(m, "G")
	assert.Equal(t, "wide_漢字_name", chosen())
	press(m, "g")
	assert.Equal(t, "clean_up", chosen())
	press(m, "up")
	assert.Equal(t, "clean_up", chosen(), "there is nothing above")
	m.Update(readMsg{figures: snapshot{AsOf: noon}, at: noon})
	press(m, "j", "p")
	assert.Nil(t, m.asking, "nothing is there to be paused")
}

func TestTopScrollsWhereTheChosenRowIs(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 9) // three lines of head, tabs, titles, three rows, foot
	require.Equal(t, 3, m.room())
	press(m, "n")
	for _, row := range []struct{ key, first, last string }{
		{"g", "clean_up", "export"}, {"j", "clean_up", "export"}, {"j", "clean_up", "export"},
		{"j", "create_monthly", "overwritten"},
		{"G", "overwritten", "wide_"}, {"k", "overwritten", "wide_"}, {"pgup", "export", "send_mail"},
		{"home", "clean_up", "export"},
	} {
		press(m, row.key)
		lines := m.frame()
		rows := lines[len(lines)-4 : len(lines)-1]
		assert.Contains(t, rows[0], row.first, row.key)
		assert.Contains(t, rows[2], row.last, row.key)
	}
	press(m, "end")
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	assert.Zero(t, m.sheets[queuesView].first, "there is room for all")
}

func TestTopPausesAfterAQuestion(t *testing.T) {
	t.Parallel()
	m, desk := watched(80, 24)
	press(m, "j", "p")
	require.Equal(t, &question{queue: "export", to: true}, m.asking)
	f := sample()
	f.Queues[2].Waiting = 0 // it goes down, and another one stands there
	m.Update(readMsg{figures: f, at: noon})
	require.Contains(t, screen(m), "pause export? y/n")
	press(m, "y")
	require.Equal(t, []string{"pause export true"}, desk.given)
	m.Update(pausedMsg{queue: "export", to: true})
	assert.Contains(t, screen(m), "queue export is paused: what runs goes on")
	assert.Equal(t, "read false", desk.given[1], "it is to be seen at once")
	press(m, "j")
	assert.NotContains(t, screen(m), "is paused: what", "until the next key")
}

func TestTopResumesAfterAQuestion(t *testing.T) {
	t.Parallel()
	m, desk := watched(80, 24)
	press(m, "j", "j", "p")
	require.Contains(t, screen(m), "resume send_mail? y/n")
	press(m, "y")
	require.Equal(t, []string{"pause send_mail false"}, desk.given)
	m.Update(pausedMsg{queue: "send_mail", err: errors.New("queue \"send_mail\" was not resumed: gone")})
	assert.Contains(t, screen(m), "was not resumed: gone")
}

func TestTopChangesNothingWithoutAYes(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"n", "esc", "enter", "q", "p", "tab"} {
		m, desk := watched(80, 24)
		cmd := press(m, "p", key)
		assert.False(t, quits(t, cmd), key)
		assert.Nil(t, m.asking, key)
		assert.Empty(t, desk.given, key)
		assert.Contains(t, screen(m), "nothing was changed", key)
	}
}

func TestTopSaysWhyAQueueCannotBePaused(t *testing.T) {
	t.Parallel()
	m, desk := watched(120, 24)
	press(m, "2", "p")
	assert.Contains(t, screen(m), "choose a queue first: 1 shows them")
	f := sample()
	f.AllPaused = true
	m.Update(readMsg{figures: f, at: noon})
	press(m, "1", "p")
	assert.Contains(t, screen(m), "`work resume --all` ends that")
	assert.Contains(t, screen(m), "all queues are paused")
	assert.Empty(t, desk.given)
}

func TestTopFilters(t *testing.T) {
	t.Parallel()
	m, _ := watched(80, 24)
	press(m, "/", "q", "E", "x")
	assert.Empty(t, idsShown(m))
	assert.Contains(t, screen(m), `nothing here has "qEx" in it`)
	press(m, "backspace", "backspace", "backspace", "e", "X")
	assert.Equal(t, []string{"export"}, idsShown(m), "whatever the case")
	press(m, "enter")
	assert.Contains(t, screen(m), "/eX  esc shows all")
	press(m, "3")
	assert.Equal(t, []string{"e1"}, idsShown(m), "in all views")
	press(m, "2")
	assert.Equal(t, []string{"a1"}, idsShown(m), "a worker by what it serves")
	press(m, "esc")
	assert.Len(t, idsShown(m), 3)
	press(m, "3", "/", "p", "o", "s", "t", "enter")
	assert.Equal(t, []string{"e1"}, idsShown(m), "of Post")
	press(m, "esc", "2")
	press(m, "/")
	m.Update(tea.PasteMsg{Content: "web\x1b-1\n"})
	assert.Equal(t, "web-1", m.filter, "what is pasted has nothing in it that a key could not type")
	press(m, "ctrl+u")
	assert.Empty(t, m.filter)
	press(m, "漢", "字", "backspace")
	assert.Equal(t, "漢", m.filter)
	press(m, "esc")
	assert.Empty(t, m.filter)
	assert.False(t, m.typing)
}

func TestTopLeaves(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		keys        []string
		interrupted bool
	}{
		{"q", []string{"q"}, false},
		{"q in the help", []string{"?", "q"}, false},
		{"ctrl-c", []string{"ctrl+c"}, true},
		{"ctrl-c while a filter is typed", []string{"/", "a", "ctrl+c"}, true},
		{"ctrl-c at a question", []string{"p", "ctrl+c"}, true},
	} {
		m, desk := watched(80, 24)
		assert.True(t, quits(t, press(m, row.keys...)), row.name)
		assert.Equal(t, row.interrupted, m.interrupted, row.name)
		assert.Empty(t, desk.given, row.name)
	}
	m, _ := watched(80, 24)
	assert.False(t, quits(t, press(m, "/", "q")), "it is a letter there")
	_, suspends := press(m, "ctrl+z")().(tea.SuspendMsg)
	assert.True(t, suspends)
}

func TestTopAnyKeyEndsTheHelp(t *testing.T) {
	t.Parallel()
	m, _ := watched(80, 24)
	press(m, "?")
	require.Contains(t, screen(m), "pause or resume the queue")
	press(m, "p")
	assert.NotContains(t, screen(m), "pause or resume the queue")
	assert.Nil(t, m.asking)
}

func TestTopAsksOnceAtATime(t *testing.T) {
	t.Parallel()
	m, desk := watched(80, 24)
	for range 3 {
		m.Update(tickMsg{at: noon})
	}
	require.Equal(t, []string{"read false"}, desk.given, "no answer came")
	m.Update(readMsg{figures: sample(), at: noon})
	m.Update(tickMsg{at: noon})
	require.Len(t, desk.given, 2)
	m.Update(readMsg{at: noon, err: errNoRedis})
	m.Update(tickMsg{at: noon})
	require.Len(t, desk.given, 3, "an error is an answer")
	m.Update(readMsg{figures: sample(), at: noon})
	press(m, "3")
	assert.Equal(t, "read true", desk.given[3], "errors are read where they are shown")
	f := sample()
	f.Errors = nil
	m.Update(readMsg{figures: f, at: noon})
	assert.Len(t, idsShown(m), 2, "those of before")
	press(m, "tab")
	m.Update(tickMsg{at: noon})
	assert.Equal(t, "read false", desk.given[4])
}

func TestTopSaysSinceWhenRedisIsLost(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 24)
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	m.Update(tickMsg{at: at(time.Second)})
	assert.NotContains(t, screen(m), "nothing since")
	m.Update(tickMsg{at: at(4 * time.Second)})
	assert.Contains(t, screen(m), "Redis is slow: nothing since 12:00:30 (4s)")
	m.Update(readMsg{at: at(6 * time.Second), err: errNoRedis})
	assert.Contains(t, screen(m),
		"no Redis since 12:00:30 (6s): cannot connect to Redis at localhost:6379: connection refused")
	m.Update(tickMsg{at: at(9 * time.Second)})
	assert.Contains(t, screen(m), "no Redis since 12:00:30 (9s)")
	assert.Contains(t, screen(m), "1,249,988", "the last figures are kept")
	m.Update(readMsg{figures: sample(), at: at(10 * time.Second)})
	assert.NotContains(t, screen(m), "no Redis")
	m.Update(readMsg{at: at(12 * time.Second), err: errNoRedis})
	assert.Contains(t, screen(m), "no Redis since 12:00:40 (2s)", "since the last answer")
}

// A screen of ten thousand queues, of which it shows a few, is to be drawn faster than a key repeats that is held down:
// about 30 ms.
func BenchmarkTopOfManyQueues(b *testing.B) {
	m, _ := watched(120, 40)
	f := sample()
	for n := range 10_000 {
		f.Queues = append(f.Queues,
			queueFigures{QueueInfo: inspect.QueueInfo{Name: fmt.Sprint("queue_", n), Waiting: n % 977}})
	}
	m.Update(readMsg{figures: f, at: noon})
	for b.Loop() {
		press(m, "j")
		m.View()
	}
}
