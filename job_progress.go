package work

import (
	"encoding/json"
	"fmt"
	"github.com/265d0351/work/event"
	"runtime/debug"
	"strings"
)

// maxProgressBytes is how large the JSON of a progress may be: it goes with a heartbeat.
const maxProgressBytes = 4 << 10

// Progress tells how far a long job is, as any value that encodes to at most 4 KiB of JSON. Like the message of
// [Job.Checkin], beside which it stands, it can be read in Redis within a second, and is forgotten when the attempt
// ends; only the last value is sent. It costs no round trip. It returns an *[InvalidError] for a value that is too
// large, and an error for one that does not encode; the value before then stands. Once the attempt is over it returns
// [ErrAttemptOver]. Any goroutine of the handler may call it.
func (j *Job) Progress(value any) error {
	encoded, err := encodeValue(value)
	if err != nil {
		return fmt.Errorf("the progress of job %s cannot be told: %w", quoted(j.ID), err)
	}
	if len(encoded) > maxProgressBytes {
		return &InvalidError{What: "the progress of job " + quoted(j.ID),
			Value:  fmt.Sprintf("a value whose JSON has %d bytes", len(encoded)),
			Remedy: fmt.Sprintf("tell at most %d; what is larger belongs into the state or the log", maxProgressBytes)}
	}
	if j.run != nil && !j.run.tell(event.JobCheckedIn{Progress: encoded},
		func(l *longRun) { l.progress = string(encoded) }) {
		return fmt.Errorf("the progress of job %s cannot be told: %w", quoted(j.ID), ErrAttemptOver)
	}
	return nil
}

// tell changes what the next heartbeat says of the run, and tells the observers at once; false where the attempt is
// over.
func (r *run) tell(said event.JobCheckedIn, change func(*longRun)) bool {
	r.long.mu.Lock()
	over := r.long.over
	r.long.mu.Unlock()
	if over {
		return false
	}
	if r.worker.events.perJob() {
		said.JobRef = r.ref()
		r.worker.events.emit(said)
	}
	r.long.mu.Lock()
	change(&r.long)
	news := encodeCheckin(r.long.message, r.long.progress)
	r.checkin.Store(&news)
	r.long.mu.Unlock()
	if !r.checked.Swap(true) {
		r.claimant.watch(r)
	}
	return true
}

// encodeCheckin makes one text of a message and a progress: the message alone, as long as there is no progress, else
// NUL, progress, NUL, message. JSON has no NUL in it.
func encodeCheckin(message, progress string) string {
	if progress == "" && !strings.HasPrefix(message, "\x00") {
		return message
	}
	return "\x00" + progress + "\x00" + message
}

// decodeCheckin takes the text apart again.
func decodeCheckin(text string) (message string, progress json.RawMessage) {
	rest, both := strings.CutPrefix(text, "\x00")
	before, after, complete := strings.Cut(rest, "\x00")
	if !both || !complete {
		return text, nil
	}
	if before == "" || !json.Valid([]byte(before)) {
		return after, nil
	}
	return after, json.RawMessage(before)
}

// encodeValue is json.Marshal for values of a program: a MarshalJSON that panics is an error.
func encodeValue(value any) (encoded []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: cutStack(string(debug.Stack()))}
		}
	}()
	encoded, err = json.Marshal(value)
	return encoded, tame(err)
}
