package main

import (
	"context"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/265d0351/work"
)

// topFlags are those of top alone.
type topFlags struct {
	interval time.Duration
	once     bool
}

// How often the figures may be read.
const (
	topInterval     = time.Second // workers tell what they have done once a second, so more often shows little more
	topMostOften    = 100 * time.Millisecond
	topLeastOften   = time.Hour
	topReadPatience = 5 * time.Second // for one reading
)

func newTopCommand(a *app) *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch queues, workers and errors live",
		Long: `top shows what is queued, running and failing, who works on it and how fast, and reads it anew
every second. ? lists the keys. It pauses and resumes queues, after a question, and changes nothing else.

With --once, or where there is no terminal, it prints all of it once. When Redis is lost it keeps the
last figures, says since when, and goes on as soon as Redis is back.`,
		Example: `  work top --redis redis://localhost:6379/0 --namespace shop
  work top --interval 5s
  work top --once --json | jq '.queues[] | select(.waiting > 1000).name'`,
		Args: atMost(0, "no argument"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.top(ctx, f) }),
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.interval, "interval", topInterval, "time between two readings, a `duration` of 100ms to 1h")
	flags.BoolVar(&f.once, "once", false, "print the figures once and end")
	return cmd
}

// top runs the command.
func (a *app) top(ctx context.Context, f topFlags) error {
	if f.interval < topMostOften || f.interval > topLeastOften {
		return usagef("--interval is %s: give 100ms to 1h", f.interval)
	}
	return a.inspect(ctx, func(ctx context.Context, inspector *work.Inspector) error {
		reader := &topReader{inspector: inspector}
		figures, err := reader.read(ctx, true) // before the screen is taken: a wrong address is an error like any other
		if err != nil {
			return err
		}
		m := newTopModel(a, f, figures)
		if f.once || !a.topCanLive() {
			return a.show(m.figures, m.printed)
		}
		return a.watchTop(ctx, m, reader)
	})
}

// topCanLive tells whether there is a terminal to draw on and to read keys from.
func (a *app) topCanLive() bool {
	in, isFile := a.in.(*os.File)
	return isFile && term.IsTerminal(int(in.Fd())) && columns(a.out) > 0 && !a.json && os.Getenv("TERM") != "dumb"
}

// topPlace is where a DSN leads, without the password.
func topPlace(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return ""
	}
	return u.Host + u.Path
}
