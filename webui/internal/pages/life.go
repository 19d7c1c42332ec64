package pages

import (
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
)

// life puts what is known of a job one behind the other. Clocks and estimates may be off by some milliseconds: what
// would begin before the end of what was before begins there.
type life struct {
	spans []lifeSpan
	at    time.Time // the end of the last one; zero before the first
	begin string    // what happened at the beginning
}

func lifeOf(job *inspect.JobInfo) *life {
	l := &life{at: job.EnqueuedAt, begin: "enqueued"}
	if l.at.IsZero() && len(job.Attempts) > 0 {
		l.begin, l.at = "first known", firstBegun(job.Attempts)
	}
	if l.at.IsZero() {
		return l
	}
	if first := firstBegun(job.Attempts); job.AttemptsLeftOut > 0 && !first.IsZero() {
		l.wait(first, "unknown", "attempts that are left out")
	}
	for _, a := range job.Attempts {
		l.attempt(job, a)
	}
	l.rest(job)
	return l
}

// attempt adds one, with the wait before it.
func (l *life) attempt(job *inspect.JobInfo, a inspect.Attempt) {
	begun, ended := a.Begun, a.Ended
	if a.Outcome == inspect.AttemptRunning {
		ended = job.AsOf
	}
	if begun.IsZero() {
		begun = ended // when it began is not known
	}
	if begun.IsZero() {
		return
	}
	l.untilDue(a.Due, begun)
	l.wait(begun, "queue", "ready, waits for a worker")
	look := outcomeLooks[a.Outcome]
	text := fmt.Sprintf("%s, %s to %s, on %s", a.Outcome, stampOf(a.Begun), stampOf(a.Ended), a.Worker)
	if a.Number > 0 {
		text = fmt.Sprintf("attempt %d %s", a.Number, text)
	}
	if ran := spanBetween(a.Begun, ended); ran != "" {
		text += ", " + ran
	}
	if a.Error != "" {
		text += ": " + format.Shorten(a.Error, 200)
	}
	l.add(ended, lifeSpan{Kind: "run", Class: look.Class, name: a.Outcome, sign: look.Sign, Text: text})
}

// untilDue adds the time in which a job was not to run, up to limit.
func (l *life) untilDue(due, limit time.Time) {
	if due.After(limit) {
		due = limit
	}
	l.wait(due, "delay", "waits until it is due")
}

// rest adds what was after the last attempt, or will be.
func (l *life) rest(job *inspect.JobInfo) {
	switch {
	case endedWithLast(job): // what follows is the time that it took to store that
	case job.State.Ended() && len(job.Attempts) > 0:
		l.wait(job.EndedAt, "delay", "waits for its next attempt")
	case job.State.Ended():
		l.untilDue(job.RunAt, job.EndedAt)
		l.wait(job.EndedAt, "queue", "ready, waits for a worker")
	case job.State == work.StateScheduled || job.State == work.StateRetrying:
		l.untilDue(job.RunAt, job.AsOf)
		l.wait(job.AsOf, "queue", "ready, waits for a worker")
		l.wait(job.RunAt, "ahead", "still to wait")
	case job.State == work.StateQueued:
		l.untilDue(job.RunAt, job.AsOf)
		l.wait(job.AsOf, "queue", "ready, waits for a worker")
	case job.State == work.StateStalled:
		l.wait(job.Since, "queue", "ready, waits for a worker")
		l.wait(job.AsOf, "aside", "put aside")
	case job.State == work.StateDead:
		l.wait(job.Since, "queue", "ready, waits for a worker")
	}
}

// endedWithLast tells whether a job came to its end by its last attempt, and not while it waited.
func endedWithLast(job *inspect.JobInfo) bool {
	if len(job.Attempts) == 0 {
		return false
	}
	outcome := job.Attempts[len(job.Attempts)-1].Outcome
	dies := outcome == "failed" || outcome == "timeout" || outcome == "crashed"
	return outcome == string(job.State) || job.State == work.StateDead && dies
}

// wait adds a span in which no attempt ran, if there was one.
func (l *life) wait(to time.Time, class, name string) {
	if !to.After(l.at) {
		return
	}
	text := fmt.Sprintf("%s, %s to %s, %s", name, stampOf(l.at), stampOf(to), spanBetween(l.at, to))
	l.add(to, lifeSpan{Kind: "wait", Class: class, name: name, Text: text})
}

func (l *life) add(to time.Time, s lifeSpan) {
	if to.Before(l.at) {
		to = l.at
	}
	s.from, s.to, l.at = l.at, to, to
	l.spans = append(l.spans, s)
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return format.Stamp(t)
}

// firstOf is the first of two times that is known.
func firstOf(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// firstBegun is when the first of the attempts was due, or began where that is not known.
func firstBegun(attempts []inspect.Attempt) time.Time {
	if len(attempts) == 0 {
		return time.Time{}
	}
	return firstOf(attempts[0].Due, firstOf(attempts[0].Begun, attempts[0].Ended))
}
