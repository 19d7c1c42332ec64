package inspect

import (
	"encoding/json"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rawjson"
)

// JobInfo is what is known of a job, all of it as of one moment. What does not apply to its state, and what is not
// known, is the zero value. Of a job that has ended all of that is there for as long as its Retention says; of one
// without, and of those before the last 10,000 of a name and state, or before the last 16 MiB of these, nothing but the
// outcome, if that is kept. It is the caller's own.
type JobInfo struct {
	ID    string     `json:"id"`
	Name  string     `json:"name,omitzero"`
	State work.State `json:"state"`
	AsOf  time.Time  `json:"as_of"` // the moment, by Redis' clock, as all times but EnqueuedAt

	Partition int `json:"partition,omitzero"` // where it is, or what is kept of it

	Args     json.RawMessage   `json:"args,omitempty"` // a JSON array as it is stored; objects are null: see FullArgs
	Meta     map[string]string `json:"meta,omitempty"`
	Tags     []string          `json:"tags,omitempty"`
	SourceID int64             `json:"source,omitzero"`
	Parent   string            `json:"parent,omitzero"` // the id of the job whose handler enqueued it
	// ids of the last 20 jobs that its handlers have enqueued by work.EnqueuerFromContext, in that order, and how many
	// there were before them: those of attempts that are over, but for ones that were cut off
	Children        []string `json:"children,omitempty"`
	ChildrenLeftOut int      `json:"children_left_out,omitzero"`

	Flow    string         `json:"flow,omitzero"`   // the id of the flow that it belongs to: see Flow
	Member  string         `json:"member,omitzero"` // its name there; "@done" and "@dead" are those of its end
	Options JobInfoOptions `json:"options,omitzero"`

	EnqueuedAt time.Time `json:"enqueued_at,omitzero"` // Redis' clock, as the enqueuer knew it
	RunAt      time.Time `json:"run_at,omitzero"`      // when the next attempt, or the one under way, is due or was
	BegunAt    time.Time `json:"begun_at,omitzero"`    // running: when its worker took it
	// when its first attempt began, of those that are noted: see Attempts
	FirstBegunAt time.Time `json:"first_begun_at,omitzero"`
	Since        time.Time `json:"since,omitzero"` // stalled, dead: when it came there
	EndedAt      time.Time `json:"ended_at,omitzero"`

	Worker string `json:"worker,omitzero"` // running: who has it
	// that worker has no heartbeat: it is about to be declared dead
	WorkerLost bool        `json:"worker_lost,omitzero"`
	Checkin    *JobCheckin `json:"checkin,omitzero"` // running, ended: the last one of the last attempt; nil: none
	// queued: how many jobs are before it; -1 when there are over 10,000, 0 also where its key has no room for it
	Ahead      int  `json:"ahead,omitzero"`
	Cancelling bool `json:"cancelling,omitzero"` // its cancellation is wanted

	Why []WaitReason `json:"why,omitempty"` // queued, scheduled, retrying: why it does not run yet; see there

	// those that are known, in the order of their ends, the one under way last: the last ten that failed, the last ten
	// that were snoozed, released or crashed, and the one with which the job has ended. One that its worker gave back
	// when it stopped is not noted, nor a crash of one that was cancelled or deleted before its next attempt had ended
	Attempts        []Attempt `json:"attempts,omitempty"`
	AttemptsLeftOut int       `json:"attempts_left_out,omitzero"` // how many more there were

	Fails  int        `json:"fails,omitzero"`   // attempts that failed
	Errors []JobError `json:"errors,omitempty"` // of the last ten of them, oldest first
	Reason string     `json:"reason,omitzero"`  // dead, discarded: why
	// what kind of failure the last one was; dead, discarded: the one with which it died
	Failure event.FailureKind `json:"failure,omitzero"`
	// workers that died with it since its last attempt ended in good order
	Crashes  []string `json:"crashes,omitempty"`
	HasLog   bool     `json:"has_log,omitzero"`   // it has written a log
	HasState bool     `json:"has_state,omitzero"` // it has saved a state

	Result        json.RawMessage `json:"result,omitempty"` // succeeded: what its handler returned, if that is kept
	ResultProblem string          `json:"result_problem,omitzero"`

	// ended: why its Args are not here: "unwanted" (see work.OmitArgs) or "too large", where it would have more than
	// 64 KiB with them
	NoArgs  string `json:"no_args,omitzero"`
	AgainOf string `json:"again_of,omitzero"` // the id of the job that had ended, and was enqueued again as this one
	AgainAs string `json:"again_as,omitzero"` // ended: the id of the one as which it was enqueued again
	// in a page or search of ended jobs: this is an earlier job of an id that was used again, or whose outcome is not
	// kept any more. [Inspector.Job] tells of the newer one
	Former bool `json:"former,omitzero"`

	Problem string `json:"problem,omitzero"` // what is wrong with its record: what stands in it is not known then
}

