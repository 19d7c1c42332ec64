package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how many things of one kind are done.
type progress interface {
	set(done int)
	say(text string)
	clear() // leaves the terminal's line empty
}

// newProgress is a bar on a terminal, and a line now and then elsewhere.
func newProgress(c *console, kind string, total int) progress {
	switch {
	case c.quiet:
		return silence{}
	case c.errWidth > 0:
		return newBar(c, kind, total)
	}
	return &lines{out: c.err, command: c.command, kind: kind, total: total, every: 2 * time.Second, last: time.Now()}
}

type silence struct{}

func (silence) set(int)    {}
func (silence) say(string) {}
func (silence) clear()     {}

// bar is drawn on one line, and fits it also where that is short.
type bar struct {
	drawn   *progressbar.ProgressBar
	console *console
}

func newBar(c *console, kind string, total int) bar {
	const percent = 12 // columns of the number and the frame
	options := []progressbar.Option{
		progressbar.OptionSetWriter(c.err),
		progressbar.OptionThrottle(50 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionUseANSICodes(os.Getenv("TERM") != "dumb"),
	}
	room := c.errWidth - percent
	if room >= 40 {
		count := 2*len(fmt.Sprint(total)) + len("(/) ")
		room -= len(kind) + count
		options = append(options, progressbar.OptionSetDescription(kind), progressbar.OptionShowCount())
	}
	return bar{console: c, drawn: progressbar.NewOptions(total,
		append(options, progressbar.OptionSetWidth(max(room, 1)))...)}
}

func (b bar) set(done int) { _ = b.drawn.Set(done) }
func (b bar) clear()       { _ = b.drawn.Clear() }

// say prints above the bar, which is drawn again at the next change.
func (b bar) say(text string) {
	b.clear()
	for _, line := range fold(b.console.command+": "+text, b.console.errWidth) {
		fmt.Fprintln(b.console.err, line)
	}
	_ = b.drawn.RenderBlank()
}

// lines is for logs.
type lines struct {
	out     io.Writer
	command string
	kind    string
	total   int
	every   time.Duration
	last    time.Time
}

func (l *lines) set(done int) {
	if time.Since(l.last) < l.every {
		return
	}
	l.last = time.Now()
	fmt.Fprintf(l.out, "%s: %s, %s of %s\n", l.command, l.kind, grouped(int64(done)), grouped(int64(l.total)))
}

func (l *lines) say(text string) { fmt.Fprintln(l.out, l.command+":", text) }

func (l *lines) clear() {}
