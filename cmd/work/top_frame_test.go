package main

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
)

// The frames of all views at three widths are what is in testdata: look at them there.
func TestTopFrames(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 60, 120} {
		for _, row := range []struct {
			name string
			do   func(*topModel)
		}{
			{"queues", func(*topModel) {}},
			{"workers", func(m *topModel) { press(m, "2") }},
			{"errors", func(m *topModel) { press(m, "3") }},
			{"help", func(m *topModel) { press(m, "?") }},
			{"question", func(m *topModel) { press(m, "p") }},
			{"filter", func(m *topModel) { press(m, "/", "e", "x", "p") }},
			{"lost", func(m *topModel) {
				m.Update(topTick{at: topNoon.Add(time.Second)})
				m.Update(topRead{at: topNoon.Add(83 * time.Second), err: errNoRedis})
			}},
		} {
			t.Run(fmt.Sprintf("%s %d", row.name, width), func(t *testing.T) {
				t.Parallel()
				m, _ := watched(width, 24)
				for _, done := range []float64{0, 120, 410, 800, 812.44} { // some readings, for the sparkline
					f := topSample()
					f.Rates.Done = done
					m.Update(topRead{figures: f, at: topNoon})
				}
				row.do(m)
				assert.NotContains(t, screen(m), "secret", "the password of Redis is not shown")
				golden(t, fmt.Sprintf("top-%s-%d", row.name, width), screen(m))
			})
		}
	}
}

var topEscapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Whatever the size, a frame fills it and stays within, with colours and without, and what Redis holds cannot write to
// the terminal.
func TestTopFramesStayWithinTheScreen(t *testing.T) {
	t.Parallel()
	for _, coloured := range []bool{false, true} {
		for _, width := range []int{1, 2, 5, 10, 20, 33, 40, 59, 80, 200} {
			for _, height := range []int{1, 2, 3, 5, 10, 24, 60} {
				m, _ := watched(width, height)
				m.console.coloured = coloured
				for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"?"}, {"?"}, {"1", "p"}, {"n"}, {"/", "e"},
					{"esc"}} {
					press(m, keys...)
					m.Update(topRead{at: topNoon, err: errors.New("lost \x1b[2J")})
					lines := m.frame()
					require.Len(t, lines, height, "%d x %d after %v", width, height, keys)
					for _, line := range lines {
						bare := topEscapes.ReplaceAllString(line, "")
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
	m.console.coloured = true
	press(m, "n", "home")
	painted := func(word string) string {
		for _, line := range m.frame() {
			if strings.Contains(line, word) {
				return line[:strings.Index(line, "m")+1]
			}
		}
		return ""
	}
	assert.Equal(t, string(reversed), painted("clean_up"), "the chosen row")
	assert.Equal(t, string(red), painted("overwritten"))
	assert.Equal(t, string(yellow), painted("send_mail"))
	assert.Equal(t, string(red), painted("wide_漢字_name"), "nobody serves it")
	press(m, "2")
	assert.Equal(t, string(yellow), painted("web-2"))
	assert.Equal(t, string(reversed), painted("batch-1"))
	press(m, "end")
	assert.Equal(t, string(red), painted("batch-1"))
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
