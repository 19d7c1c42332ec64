package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// jobTable has a row for each job.
func jobTable(jobs []*inspect.JobInfo) *console.Table {
	t := console.NewTable(console.ID("ID"), console.Left("NAME"), console.Left("STATE"), console.Right("SINCE"),
		console.Right("DUE"), console.Right("FAILS"), console.Prose("WHAT"))
	for _, job := range jobs {
		since, due := jobTimes(job)
		t.Add(human.Visible(job.ID), human.OrDash(job.Name), string(job.State), since, due,
			human.Grouped(int64(job.Fails)), jobWhat(job))
	}
	return t
}

// jobTimes are for how long the job is in its state, or was enqueued, and in how much time it is due.
func jobTimes(job *inspect.JobInfo) (since, due string) {
	begin := job.EnqueuedAt
	for _, t := range []time.Time{job.BegunAt, job.Since, job.EndedAt} {
		if !t.IsZero() {
			begin = t
		}
	}
	due = "-"
	if job.State == work.StateScheduled || job.State == work.StateRetrying {
		due = "in " + human.Duration(job.RunAt.Sub(job.AsOf))
	}
	return human.Since(begin, job.AsOf), due
}

// jobWhat is what matters most of a job.
func jobWhat(job *inspect.JobInfo) string {
	var parts []string
	add := func(is bool, text string) {
		if is {
			parts = append(parts, human.Visible(text))
		}
	}
	add(job.Problem != "", job.Problem)
	add(job.Former, "an earlier job of this id")
	add(job.Cancelling && !job.State.Ended(), "to be cancelled")
	add(job.Worker != "", "worker "+job.Worker)
	add(job.Checkin != nil, checkinText(job.Checkin))
	add(job.Reason != "", job.Reason)
	add(job.Failure != "", string(job.Failure))
	add(!strings.Contains(job.Reason, lastError(job)), lastError(job)) // often the reason is the last error
	if job.State == work.StateQueued {
		add(true, whyText(job.Why))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func lastError(job *inspect.JobInfo) string {
	if len(job.Errors) == 0 {
		return ""
	}
	return job.Errors[len(job.Errors)-1].Error
}

func checkinText(said *inspect.JobCheckin) string {
	if said == nil {
		return ""
	}
	return strings.TrimSpace(said.Message + " " + string(said.Progress))
}

func whyText(why []inspect.WaitReason) string {
	texts := make([]string, len(why))
	for i, reason := range why {
		texts[i] = reason.String()
	}
	return strings.Join(texts, ", ")
}

// jobLines are all that is known of a job.
func jobLines(c *console.Console, job *inspect.JobInfo) []string {
	facts := []console.SummaryLine{
		{"id", human.Visible(job.ID)}, {"name", human.Visible(job.Name)}, {"state", jobState(job)},
		{"problem", human.Visible(job.Problem)},
		{"args", argsText(job)}, {"meta", metaText(job.Meta)},
		{"tags", human.Visible(strings.Join(job.Tags, ", "))},
		{"source", numberText(job.SourceID)}, {"parent", human.Visible(job.Parent)},
		{"again of", human.Visible(job.AgainOf)}, {"again as", human.Visible(job.AgainAs)},
		{"options", optionText(job.Options)},
		{"enqueued", human.When(job.EnqueuedAt, job.AsOf)}, {"due", human.When(job.RunAt, job.AsOf)},
		{"first try", human.When(firstBegun(job), job.AsOf)}, {"begun", human.When(job.BegunAt, job.AsOf)},
		{"ended", human.When(job.EndedAt, job.AsOf)},
		{"worker", human.Visible(job.Worker)}, {"said", human.Visible(checkinText(job.Checkin))},
		{"waits", whyText(job.Why)}, {"reason", human.Visible(job.Reason)},
		{"failure", string(job.Failure)}, {"fails", numberText(int64(job.Fails))},
	}
	for _, failed := range job.Errors {
		facts = append(facts, console.SummaryLine{"error", errorText(failed)})
	}
	facts = append(facts, console.SummaryLine{"crashes", human.Visible(strings.Join(job.Crashes, ", "))},
		console.SummaryLine{"result", valueText(job.Result)},
		console.SummaryLine{"result", human.Visible(job.ResultProblem)}, console.SummaryLine{"kept", keptText(job)})
	return append(c.Summary(facts), attemptLines(c, job)...)
}

// firstBegun is when its first attempt began, where that is not the one under way.
func firstBegun(job *inspect.JobInfo) time.Time {
	if job.FirstBegunAt.Equal(job.BegunAt) {
		return time.Time{}
	}
	return job.FirstBegunAt
}

// argsText are the args, or why those of a job that has ended are not kept.
func argsText(job *inspect.JobInfo) string {
	if job.NoArgs != "" {
		return "not kept: " + human.Visible(job.NoArgs)
	}
	return valueText(job.Args)
}

// valueText is a value, or how it is stored where codecs have stored it.
func valueText(value json.RawMessage) string {
	if text, encoded := inspect.Encoded(value); encoded {
		return human.Visible(text)
	}
	return human.Visible(string(value))
}

func jobState(job *inspect.JobInfo) string {
	text := string(job.State)
	if !job.Since.IsZero() {
		text += " for " + human.Duration(job.AsOf.Sub(job.Since))
	}
	if job.WorkerLost {
		text += ", its worker has no heartbeat"
	}
	if job.Former {
		text += ", an earlier job of this id"
	}
	if job.Cancelling && !job.State.Ended() {
		text += ", to be cancelled"
	}
	return text
}

func errorText(failed inspect.JobError) string {
	text := human.Visible(failed.Error)
	if failed.Attempt > 0 {
		text = fmt.Sprintf("attempt %d, %s: %s", failed.Attempt, human.Stamp(failed.At), text)
	}
	if failed.Stack != "" {
		text += " (a panic: --json has its stack)"
	}
	return text
}

func metaText(meta map[string]string) string {
	var texts []string
	for key, value := range meta {
		texts = append(texts, human.Visible(key+"="+value))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func numberText(n int64) string {
	if n == 0 {
		return ""
	}
	return human.Grouped(n)
}

// optionText are the options that the job was given.
func optionText(options inspect.JobInfoOptions) string {
	encoded, err := json.Marshal(options)
	if err != nil || string(encoded) == "{}" {
		return ""
	}
	return human.Visible(string(encoded))
}

func keptText(job *inspect.JobInfo) string {
	var kept []string
	if job.HasLog {
		kept = append(kept, "a log: work jobs log "+human.Visible(job.ID))
	}
	if job.HasState {
		kept = append(kept, "a saved state")
	}
	return strings.Join(kept, ", ")
}
