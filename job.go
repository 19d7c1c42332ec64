package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
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

	Parent string // the id of the job whose handler enqueued it: see EnqueuerFromContext; empty when there was none
	Key    string // on whose behalf it is done, see the option Key; empty when it has none

	Attempt     int       // 1 for the first run; a run that ended by Snooze, Release or a crash is not counted
	RetriesLeft int       // how many more attempts follow if this one fails
	EnqueuedAt  time.Time // Redis' clock, as the enqueuer knew it
	RunAt       time.Time // when this attempt was due; EnqueuedAt for a job that was due at once

	run attempt // nil for a job that no pool runs
}

// attempt is the run behind a Job, where what the handler asks for is done. A pool makes it.
type attempt interface {
	tell(said event.JobCheckedIn, change func(*longjob.Attempt) (first bool)) bool
	mustEnd() bool // the pool is stopping, or the job was cancelled
	fencingToken() int64
	longJob() *longjob.Attempt
	stateError(err error) error
	tellStep(done event.StepDone)
	now() time.Time // by Redis' clock
	ending(err error) (Ending, bool)
	objects() objects.Source
	codecs() *codec.Chain
	failed(err error) error // what a handler's error is, seen from the attempt
	batch() []*Job          // those that are taken together with it; nil for none
	await(ctx context.Context, wait func(context.Context) error, look func(context.Context) bool) error
}

// failed is the error of its handler as middleware and observers see it.
func (j *Job) failed(err error) error {
	if j.run == nil {
		return err
	}
	return j.run.failed(err)
}

// Checkin tells how far a long job is; the message can be read in Redis within a second. It returns true once the pool
// is stopping, or the job was cancelled: the handler should then come to an end, or return Release(nil). It costs no
// round trip, so call it as often as is convenient.
func (j *Job) Checkin(message string) bool {
	if j.run == nil {
		return false
	}
	bounded := excerpt.Start(message, record.MaxErrorBytes)
	j.run.tell(event.JobCheckedIn{Message: bounded}, func(a *longjob.Attempt) bool { return a.Say(bounded) })
	return j.run.mustEnd()
}

// NextFunc runs the rest of the chain: the next middleware or, at its end, the handler.
type NextFunc func(ctx context.Context) error

type jobKey struct{}

// JobFromContext returns the job that runs with this ctx, or nil when there is none.
func JobFromContext(ctx context.Context) *Job {
	job, _ := ctx.Value(jobKey{}).(*Job)
	return job
}

// awaiting calls wait, which waits for other jobs. Where ctx is that of a handler, that one leaves its processor
// meanwhile. If it may not, look tells whether what it would wait for is there already; it may be nil.
func awaiting(ctx context.Context, wait func(context.Context) error, look func(context.Context) bool) error {
	if job := JobFromContext(ctx); job != nil && job.run != nil {
		return job.run.await(ctx, wait, look)
	}
	return wait(ctx)
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
	return j.run.fencingToken()
}

// objects is where its large args are; nil where it has none.
func (j *Job) objects() objects.Source {
	if j.run == nil {
		return nil
	}
	return j.run.objects()
}

// ErrNotFound is returned for a job of which nothing is there: there was none, or it has ended and no outcome is kept.
var ErrNotFound = errors.New("there is no such job: it has ended and nothing is kept of it, or never was")

// State is where a job is in its life.
type State string

// The states of a job that lives, and of one that has ended and whose outcome is kept.
const (
	StateQueued    State = "queued"    // it waits in its queue
	StateScheduled State = "scheduled" // it is not due yet, or was put off
	StateRunning   State = "running"   // a worker holds it
	StateRetrying  State = "retrying"  // it has failed and waits for its next attempt
	StateStalled   State = "stalled"   // it was put aside by hand
	StateDead      State = "dead"      // it is in the morgue
	// it has a record and is nowhere: Redis was tampered with, doctor.Examine mends it
	StateLost      State = "lost"
	StateSucceeded State = "succeeded"
	StateCancelled State = "cancelled" // or it is to be, as soon as a worker comes by it
	StateDiscarded State = "discarded"
	StateExpired   State = "expired"
	StateDeleted   State = "deleted"
)

// Ended tells whether there is nothing of the job but its outcome, or soon will be. A dead one has not ended: it can be
// retried.
func (s State) Ended() bool {
	switch s {
	case StateSucceeded, StateCancelled, StateDiscarded, StateExpired, StateDeleted:
		return true
	}
	return false
}

// Logger returns a logger that writes to the job's own log in Redis, which holds the last 1,000 lines or 256 KiB of all
// attempts. An Inspector of package inspect reads it, by Log and FollowLog, also while the job runs. It takes levels
// from Info on, messages of at most 1 KiB and lines of at most 4 KiB: of a longer one the attributes are left out, and
// it says so. With [WorkerOptions.MirrorJobLogs] what is logged goes to the pool's Logger as well.
//
// Logging costs no round trip: lines are sent together, five times a second, and the rest with the attempt's outcome.
// While Redis takes none they are held, at most 500 or 128 KiB of them; then the oldest are dropped, and the log says
// how many. What is logged after the handler returned is dropped. The log goes away with the job; it is kept in the
// morgue.
//
// Any goroutine may use the logger. That of a job that no pool runs is [slog.Default].
func (j *Job) Logger() *slog.Logger {
	if j.run == nil {
		return slog.Default().With("job", j.ID)
	}
	return j.run.longJob().Logger()
}

// maxStateBytes is how large the JSON of a saved state may be.
const maxStateBytes = 1 << 20

