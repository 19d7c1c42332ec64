package console

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
			shown := NewProgress(&Console{Err: &drawn, ErrWidth: width}, "jobs", 12345)
			shown.Set(0)
			shown.Set(12344)
			shown.Say("a process was killed, and this is what is said about it")
			shown.Set(12345)
			shown.Clear()
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
	shown := NewProgress(&Console{Err: &said, Command: "work demo"}, "jobs", 2000).(*lines)
	shown.Set(1)
	assert.Empty(t, said.String(), "a short run needs none")
	shown.last = time.Now().Add(-shown.every)
	shown.Set(1234)
	shown.Set(1235)
	shown.Say("news")
	shown.Clear()
	assert.Equal(t, "work demo: jobs, 1,234 of 2,000\nwork demo: news\n", said.String())
}

func TestQuietIsSilent(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	shown := NewProgress(&Console{Err: &said, ErrWidth: 80, Quiet: true}, "jobs", 2)
	shown.Set(1)
	shown.Say("news")
	shown.Clear()
	assert.Empty(t, said.String())
}

// For a program progress is an object on a line, now and then.
func TestProgressForPrograms(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := &objects{out: &out, total: 7, every: time.Hour, last: time.Now()}
	o.Set(1)
	assert.Empty(t, out.String(), "it has just begun")
	o.last = time.Time{}
	o.Set(2)
	o.Set(3)
	assert.Equal(t, `{"progress":{"done":2,"total":7}}`+"\n", out.String())
}
