package console

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// Progress shows how many things of one kind are done.
type Progress interface {
	Set(done int)
	Say(text string)
	Clear() // leaves the terminal's line empty
}

// NewProgress is a bar on a terminal, and a line now and then elsewhere.
func NewProgress(c *Console, kind string, total int) Progress {
	switch {
	case c.Quiet:
		return silence{}
	case c.ErrWidth > 0:
		return NewBar(c, kind, total)
	}
	return &lines{out: c.Err, command: c.Command, kind: kind, total: total, every: 2 * time.Second, last: time.Now()}
}

type silence struct{}

func (silence) Set(int)    {}
func (silence) Say(string) {}
func (silence) Clear()     {}

// Bar is drawn on one line, and fits it also where that is short.
type Bar struct {
	drawn   *progressbar.ProgressBar
	console *Console
}

// NewBar draws a bar on the terminal of c.Err; a total of 0 is one that SetTotal tells later.
func NewBar(c *Console, kind string, total int) Bar {
	const percent = 12 // columns of the number and the frame
	options := []progressbar.Option{
		progressbar.OptionSetWriter(c.Err),
		progressbar.OptionThrottle(50 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionUseANSICodes(os.Getenv("TERM") != "dumb"),
	}
	room := c.ErrWidth - percent
	if room >= 40 {
		count := 2*len(fmt.Sprint(total)) + len("(/) ")
		room -= len(kind) + count
		options = append(options, progressbar.OptionSetDescription(kind), progressbar.OptionShowCount())
	}
	return Bar{console: c, drawn: progressbar.NewOptions(total,
		append(options, progressbar.OptionSetWidth(max(room, 1)))...)}
}

// SetTotal says how many things there are, where that is known only once it is under way.
func (b Bar) SetTotal(total int) { b.drawn.ChangeMax(total) }

// Set says how many things are done.
func (b Bar) Set(done int) { _ = b.drawn.Set(done) }

// Clear leaves the line of the terminal empty.
func (b Bar) Clear() { _ = b.drawn.Clear() }

// Say prints above the bar, which is drawn again at the next change.
func (b Bar) Say(text string) {
	b.Clear()
	for _, line := range human.Wrap(b.console.Command+": "+text, b.console.ErrWidth) {
		fmt.Fprintln(b.console.Err, line)
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

func (l *lines) Set(done int) {
	if time.Since(l.last) < l.every {
		return
	}
	l.last = time.Now()
	fmt.Fprintf(l.out, "%s: %s, %s of %s\n", l.command, l.kind, human.Grouped(int64(done)),
		human.Grouped(int64(l.total)))
}

func (l *lines) Say(text string) { fmt.Fprintln(l.out, l.command+":", text) }

func (l *lines) Clear() {}

// newObjects writes objects, now and then.
func newObjects(out io.Writer, total int) *objects {
	return &objects{out: out, total: total, every: 2 * time.Second, last: time.Now()}
}

// objects are for programs.
type objects struct {
	out   io.Writer
	total int
	every time.Duration
	last  time.Time
}

// shownProgress is one of them.
type shownProgress struct {
	Progress struct {
		Done  int `json:"done"`
		Total int `json:"total"`
	} `json:"progress"`
}

// Set drops what cannot be written: so will be what comes after it, which tells.
func (o *objects) Set(done int) {
	if time.Since(o.last) < o.every {
		return
	}
	o.last = time.Now()
	var shown shownProgress
	shown.Progress.Done, shown.Progress.Total = done, o.total
	_ = NewEncoder(o.out).Encode(shown)
}

func (*objects) Say(string) {}

func (*objects) Clear() {}
