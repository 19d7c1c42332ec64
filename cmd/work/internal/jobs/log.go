package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// logFlags are those of jobs log.
type logFlags struct {
	follow bool
	lines  int
}

func newJobsLogCommand(a *cli.App) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Print what a job has written to its log",
		Example: `  work jobs log export-1 --lines 20
  work jobs log export-1 --follow`,
		Args: cli.Exactly(1, "the id of one job"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				return printLog(ctx, a, i, f, args[0])
			})
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what it writes, until it has ended")
	flags.IntVar(&f.lines, "lines", 0, "the newest `lines` only; 0 is all that are kept")
	return cmd
}

func printLog(ctx context.Context, a *cli.App, i *inspect.Inspector, f logFlags, id string) error {
	switch {
	case f.lines < 0:
		return exit.Usagef("--lines is %d: give 1 or more, or 0 for all", f.lines)
	case f.lines > 0 && f.follow:
		return exit.Usagef("--lines and --follow exclude each other: a log that is followed begins with its oldest " +
			"line")
	case f.follow:
		return followLog(ctx, a, i, id)
	}
	log, err := i.Log(ctx, id, f.lines)
	if err != nil {
		return err
	}
	if len(log) == 0 {
		a.Console().Note("this job has written nothing")
		return nil
	}
	lines := make([]loggedLine, len(log))
	for n, line := range log {
		lines[n] = newLoggedLine(line)
	}
	return console.ShowAll(a.Console(), lines, func(*console.Console) []string {
		var texts []string
		for _, line := range lines {
			texts = append(texts, line.String())
		}
		return texts
	})
}

// followLog prints each line as it comes.
func followLog(ctx context.Context, a *cli.App, i *inspect.Inspector, id string) error {
	for line, err := range i.FollowLog(ctx, id) {
		if err != nil {
			return err
		}
		shown := newLoggedLine(line)
		if err := a.Console().Show(shown,
			func(*console.Console) []string { return []string{shown.String()} }); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// loggedLine is a line of a job's log as it is printed.
type loggedLine struct {
	Number  int64           `json:"number"`
	Time    time.Time       `json:"time"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"message"`
	Attempt int             `json:"attempt,omitzero"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
}

func newLoggedLine(line inspect.LogLine) loggedLine {
	return loggedLine{Number: line.Number, Time: line.Time, Level: line.Level, Message: line.Message,
		Attempt: line.Attempt, Attrs: line.Attrs}
}

// String is the line for a person.
func (l loggedLine) String() string {
	text := l.Time.UTC().Format("2006-01-02 15:04:05.000") + "  " + l.Level.String() + "  " + human.Visible(l.Message)
	if len(l.Attrs) > 0 {
		text += "  " + human.Visible(string(l.Attrs))
	}
	return text
}