// ErrAttemptOver is returned by what belongs to one attempt of a job, once that is over: the handler has returned, or
// the pool has stopped waiting for it.
var ErrAttemptOver = errors.New("this attempt of the job is over")

// ErrNoPool is returned by what needs a worker of a pool to run the job: one that a test made itself has none.
var ErrNoPool = errors.New("no worker pool runs this job")

// SaveState stores v as JSON, of at most 1 MiB, for the attempts that follow: it is there for [Job.LoadState] after a
// failure, a release, a snooze, and after its worker died; also while the job is in the morgue. It goes away with the
// job, or when nothing was saved for a year. Each call replaces what was saved before. Of calls made at once the one
// that began last stays.
//
// When it returns nil the state is in Redis. While Redis cannot be reached it tries again, until ctx ends. It returns
// *[ClaimGoneError] when the job runs elsewhere by now, so that no worker overwrites what its successor has saved; an
// error that is [ErrRedisFull] when Redis has no memory left; *[InvalidError] when v is too large, or has text that is
// not UTF-8; [ErrAttemptOver], or [ErrNoPool]. After any other error it is not known whether this state or the one
// before is there. Any goroutine of the handler may call it.
func (j *Job) SaveState(ctx context.Context, v any) error {
	encoded, err := encodeValue(v)
	if err == nil && j.run == nil {
		err = ErrNoPool
	}
	if err == nil && len(encoded) > maxStateBytes {
		return &InvalidError{What: "the state of job " + excerpt.Brief(j.ID),
			Value:  fmt.Sprintf("a value whose JSON has %d bytes", len(encoded)),
			Remedy: fmt.Sprintf("save at most %d, and where to find what is larger", maxStateBytes)}
	}
	if err == nil {
		if encoded, err = j.run.codecs().Encode(codec.State(j.ID), encoded); err != nil {
			err = codecError("the state", err)
		}
	}
	if err == nil {
		err = j.run.stateError(j.run.longJob().SaveState(ctx, encoded))
	}
	if err != nil {
		return fmt.Errorf("the state of job %s was not saved: %w", excerpt.Brief(j.ID), err)
	}
	return nil
}

// LoadState decodes into v what [Job.SaveState] stored last, in this attempt or an earlier one, and returns true; false
// when nothing was saved, and v is as it was. While Redis cannot be reached it tries again, until ctx ends. What does
// not decode into v is an error. Any goroutine of the handler may call it.
func (j *Job) LoadState(ctx context.Context, v any) (found bool, err error) {
	var encoded json.RawMessage
	if j.run == nil {
		err = ErrNoPool
	} else {
		encoded, err = j.run.longJob().LoadState(ctx)
	}
	if err == nil && encoded != nil {
		if encoded, err = j.run.codecs().Open(codec.State(j.ID), encoded); err != nil {
			err = codecError("the state", err)
		}
	}
	if err == nil && encoded != nil {
		err = decodeValue(encoded, v)
	}
	if err != nil {
		return false, fmt.Errorf("the state of job %s was not loaded: %w", excerpt.Brief(j.ID), err)
	}
	return encoded != nil, nil
}

// maxProgressBytes is how large the JSON of a progress may be: it goes with a heartbeat.
const maxProgressBytes = 4 << 10

// Progress tells how far a long job is, as any value that encodes to at most 4 KiB of JSON. Like the message of
// [Job.Checkin], beside which it stands, it can be read in Redis within a second, and is forgotten when the attempt
// ends; only the last value is sent. In text that is not UTF-8 U+FFFD replaces the bytes. It costs no round trip. It
// returns an *[InvalidError] for a value that is too large, and an error for one that does not encode; the value before
// then stands. Once the attempt is over it returns [ErrAttemptOver]. Any goroutine of the handler may call it.
func (j *Job) Progress(value any) error {
	encoded, err := encodedBy(json.Marshal, value)
	if err != nil {
		return fmt.Errorf("the progress of job %s cannot be told: %w", excerpt.Brief(j.ID), err)
	}
	encoded = rawjson.Sound(encoded) // people read it, and a progress that is not quite right is better than none
	if len(encoded) > maxProgressBytes {
		return &InvalidError{What: "the progress of job " + excerpt.Brief(j.ID),
			Value:  fmt.Sprintf("a value whose JSON has %d bytes", len(encoded)),
			Remedy: fmt.Sprintf("tell at most %d; what is larger belongs into the state or the log", maxProgressBytes)}
	}
	tell := func(a *longjob.Attempt) bool { return a.Progress(string(encoded)) }
	if j.run != nil && !j.run.tell(event.JobCheckedIn{Progress: encoded}, tell) {
		return fmt.Errorf("the progress of job %s cannot be told: %w", excerpt.Brief(j.ID), ErrAttemptOver)
	}
	return nil
}

// encodeValue is the JSON of a value that a program gets back: it has to come back as it was, so text that is not UTF-8
// is an *InvalidError.
func encodeValue(value any) ([]byte, error) {
	text, err := encodedBy(exactjson.Marshal, value)
	return text, asInvalid(err)
}

// encodedBy calls what encodes a value of a program: a MarshalJSON that panics is an error.
func encodedBy(encode func(any) ([]byte, error), value any) (text []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	text, err = encode(value)
	return text, errchain.Tame(err)
}

// decodeValue is json.Unmarshal into a value of a program: an UnmarshalJSON that panics is an error.
func decodeValue(encoded []byte, v any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	return errchain.Tame(exactjson.Unmarshal(encoded, v))
}
