package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/rdb"
)

// maxStateBytes is how large the JSON of a saved state may be.
const maxStateBytes = 1 << 20

// ErrNoPool is returned by what needs a worker of a pool to run the job: one that a test made itself has none.
var ErrNoPool = errors.New("no worker pool runs this job")

// ClaimGoneError says that the job was taken from its worker, which was declared dead, or that Redis has lost it. The
// handler should come to an end: whatever it returns does not count any more. Nothing was written.
type ClaimGoneError struct{ event.JobRef }

func (e *ClaimGoneError) Error() string { return cut(e.text()) }

func (e *ClaimGoneError) text() string {
	return "job " + e.String() + " was taken from worker " + e.Worker + ": it runs elsewhere, or Redis has lost it"
}

// SaveState stores v as JSON, of at most 1 MiB, for the attempts that follow: it is there for [Job.LoadState] after a
// failure, a release, a snooze, and after its worker died; also while the job is in the morgue. It goes away with the
// job, or when nothing was saved for a year. Each call replaces what was saved before. Of calls made at once the one
// that began last stays.
//
// When it returns nil the state is in Redis. While Redis cannot be reached it tries again, until ctx ends. It returns
// *[ClaimGoneError] when the job runs elsewhere by now, so that no worker overwrites what its successor has saved; an
// error that is [ErrRedisFull] when Redis has no memory left; *[InvalidError] when v is too large; [ErrAttemptOver], or
// [ErrNoPool]. After any other error it is not known whether this state or the one before is there. Any goroutine of
// the handler may call it.
func (j *Job) SaveState(ctx context.Context, v any) error {
	encoded, err := encodeValue(v)
	if err == nil && j.run == nil {
		err = ErrNoPool
	}
	if err == nil && len(encoded) > maxStateBytes {
		return &InvalidError{What: "the state of job " + quoted(j.ID),
			Value:  fmt.Sprintf("a value whose JSON has %d bytes", len(encoded)),
			Remedy: fmt.Sprintf("save at most %d, and where to find what is larger", maxStateBytes)}
	}
	if err == nil {
		err = j.run.saveState(ctx, encoded)
	}
	if err != nil {
		return fmt.Errorf("the state of job %s was not saved: %w", quoted(j.ID), err)
	}
	return nil
}

func (r *run) saveState(ctx context.Context, encoded []byte) error {
	number, err := r.nextSave()
	if err != nil {
		return err
	}
	note := r.note(&r.long.stateNoted)
	return r.untilAnswered(ctx, func(ctx context.Context) error {
		saved, err := r.claimant.rdb.SaveState(ctx, rdb.SavedState{
			Claim: r.claim, ID: r.job.ID, Number: number, Note: note, JSON: encoded,
		})
		if err != nil {
			return err
		}
		if !saved {
			return &ClaimGoneError{r.ref()}
		}
		r.noted(&r.long.stateNoted)
		return nil
	})
}

// nextSave numbers a save. From now on the run has a state, whatever comes of it.
func (r *run) nextSave() (int64, error) {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.over {
		return 0, ErrAttemptOver
	}
	r.long.hasState = true
	r.long.saves++
	return r.long.saves, nil
}

// LoadState decodes into v what [Job.SaveState] stored last, in this attempt or an earlier one, and returns true; false
// when nothing was saved, and v is as it was. While Redis cannot be reached it tries again, until ctx ends. What does
// not decode into v is an error. Any goroutine of the handler may call it.
func (j *Job) LoadState(ctx context.Context, v any) (found bool, err error) {
	var encoded json.RawMessage
	if j.run == nil {
		err = ErrNoPool
	} else {
		encoded, err = j.run.loadState(ctx)
	}
	if err == nil && encoded != nil {
		err = decodeValue(encoded, v)
	}
	if err != nil {
		return false, fmt.Errorf("the state of job %s was not loaded: %w", quoted(j.ID), err)
	}
	return encoded != nil, nil
}

func (r *run) loadState(ctx context.Context) (encoded json.RawMessage, err error) {
	err = r.untilAnswered(ctx, func(ctx context.Context) error {
		encoded, err = r.worker.store.LoadState(ctx, r.job.ID)
		return err
	})
	if encoded == nil || err != nil {
		return nil, err
	}
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	r.long.hasState = true // whatever the trail says: it must not be left behind
	return encoded, nil
}

// untilAnswered asks Redis until it has answered, for as long as that makes sense.
func (r *run) untilAnswered(ctx context.Context, ask func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := r.askOnce(ctx, ask)
		if err == nil || errchain.Find[*ClaimGoneError](err) != nil {
			return err
		}
		v := judge(err)
		if !v.again || r.worker.life.Err() != nil || !backoff.Pause(ctx, backoff.For(attempt)) {
			if cause := context.Cause(ctx); cause != nil {
				return blame(cause, v.err)
			}
			return v.err
		}
	}
}

func (r *run) askOnce(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	defer context.AfterFunc(r.worker.life, cancel)()
	return ask(ctx)
}

// decodeValue is json.Unmarshal into a value of a program: an UnmarshalJSON that panics is an error.
func decodeValue(encoded []byte, v any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return tame(exactjson.Unmarshal(encoded, v))
}
