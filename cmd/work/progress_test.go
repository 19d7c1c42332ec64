package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/assert"
)

var control = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

func TestBarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{20, 40, 79, 80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			var drawn bytes.Buffer
			shown := newProgress(&console{err: &drawn, errWidth: width}, "jobs", 12345)
			shown.set(0)
			shown.set(12344)
			shown.say("a process was killed, and this is what is said about it")
			shown.set(12345)
			shown.clear()
			assert.NotZero(t, drawn.Len())
			for _, line := range strings.FieldsFunc(control.ReplaceAllString(drawn.String(), ""),
				func(c rune) bool { return c == '\r' || c == '\n' }) {
				assert.LessOrEqual(t, uniseg.StringWidth(line), width, "%q", line)
			}
		})
	}
}

func TestWithoutATerminalProgressIsALineNowAndThen(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	shown := newProgress(&console{err: &said, command: "work demo"}, "jobs", 2000).(*lines)
	shown.set(1)
	assert.Empty(t, said.String(), "a short run needs none")
	shown.last = time.Now().Add(-shown.every)
	shown.set(1234)
	shown.set(1235)
	shown.say("news")
	shown.clear()
	assert.Equal(t, "work demo: jobs, 1,234 of 2,000\nwork demo: news\n", said.String())
}

func TestQuietIsSilent(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	shown := newProgress(&console{err: &said, errWidth: 80, quiet: true}, "jobs", 2)
	shown.set(1)
	shown.say("news")
	shown.clear()
	assert.Empty(t, said.String())
}
