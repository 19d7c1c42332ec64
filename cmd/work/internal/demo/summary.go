package demo

import (
	"math"
	"time"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// summary counts what happened during a demo.
type summary struct {
	Files     int   `json:"files"`
	Bytes     int64 `json:"bytes"`
	Lines     int64 `json:"lines"`
	Words     int64 `json:"words"`
	NotRead   int   `json:"files_not_read"`
	Links     int   `json:"links_not_followed"`
	Others    int   `json:"not_regular_files"`
	OwnOutput int   `json:"own_output_files"`
	Closed    int   `json:"unreadable_directories"`

	Jobs      int `json:"jobs"`
	Flaky     int `json:"flaky_jobs"`
	Scheduled int `json:"scheduled_jobs"`
	Runs      int `json:"runs"`
	Retries   int `json:"retries"`

	Took          human.Seconds `json:"seconds"`
	JobsPerSecond float64       `json:"jobs_per_second"`
	Waited        human.Spread  `json:"waited_seconds"` // between the enqueue of a file's job and its first run
	Late          human.Spread  `json:"late_seconds"`   // between when a scheduled job was due and its first run
	Kill          *kill         `json:"kill,omitempty"`
}

// summarize counts. Began is when the first job was about to be enqueued.
func (c *comparison) summarize(began time.Time) summary {
	s := summary{
		Files: len(c.list.Files), Links: c.list.Links, Others: c.list.Others, OwnOutput: c.list.Own,
		Closed: len(c.list.Closed), Jobs: len(c.orders), Took: human.Seconds(c.got.collected.Sub(began)),
	}
	s.JobsPerSecond = math.Round(float64(s.Jobs) / time.Duration(max(s.Took, 1)).Seconds())
	for _, m := range c.got.measured {
		s.Bytes, s.Lines, s.Words = s.Bytes+m.Size, s.Lines+m.Lines, s.Words+m.Words
		if m.Problem != "" {
			s.NotRead++
		}
	}
	after := map[string][]time.Duration{}
	for _, o := range c.orders {
		if first, ran := s.countRuns(o, c.log.of(o.id)); ran {
			after[o.name] = append(after[o.name], first.Sub(o.placed.Add(o.delay)))
		}
	}
	s.Waited, s.Late = human.SpreadOf(after[jobMeasure]), human.SpreadOf(after[jobScheduled])
	return s
}

// countRuns adds one job and returns when it first ran.
func (s *summary) countRuns(o order, runs []run) (first time.Time, ran bool) {
	switch o.name {
	case jobScheduled:
		s.Scheduled++
	case jobFlaky:
		s.Flaky++
	}
	s.Runs += len(runs)
	for _, r := range runs {
		if r.err != "" {
			s.Retries++
		}
	}
	if len(runs) == 0 {
		return time.Time{}, false
	}
	return runs[0].begun, true
}
