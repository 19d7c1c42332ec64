// Package contest runs scenarios round after round with all libraries, one after the other within each round, so that
// whatever else the machine does in the meantime meets all of them.
package contest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/scenario"
)

// Contest says what is run.
type Contest struct {
	Stage     *scenario.Stage
	Libraries []peer.Library
	Scenarios []scenario.Scenario
	Size      scenario.Size
	Rounds    int
	Span      time.Duration // for how long jobs come that come at a rate; 0 is as long as is usual
	Progress  io.Writer     // a line per run; nil is none
}

// Row is one figure of one scenario, for every library that takes part in it.
type Row struct {
	Scenario string               `json:"scenario"`
	Metric   string               `json:"metric"`
	Unit     string               `json:"unit"`
	Lower    bool                 `json:"lower_is_better"`
	Samples  map[string][]float64 `json:"samples"` // by library, one per round
}

// Median of what a library reached; false if it did not take part.
func (r Row) Median(library string) (float64, bool) {
	samples := slices.Sorted(slices.Values(r.Samples[library]))
	if len(samples) == 0 {
		return 0, false
	}
	middle := len(samples) / 2
	if len(samples)%2 == 1 {
		return samples[middle], true
	}
	return (samples[middle-1] + samples[middle]) / 2, true
}

// Failure is a run that did not come to a result. The others went on.
type Failure struct {
	Scenario string `json:"scenario"`
	Library  string `json:"library"`
	Error    string `json:"error"`
}

// times is how long a run with a fitted number of jobs is to take at each size, and firstGuess how many jobs it has
// before that number is known. Much shorter ones would be unfair to libraries that settle outcomes at intervals.
var times = [3]time.Duration{0, 1200 * time.Millisecond, 4 * time.Second}

const firstGuess = 4000

// Run runs everything, until ctx ends.
func (c *Contest) Run(ctx context.Context) (rows []Row, failures []Failure) {
	for _, s := range c.Scenarios {
		var part []Row
		for _, f := range c.rounds(ctx, s, &part) {
			failures = append(failures, f)
			c.say("  FAILED: %s: %s\n", f.Library, f.Error)
		}
		rows = append(rows, part...)
		if ctx.Err() != nil {
			break
		}
	}
	return rows, failures
}

func (c *Contest) rounds(ctx context.Context, s scenario.Scenario, rows *[]Row) (failures []Failure) {
	rounds := c.Rounds
	if most := s.Rounds[c.Size]; most > 0 {
		rounds = min(rounds, most)
	}
	if !slices.ContainsFunc(c.Libraries, s.Takes) {
		return nil
	}
	c.say("%s\n", s.Name)
	jobs, out := map[string]int{}, map[string]bool{}
	for round := range rounds {
		for i := range c.Libraries {
			lib := c.Libraries[(round+i)%len(c.Libraries)] // nobody is always the first
			if out[lib.Name()] || !s.Takes(lib) {
				continue
			}
			if err := c.one(ctx, s, lib, jobs, rows); err != nil {
				failures = append(failures, Failure{Scenario: s.Name, Library: lib.Name(), Error: err.Error()})
				out[lib.Name()] = true
			}
			if ctx.Err() != nil {
				return failures
			}
		}
	}
	return failures
}

// one is one run of one library. The number of jobs is fitted to what the run before has shown. Two runs before the
// first one find out about how fast the library is and warm it up, and are not counted: one of few jobs is mostly
// beginning.
func (c *Contest) one(ctx context.Context, s scenario.Scenario, lib peer.Library, jobs map[string]int,
	rows *[]Row) error {
	run := &scenario.Run{Stage: c.Stage, Library: lib, Size: c.Size, Jobs: s.Jobs[c.Size], Span: c.Span}
	fitted := s.Fitted && c.Size != scenario.Tiny
	if fitted && jobs[lib.Name()] == 0 {
		jobs[lib.Name()] = min(firstGuess, run.Jobs)
		for range 2 {
			run.Jobs = jobs[lib.Name()]
			metrics, err := s.Run(ctx, run)
			if err != nil {
				return err
			}
			if jobs[lib.Name()] = c.fit(s, metrics); jobs[lib.Name()] <= 2*run.Jobs {
				break
			}
		}
	}
	if fitted {
		run.Jobs = jobs[lib.Name()]
	}
	begun := time.Now()
	metrics, err := s.Run(ctx, run)
	if err != nil {
		return err
	}
	if fitted {
		jobs[lib.Name()] = c.fit(s, metrics)
	}
	c.say("  %-6s %s %.4g%s (%d jobs, %.1f s)\n", lib.Name(), metrics[0].Name, metrics[0].Value, metrics[0].Unit,
		run.Jobs,
		time.Since(begun).Seconds())
	for _, m := range metrics {
		book(rows, s.Name, lib.Name(), m)
	}
	return nil
}

// fit is how many jobs the library does in the time of a run: the first metric is its rate.
func (c *Contest) fit(s scenario.Scenario, metrics []scenario.Metric) int {
	return max(1000, min(int(metrics[0].Value*times[c.Size].Seconds()), s.Jobs[c.Size]))
}

func book(rows *[]Row, name, library string, m scenario.Metric) {
	i := slices.IndexFunc(*rows, func(r Row) bool { return r.Metric == m.Name })
	if i < 0 {
		i = len(*rows)
		*rows = append(*rows, Row{Scenario: name, Metric: m.Name, Unit: m.Unit, Lower: m.Lower,
			Samples: map[string][]float64{}})
	}
	(*rows)[i].Samples[library] = append((*rows)[i].Samples[library], m.Value)
}

func (c *Contest) say(format string, args ...any) {
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, format, args...) //lint:ignore errcheck progress is for the eye
	}
}
