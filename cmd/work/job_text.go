package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// jobTable has a row for each job.
func jobTable(jobs []*work.JobInfo) *table {
	t := &table{columns: []column{{title: "ID"}, {title: "NAME"}, {title: "STATE"}, {title: "SINCE", right: true},
		{title: "DUE", right: true},
		{title: "FAILS", right: true}, {title: "WHAT", prose: true}}}
	for _, job := range jobs {
		since, due := jobTimes(job)
		t.rows = append(t.rows, []string{visible(job.ID), orDash(job.Name), string(job.State), since, due,
			grouped(int64(job.Fails)), jobWhat(job)})
	}
	return t
}

// jobTimes are for how long the job is in its state, or was enqueued, and in how much time it is due.
func jobTimes(job *work.JobInfo) (since, due string) {
	begin := job.EnqueuedAt
	for _, t := range []time.Time{job.BegunAt, job.Since, job.EndedAt} {
		if !t.IsZero() {
			begin = t
		}
	}
	due = "-"
	if job.State == work.StateScheduled || job.State == work.StateRetrying {
		due = "in " + brief(job.RunAt.Sub(job.AsOf))
	}
	return sinceText(begin, job.AsOf), due
}

// jobWhat is what matters most of a job.
func jobWhat(job *work.JobInfo) string {
	var parts []string
	add := func(is bool, text string) {
		if is {
			parts = append(parts, visible(text))
		}
	}
	add(job.Problem != "", job.Problem)
	add(job.Cancelling && !job.State.Ended(), "to be cancelled")
	add(job.Worker != "", "worker "+job.Worker)
	add(job.Checkin != nil, checkinText(job.Checkin))
	add(job.Reason != "", job.Reason)
	add(lastError(job) != "", lastError(job))
	if job.State == work.StateQueued {
		add(true, whyText(job.Why))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func lastError(job *work.JobInfo) string {
	if len(job.Errors) == 0 {
		return ""
	}
	return job.Errors[len(job.Errors)-1].Error
}

func checkinText(said *work.JobCheckin) string {
	if said == nil {
		return ""
	}
	return strings.TrimSpace(said.Message + " " + string(said.Progress))
}

func whyText(why []work.WaitReason) string {
	texts := make([]string, len(why))
	for i, reason := range why {
		texts[i] = reason.String()
	}
	return strings.Join(texts, ", ")
}

// jobLines are all that is known of a job.
func jobLines(c *console, job *work.JobInfo) []string {
	facts := []fact{
		{"id", visible(job.ID)}, {"name", visible(job.Name)}, {"state", jobState(job)},
		{"problem", visible(job.Problem)},
		{"args", visible(string(job.Args))}, {"meta", metaText(job.Meta)},
		{"tags", visible(strings.Join(job.Tags, ", "))},
		{"source", numberText(job.SourceID)}, {"options", optionText(job.Options)},
		{"enqueued", momentText(job.EnqueuedAt, job.AsOf)}, {"due", momentText(job.RunAt, job.AsOf)},
		{"begun", momentText(job.BegunAt, job.AsOf)}, {"ended", momentText(job.EndedAt, job.AsOf)},
		{"worker", visible(job.Worker)}, {"said", visible(checkinText(job.Checkin))},
		{"waits", whyText(job.Why)}, {"reason", visible(job.Reason)}, {"fails", numberText(int64(job.Fails))},
	}
	for _, failed := range job.Errors {
		facts = append(facts, fact{"error", errorText(failed)})
	}
	facts = append(facts, fact{"crashes", visible(strings.Join(job.Crashes, ", "))},
		fact{"result", visible(string(job.Result))},
		fact{"result", visible(job.ResultProblem)}, fact{"kept", keptText(job)})
	return factLines(c, facts)
}

func jobState(job *work.JobInfo) string {
	text := string(job.State)
	if !job.Since.IsZero() {
		text += " for " + brief(job.AsOf.Sub(job.Since))
	}
	if job.WorkerLost {
		text += ", its worker has no heartbeat"
	}
	if job.Cancelling && !job.State.Ended() {
		text += ", to be cancelled"
	}
	return text
}

func errorText(failed work.JobError) string {
	text := visible(failed.Error)
	if failed.Attempt > 0 {
		text = fmt.Sprintf("attempt %d, %s: %s", failed.Attempt, stamp(failed.At), text)
	}
	if failed.Stack != "" {
		text += " (a panic: --json has its stack)"
	}
	return text
}

// momentText is a moment, and how far away that is.
func momentText(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Sub(now).Abs() < time.Second: // the clock that it is by may be off by so much
		return stamp(t) + ", now"
	case t.After(now):
		return fmt.Sprintf("%s, in %s", stamp(t), brief(t.Sub(now)))
	}
	return fmt.Sprintf("%s, %s ago", stamp(t), brief(now.Sub(t)))
}

func metaText(meta map[string]string) string {
	var texts []string
	for key, value := range meta {
		texts = append(texts, visible(key+"="+value))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func numberText(n int64) string {
	if n == 0 {
		return ""
	}
	return grouped(n)
}

// optionText are the options that the job was given.
func optionText(options work.JobInfoOptions) string {
	encoded, err := json.Marshal(options)
	if err != nil || string(encoded) == "{}" {
		return ""
	}
	return visible(string(encoded))
}

func keptText(job *work.JobInfo) string {
	var kept []string
	if job.HasLog {
		kept = append(kept, "a log: work jobs log "+visible(job.ID))
	}
	if job.HasState {
		kept = append(kept, "a saved state")
	}
	return strings.Join(kept, ", ")
}
