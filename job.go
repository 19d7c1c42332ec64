package work

import (
	"context"
	"encoding/json"
	"github.com/265d0351/work/event"
	"time"
)

// Job is one run of one job, as its handler and middleware see it. It belongs to that run: do not keep it after the
// handler returned. Its fields are read-only; Checkin may be called from any goroutine of the handler.
type Job struct {
	ID       string
	Name     string
	SourceID int64             // the source given to SourcedEnqueue; 0 when there was none
	Args     json.RawMessage   // the JSON array of arguments, byte for byte as it was enqueued
	Meta     map[string]string // what Meta gave at the enqueue; nil when nothing

	Tags []string // what Tags gave at the enqueue; nil when nothing

	Attempt     int       // 1 for the first run; a run that ended by Snooze, Release or a crash is not counted
	RetriesLeft int       // how many more attempts follow if this one fails
	EnqueuedAt  time.Time // Redis' clock, as the enqueuer knew it
	RunAt       time.Time // when this attempt was due; EnqueuedAt for a job that was due at once

	run *run // nil for a job that no pool runs
}

// Checkin tells how far a long job is; the message can be read in Redis within a second. It returns true once the pool
// is stopping, or the job was cancelled: the handler should then come to an end, or return Release(nil). It costs no
// round trip, so call it as often as is convenient.
func (j *Job) Checkin(message string) bool {
	if j.run == nil {
		return false
	}
	bounded := bound(message, maxErrorBytes)
	j.run.tell(event.JobCheckedIn{Message: bounded}, func(l *longRun) { l.message = bounded })
	return j.run.worker.stopping() || j.run.calledOff.Load()
}

// NextFunc runs the rest of the chain: the next middleware or, at its end, the handler.
type NextFunc func(ctx context.Context) error

type jobKey struct{}

// JobFromContext returns the job that runs with this ctx, or nil when there is none.
func JobFromContext(ctx context.Context) *Job {
	job, _ := ctx.Value(jobKey{}).(*Job)
	return job
}

// FencingToken returns a number that is larger for each later claim of the same job: that of the first run is smaller
// than that of the second. A handler hands it to what it writes to, which refuses a number that is smaller than one it
// has seen of that job: then nothing comes late from a worker that was paused or cut off, while another one has long
// begun anew.
//
// It is made of Redis' clock at the fetch, in milliseconds. So it grows as long as that clock is not set back; and
// where a worker died or was taken for dead, even then. What it does not tell apart is a run from the next where the
// first one ended in good order and the clock was set back in between; nor is it known after Redis has lost its data.
// It is 0 for a job that no pool runs.
func (j *Job) FencingToken() int64 {
	if j.run == nil {
		return 0
	}
	return j.run.token
}