// JobInfoOptions are those that the job got at its enqueue. Zero values are left to the worker that runs it.
type JobInfoOptions struct {
	Retries    *int          // nil is the worker's; how many attempts may follow the first
	Timeout    time.Duration // of an attempt
	Retention  time.Duration // of the outcome
	RetryFor   time.Duration // after the first failure in which it is tried again
	Expires    time.Time     // a job that has not begun by then does not begin
	Deadline   time.Time     // its attempts end then
	Completion string        // its completion queue
	Unique     bool          // it has a lock
	Needs      []string      // labels that a worker must have to run it
	Queue      string        // in which it was put, where its name shares one with others (work.JobOptions.Queue)
	Objects    int           // how many of its args are objects, which go when no job needs them that has not ended
	Key        string        // on whose behalf it is done: it has its turn among the keys of its name
	Weight     int           // of its key: 1 where none was given, 0 without a key
}

// JobCheckin is what a running job said last.
type JobCheckin struct {
	At       time.Time       `json:"at"`
	Message  string          `json:"message,omitzero"`
	Progress json.RawMessage `json:"progress,omitempty"` // JSON; nil where it tells none
}

// JobError is one failed attempt.
type JobError struct {
	At      time.Time `json:"at,omitzero"`
	Attempt int       `json:"attempt,omitzero"` // the first is 1
	Worker  string    `json:"worker,omitzero"`
	Error   string    `json:"error"`
	Stack   string    `json:"stack,omitzero"` // of a panic
}

// MarshalJSON writes durations as [time.Duration] prints them, and leaves out what is not set.
func (o JobInfoOptions) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return json.Marshal(struct {
		Retries    *int      `json:"retries,omitempty"`
		Timeout    string    `json:"timeout,omitempty"`
		Retention  string    `json:"retention,omitempty"`
		RetryFor   string    `json:"retry_for,omitempty"`
		Expires    time.Time `json:"expires,omitzero"`
		Deadline   time.Time `json:"deadline,omitzero"`
		Completion string    `json:"completion,omitempty"`
		Unique     bool      `json:"unique,omitempty"`
		Objects    int       `json:"objects,omitempty"`
		Key        string    `json:"key,omitempty"`
		Weight     int       `json:"weight,omitempty"`
		Needs      []string  `json:"needs,omitempty"`
		Queue      string    `json:"queue,omitempty"`
	}{o.Retries, text(o.Timeout), text(o.Retention), text(o.RetryFor), o.Expires, o.Deadline, o.Completion, o.Unique,
		o.Objects, o.Key, o.Weight, o.Needs, o.Queue})
}

// MarshalJSON writes the fields under lower case names with underscores, and leaves out those that are zero.
func (j JobInfo) MarshalJSON() ([]byte, error) {
	type plain JobInfo
	j.Args = rawjson.Sound(j.Args)
	return json.Marshal(plain(j))
}
