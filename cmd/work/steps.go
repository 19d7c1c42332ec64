package main

import (
	"io"
	"time"
)

// steps show how far something is whose size is known only once it is under way.
type steps struct {
	app   *app
	kind  string
	shown progress
}

func (a *app) steps(kind string) *steps { return &steps{app: a, kind: kind} }

func (s *steps) set(done, total int) {
	if s.shown == nil {
		s.shown = s.app.newProgress(s.kind, total)
	}
	s.shown.set(min(done, total))
}

func (s *steps) clear() {
	if s.shown != nil {
		s.shown.clear()
	}
}

// newProgress is a bar, lines, or for a program objects among the output.
func (a *app) newProgress(kind string, total int) progress {
	if a.json && !a.quiet {
		return &objects{out: a.out, total: total, every: 2 * time.Second, last: time.Now()}
	}
	return newProgress(newConsole(a), kind, total)
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

// set drops what cannot be written: so will be what comes after it, which tells.
func (o *objects) set(done int) {
	if time.Since(o.last) < o.every {
		return
	}
	o.last = time.Now()
	var shown shownProgress
	shown.Progress.Done, shown.Progress.Total = done, o.total
	_ = newEncoder(o.out).Encode(shown)
}

func (*objects) say(string) {}

func (*objects) clear() {}
