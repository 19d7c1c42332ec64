package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// statsFlags are those of stats alone.
type statsFlags struct {
	since cli.Span
	by    string
	nodes bool
}

func newStatsCommand(a *cli.App) *cobra.Command {
	f := statsFlags{since: cli.Span(time.Hour)}
	cmd := &cobra.Command{
		Use:   "stats [NAME]",
		Short: "Show what became of jobs lately, and how long they took",
		Long: `stats prints for each name of a job how many attempts ended how, how long handlers took and how long jobs
had waited, and draws how many were done when. Minutes are kept for a day, days (in UTC) for 90.
p50 and p99 are estimates, right within a factor of two: see docs/history.md.

Where there are several Redis servers they are shown below; --nodes shows them alone, in JSON too: role, state, how far
each replica is behind, memory, and which has the namespace. A redis:// DSN asks the primary only.

Exit status: 3 if nothing is known of the name.`,
		Example: `  work stats
  work stats export --since 30d
  work stats --nodes --redis redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster
  work stats export --since 6h --by minute --json | jq '.points[] | [.at, .done]'`,
		Args: cli.AtMost(1, "at most one name"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context,
				i *inspect.Inspector) error {
				if f.nodes {
					return showNodes(ctx, a, i, args)
				}
				return showStats(ctx, a, i, f, args)
			})
		}),
	}
	cmd.Flags().Var(&f.since, "since", "how far back, as 6h or 30d")
	cmd.Flags().StringVar(&f.by, "by", "", "minute or day; otherwise minutes where they are still kept")
	cmd.Flags().BoolVar(&f.nodes, "nodes", false, "the Redis servers alone")
	a.CompleteFlag(cmd, "by", func(*cobra.Command) []string { return []string{"minute", "day"} })
	a.CompleteArgs(cmd, a.QueueNames)
	return cmd
}

// nameStats is what became of the jobs of one name.
type nameStats struct {
	Name   string       `json:"name"`
	Since  time.Time    `json:"since"`
	By     string       `json:"by"`
	Done   int64        `json:"done"`
	Failed int64        `json:"failed"`
	Dead   int64        `json:"dead"`
	Timed  int64        `json:"timed_out"`        // of those that failed
	Run    *statsSpread `json:"run,omitempty"`    // nil where no handler was called
	Waited *statsSpread `json:"waited,omitempty"` // the same
	Points []statsPoint `json:"points"`
}

// statsSpread is how long something took.
type statsSpread struct {
	Mean human.Seconds `json:"mean"`
	P50  human.Seconds `json:"p50"`
	P99  human.Seconds `json:"p99"`
}

// statsPoint is a minute or a day.
type statsPoint struct {
	At     time.Time `json:"at"`
	Done   int64     `json:"done"`
	Failed int64     `json:"failed"`
	Dead   int64     `json:"dead"`
	Timed  int64     `json:"timed_out,omitzero"`
}

func showStats(ctx context.Context, a *cli.App, i *inspect.Inspector, f statsFlags, names []string) error {
	by, known := map[string]time.Duration{"": 0, "minute": time.Minute, "day": 24 * time.Hour}[f.by]
	if !known {
		return exit.Usagef("--by is %q: give minute or day", f.by)
	}
	server, err := i.Server(ctx)
	if err != nil {
		return err
	}
	history, err := i.History(ctx, inspect.HistoryOptions{Names: names, Since: server.Now.Add(-f.since.Duration()),
		By: by})
	if err != nil {
		return err
	}
	var all []nameStats
	for _, name := range slices.Sorted(maps.Keys(history)) {
		all = append(all, newNameStats(name, history[name]))
	}
	if len(names) == 1 && all[0].empty() {
		if _, err := i.Queue(ctx, names[0]); err != nil {
			return err // nothing ran lately, or there is no such name
		}
	}
	if len(all) == 0 {
		a.Console().Note("no jobs have run since %s", human.Stamp(server.Now.Add(-f.since.Duration())))
		return nil
	}
	nodes := severalNodes(ctx, i, names)
	return console.ShowAll(a.Console(), all, func(c *console.Console) []string {
		return append(statsLines(c, all), nodes(c)...)
	})
}

func newNameStats(name string, points []inspect.HistoryPoint) nameStats {
	s := nameStats{Name: name, Points: []statsPoint{}, By: "minute"}
	var run, waited inspect.Histogram
	for _, p := range points {
		s.Done, s.Failed, s.Dead = s.Done+p.Done, s.Failed+p.Failed, s.Dead+p.Dead
		s.Timed += p.TimedOut
		run.Merge(p.Run)
		waited.Merge(p.Waited)
		s.Points = append(s.Points, statsPoint{At: p.At, Done: p.Done, Failed: p.Failed, Dead: p.Dead,
			Timed: p.TimedOut})
	}
	if len(points) > 0 {
		s.Since = points[0].At
	}
	if len(points) > 1 && points[1].At.Sub(points[0].At) > time.Minute {
		s.By = "day"
	}
	s.Run, s.Waited = newStatsSpread(run), newStatsSpread(waited)
	return s
}

func newStatsSpread(h inspect.Histogram) *statsSpread {
	if h.Count() == 0 {
		return nil
	}
	return &statsSpread{Mean: human.Seconds(h.Mean()), P50: human.Seconds(h.Quantile(0.5)),
		P99: human.Seconds(h.Quantile(0.99))}
}

func (s nameStats) empty() bool { return s.Done+s.Failed == 0 }

// statsLines are the table, and a chart of all together.
func statsLines(c *console.Console, all []nameStats) []string {
	t := console.NewTable(console.Left("NAME"), console.Right("DONE"), console.Right("FAILED"), console.Right("DEAD"),
		console.Right("RUN P50"), console.Right("RUN P99"), console.Right("WAITED P50"), console.Right("WAITED P99"))
	done := make([]int64, len(all[0].Points))
	for _, s := range all {
		run, runLate := s.Run.texts()
		waited, waitedLate := s.Waited.texts()
		t.Add(human.Visible(s.Name), human.Grouped(s.Done), human.Grouped(s.Failed),
			human.Grouped(s.Dead), run,
			runLate, waited, waitedLate)
		for n, p := range s.Points {
			done[n] += p.Done
		}
	}
	return append(t.Render(c), doneChart(c, all[0], done)...)
}

// doneChart draws how many were done when. What is too much for the width is added up, so that a short peak is seen.
func doneChart(c *console.Console, of nameStats, done []int64) []string {
	width := c.PlotWidth()
	if width == 0 || len(done) == 0 || slices.Max(done) == 0 {
		return nil
	}
	each := (len(done) + width - 1) / width
	wide := max(1, width/len(done)) // columns of a value
	var sums []float64
	for part := range slices.Chunk(done, each) {
		sum := int64(0)
		for _, n := range part {
			sum += n
		}
		sums = append(sums, slices.Repeat([]float64{float64(sum)}, wide)...)
	}
	per := of.By
	if each > 1 {
		per = human.Counted(each, per)
	}
	return c.Plot(fmt.Sprintf("done per %s since %s UTC", per, human.Stamp(of.Since)), sums, 0)
}

func (s *statsSpread) texts() (half, most string) {
	if s == nil {
		return "-", "-"
	}
	return s.P50.String(), s.P99.String()
}
