package top

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/console"
)

// The frames of all views at three widths are what is in testdata: look at them there.
func TestTopFrames(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 60, 120} {
		for _, row := range []struct {
			name string
			do   func(*model)
		}{
			{"queues", func(*model) {}},
			{"workers", func(m *model) { press(m, "2") }},
			{"errors", func(m *model) { press(m, "3") }},
			{"help", func(m *model) { press(m, "?") }},
			{"question", func(m *model) { press(m, "p") }},
			{"filter", func(m *model) { press(m, "/", "e", "x", "p") }},
			{"lost", func(m *model) {
				m.Update(tickMsg{at: noon.Add(time.Second)})
				m.Update(readMsg{at: noon.Add(83 * time.Second), err: errNoRedis})
			}},
		} {
			t.Run(fmt.Sprintf("%s %d", row.name, width), func(t *testing.T) {
				t.Parallel()
				m, _ := watched(width, 24)
				for _, done := range []float64{0, 120, 410, 800, 812.44} { // some readings, for the sparkline
					f := sample()
					f.Rates.Done = done
					m.Update(readMsg{figures: f, at: noon})
				}
				row.do(m)
				assert.NotContains(t, screen(m), "secret", "the password of Redis is not shown")
				clitest.Golden(t, fmt.Sprintf("%s-%d", row.name, width), screen(m))
			})
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Whatever the size, a frame fills it and stays within, with colours and without, and what Redis holds cannot write to
// the terminal.
func TestTopFramesStayWithinTheScreen(t *testing.T) {
	t.Parallel()
	for _, coloured := range []bool{false, true} {
		for _, width := range []int{1, 2, 5, 10, 20, 33, 40, 59, 80, 200} {
			for _, height := range []int{1, 2, 3, 5, 10, 24, 60} {
				m, _ := watched(width, height)
				m.console.Coloured = coloured
				for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"?"}, {"?"}, {"1", "p"}, {"n"}, {"/", "e"},
					{"esc"}} {
					press(m, keys...)
					m.Update(readMsg{at: noon, err: errors.New("lost \x1b[2J")})
					lines := m.frame()
					require.Len(t, lines, height, "%d x %d after %v", width, height, keys)
					for _, line := range lines {
						bare := escapes.ReplaceAllString(line, "")
						require.LessOrEqual(t, uniseg.StringWidth(bare), width, "%d x %d after %v: %q", width, height,
							keys, line)
						require.NotContains(t, bare, "\x1b")
						require.True(t, coloured || bare == line, "no colour was wanted: %q", line)
					}
				}
			}
		}
	}
}

func TestTopColoursWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	m, _ := watched(120, 24)
	m.console.Coloured = true
	press(m, "n", "home")
	painted := func(word string) string {
		for _, line := range m.frame() {
			if strings.Contains(line, word) {
				return line[:strings.Index(line, "m")+1]
			}
		}
		return ""
	}
	assert.Equal(t, string(console.Reversed), painted("clean_up"), "the chosen row")
	assert.Equal(t, string(console.Red), painted("overwritten"))
	assert.Equal(t, string(console.Yellow), painted("send_mail"))
	assert.Equal(t, string(console.Red), painted("wide_漢字_name"), "nobody serves it")
	press(m, "2")
	assert.Equal(t, string(console.Yellow), painted("web-2"))
	assert.Equal(t, string(console.Reversed), painted("batch-1"))
	press(m, "end")
	assert.Equal(t, string(console.Red), painted("batch-1"))
}

func TestTopTakesTheWholeScreenAndGivesItBack(t *testing.T) {
	t.Parallel()
	m, _ := watched(80, 24)
	view := m.View()
	assert.True(t, view.AltScreen)
	assert.Equal(t, "work top shop", view.WindowTitle)
	m.Update(tea.WindowSizeMsg{Width: 30, Height: 8})
	assert.Len(t, m.frame(), 8)
}
