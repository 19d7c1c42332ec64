// Package top is `work top`: it shows what is queued, running and failing, reads it anew every second, and pauses and
// resumes queues.
//
// Watch is what the command calls. A reader takes the figures from Redis (reader.go, pulse.go), a model keeps what is
// on the screen and changes with each message (model.go, keys.go), and the frame is drawn of it (frame.go, sheet.go,
// kinds.go, totals.go). Only the clerk (live.go) talks to Redis while the screen is up.
package top

import (
	"context"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
)

// Options say what is watched, and where.
type Options struct {
	Console   *console.Console
	Namespace string
	Redis     string // DSN, of which the place is shown
	Interval  time.Duration
	Once      bool // print the figures once
}

// How often the figures may be read.
const (
	DefaultInterval = time.Second // workers tell what they have done once a second, so more often shows little more
	mostOften       = 100 * time.Millisecond
	leastOften      = time.Hour
	readTimeout     = 5 * time.Second // for one reading
)

// Validate refuses an interval that is no pace for a reader, by the name of the flag.
func (o Options) Validate() error {
	if o.Interval < mostOften || o.Interval > leastOften {
		return exit.Usagef("--interval is %s: give 100ms to 1h", o.Interval)
	}
	return nil
}

// Watch shows the figures live, or prints them once where that was asked for or there is no terminal.
func Watch(ctx context.Context, inspector *inspect.Inspector, o Options) error {
	reader := &reader{inspector: inspector}
	figures, err := reader.read(ctx, true) // before the screen is taken: a wrong address is an error like any other
	if err != nil {
		return err
	}
	m := newModel(o, figures)
	if o.Once || !canLive(o.Console) {
		return o.Console.Show(m.figures, m.printed)
	}
	return runLive(ctx, o.Console, m, reader)
}

// canLive tells whether there is a terminal to draw on and to read keys from.
func canLive(c *console.Console) bool {
	in, isFile := c.In.(*os.File)
	return isFile && term.IsTerminal(int(in.Fd())) && c.Width > 0 && !c.JSON && os.Getenv("TERM") != "dumb"
}
