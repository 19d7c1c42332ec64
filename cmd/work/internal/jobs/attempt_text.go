package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// endedTable has a row for each job that has ended, with its last attempt.
func endedTable(jobs []*inspect.JobInfo) *console.Table {
	t := console.NewTable(console.ID("ID"), console.Left("NAME"), console.Left("STATE"), console.Left("ENDED"),
		console.Right("ATTEMPTS"), console.Right("RAN"), console.ID("WORKER"), console.Prose("WHAT"))
	for _, job := range jobs {
		last := inspect.Attempt{}
		if n := len(job.Attempts); n > 0 {
			last = job.Attempts[n-1]
		}
		t.Add(human.Visible(job.ID), human.OrDash(job.Name), string(job.State), human.Stamp(job.EndedAt),
			human.Number(len(job.Attempts)+job.AttemptsLeftOut), between(last.Begun, last.Ended),
			human.OrDash(describe.ShortWorker(last.Worker)), endedWhat(job, last))
	}
	return t
}

// endedWhat is what matters most of a job that has ended. One that succeeded in the end is not told as a failure.
func endedWhat(job *inspect.JobInfo, last inspect.Attempt) string {
	parts := []string{job.Problem, checkinText(job.Checkin), job.Reason}
	if job.Former {
		parts = append(parts, "an earlier job of this id")
	}
	if !strings.Contains(job.Reason, last.Error) {
		parts = append(parts, last.Error)
	}
	return human.Visible(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; "))
}

// attemptLines are a table of the attempts of a job, below a line that says what of them is not known.
func attemptLines(c *console.Console, job *inspect.JobInfo) []string {
	if len(job.Attempts) == 0 {
		return nil
	}
	title := human.Counted(len(job.Attempts), "attempt")
	if n := job.AttemptsLeftOut; n > 0 {
		title += fmt.Sprintf(", %s more left out", human.Number(n))
	}
	t := console.NewTable(console.Right("NO"), console.Left("DUE"), console.Right("WAITED"), console.Left("BEGUN"),
		console.Right("RAN"), console.ID("WORKER"), console.Left("OUTCOME"), console.Prose("ERROR"))
	for _, a := range job.Attempts {
		t.Add(cmp.Or(numberText(int64(a.Number)), "-"), human.Stamp(a.Due), between(a.Due, a.Begun),
			human.Stamp(a.Begun), attemptRan(job, a), human.OrDash(describe.ShortWorker(a.Worker)),
			human.OrDash(a.Outcome), human.Visible(a.Error))
	}
	return append([]string{"", c.Paint(console.Faint, title)}, t.Render(c)...)
}

// attemptRan is how long an attempt took; with a + of one that goes on.
func attemptRan(job *inspect.JobInfo, a inspect.Attempt) string {
	if a.Outcome == inspect.AttemptRunning {
		return between(a.Begun, job.AsOf) + "+"
	}
	return between(a.Begun, a.Ended)
}

// between is a span of time, "-" where one of its ends is not known.
func between(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return "-"
	}
	return human.Duration(to.Sub(from))
}
