// Package console is how commands print for a person: colours, tables, summaries, charts and progress, each no wider
// than the terminal, and plain where there is none. It knows nothing of Redis; what it prints was made by others.
package console

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// Console is how a command prints for a person: it knows what the streams are.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Width    int    // columns of the terminal that out is; 0 where it is none, then nothing is shortened
	ErrWidth int    // the same of err
	Coloured bool   // out is a terminal that may be given colours
	Quiet    bool   // print nothing but what is wrong
	JSON     bool   // print for a program
	Command  string // that prints, as "work demo"
}

// New finds out what the streams are. Columns tells the width of a terminal, 0 of what is none; nil asks the
// system.
func New(out, err io.Writer, columns func(io.Writer) int, noColour bool) *Console {
	if columns == nil {
		columns = terminalWidth
	}
	c := &Console{Out: out, Err: err, Width: columns(out), ErrWidth: columns(err)}
	c.Coloured = c.Width > 0 && !noColour && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return c
}

// terminalWidth is the width of the terminal that w is, 0 if it is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// Style is how a piece of text stands out, as a terminal wants to be told.
type Style string

// The styles of all commands.
const (
	Plain    Style = ""
	Bold     Style = "\x1b[1m"
	Faint    Style = "\x1b[2m"
	Red      Style = "\x1b[31m"
	Green    Style = "\x1b[32m"
	Yellow   Style = "\x1b[33m"
	Reversed Style = "\x1b[7m"
)

// Paint gives text a style where the terminal may be given colours.
func (c *Console) Paint(s Style, text string) string {
	if !c.Coloured || text == "" {
		return text
	}
	return string(s) + text + "\x1b[0m"
}

// Wrap breaks text where the terminal ends.
func (c *Console) Wrap(s Style, text string) []string {
	lines := human.Wrap(text, c.Width)
	for i := range lines {
		lines[i] = c.Paint(s, lines[i])
	}
	return lines
}

// Indent folds a text for the terminal, two columns in.
func (c *Console) Indent(text string) []string {
	width := 0
	if c.Width > 0 {
		width = max(c.Width-2, 1)
	}
	lines := human.Wrap(text, width)
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return lines
}
