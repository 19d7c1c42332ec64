package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// console is how a command prints for a person: it knows what the streams are.
type console struct {
	out, err io.Writer
	width    int  // columns of the terminal that out is; 0 where it is none, then nothing is shortened
	errWidth int  // the same of err
	coloured bool // out is a terminal that may be given colours
	quiet    bool
	command  string // that prints, "work demo"
}

func newConsole(a *app) *console {
	c := &console{out: a.out, err: a.err, quiet: a.quiet, command: a.path}
	ask := columns
	if a.columns != nil {
		ask = a.columns
	}
	c.width, c.errWidth = ask(a.out), ask(a.err)
	c.coloured = c.width > 0 && !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return c
}

// columns is the width of the terminal that w is, 0 if it is none.
func columns(w io.Writer) int {
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

// style is how a piece of text stands out, as a terminal wants to be told.
type style string

const (
	bold  style = "\x1b[1m"
	faint style = "\x1b[2m"
	red   style = "\x1b[31m"
	green style = "\x1b[32m"
)

func (c *console) paint(s style, text string) string {
	if !c.coloured || text == "" {
		return text
	}
	return string(s) + text + "\x1b[0m"
}
