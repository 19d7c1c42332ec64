package main

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// seconds is a duration as JSON shows it.
type seconds time.Duration

// MarshalJSON writes a number.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Round(time.Microsecond).Seconds(), 'f', -1, 64), nil
}

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

	Took          seconds `json:"seconds"`
	JobsPerSecond float64 `json:"jobs_per_second"`
	Waited        spread  `json:"waited_seconds"` // between the enqueue of a file's job and its first run
	Late          spread  `json:"late_seconds"`   // between when a scheduled job was due and its first run
	Kill          *kill   `json:"kill,omitempty"`
}

// spread is the middle and the slow end of durations.
type spread struct {
	P50 seconds `json:"p50"`
	P99 seconds `json:"p99"`
}

func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	at := func(percent int) seconds { return seconds(all[(len(all)-1)*percent/100]) }
	return spread{P50: at(50), P99: at(99)}
}

// summarize counts. Began is when the first job was about to be enqueued.
func (c *comparison) summarize(began time.Time) summary {
	s := summary{
		Files: len(c.list.files), Links: c.list.links, Others: c.list.others, OwnOutput: c.list.own,
		Closed: len(c.list.closed), Jobs: len(c.orders), Took: seconds(c.got.collected.Sub(began)),
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
		if first, ran := s.countRuns(o, c.book.of(o.id)); ran {
			after[o.name] = append(after[o.name], first.Sub(o.placed.Add(o.delay)))
		}
	}
	s.Waited, s.Late = spreadOf(after[jobMeasure]), spreadOf(after[jobScheduled])
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
