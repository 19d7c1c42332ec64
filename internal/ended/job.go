package ended

import (
	"cmp"
	"slices"

	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/record"
)

// Job is what is known of a job when it ends.
type Job struct {
	Record   []byte // as it is stored
	Trail    *record.Trail
	Crashes  *crash.Record
	OmitArgs bool
	Last     *record.Attempt // the one that it has ended with; nil where it has ended without
	Message  string          // what that one has said last
	Progress []byte          // JSON
}

// Of are the details of a job that ends.
func Of(job Job) Details {
	d := Details{Record: job.Record, Attempts: Attempts(job.Trail, job.Crashes), Left: job.Trail.LeftOut(),
		Begun: job.Trail.FirstBegun,
		Fails: job.Trail.Fails, Message: job.Message, Progress: job.Progress, Reason: job.Trail.Reason,
		Children: job.Trail.Children}
	if job.OmitArgs {
		d.NoArgs = Unwanted
	}
	if job.Last != nil {
		if job.Last.HasFailed() {
			d.Fails++
		}
		d.Attempts = append(d.Attempts, *job.Last)
		if d.Message != "" || len(d.Progress) > 0 {
			d.SaidAt = job.Last.Ended
		}
	}
	return d
}

// Attempts are those that a trail knows, and those whose workers have died since the last one that it knows, in the
// order of their ends.
func Attempts(trail *record.Trail, crashes *crash.Record) []record.Attempt {
	attempts := slices.Clone(trail.Interrupted)
	for _, f := range trail.Errors {
		attempts = append(attempts, record.Attempt{Number: f.Attempt, Due: f.Due, Begun: f.Begun, Ended: f.At,
			Worker: f.Worker, Outcome: record.FailureOutcome(f.Kind), Error: f.Error, Stack: f.Stack})
	}
	attempts = append(attempts, Crashed(trail, crashes)...)
	slices.SortStableFunc(attempts, func(a, b record.Attempt) int { return cmp.Compare(a.Ended, b.Ended) })
	return attempts
}

// Crashed are the attempts whose workers have died, but for those that the trail has taken over.
func Crashed(trail *record.Trail, crashes *crash.Record) (attempts []record.Attempt) {
	if crashes == nil {
		return nil
	}
	for _, death := range crashes.Deaths() {
		if trail.Knows(death.Worker, death.At) {
			continue
		}
		a := record.Attempt{Number: trail.Fails + 1, Ended: death.At, Worker: death.Worker, Outcome: record.Crashed}
		if death.At > 0 && death.Ran > 0 {
			a.Begun = death.At - death.Ran
		}
		attempts = append(attempts, a)
	}
	return attempts
}
