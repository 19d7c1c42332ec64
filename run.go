package work

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// run is one claimed job on its way through a worker: fetched, perhaps run, settled.
type run struct {
	claim        rdb.Claim
	claimant     *claimant // the identity under which it was claimed
	worker       *worker
	registration *registration

	job      *Job
	record   record
	raw      []byte // the record as it is stored
	rawTrail []byte
	trail    trail

	order       int64                  // in which it was fetched, among all of its worker
	ctx         context.Context        // of the handler; its claimant's until it begins
	begun       atomic.Int64           // ns, when the handler was called; 0 before
	checkin     atomic.Pointer[string] // the last message, until a heartbeat has taken it
	checked     atomic.Bool            // it checked in at least once
	unaccounted atomic.Bool            // Redis has lost its data while it was held
	settled     atomic.Bool            // its fate is decided: what the handler returns later does not count
	decision    decision
	asked       bool // its Backoff was called
	lot         int  // how many outcomes may share its call when it is settled
	suspected   bool // workers have died with it: see suspect.go
	sent        bool // an earlier send of its outcome was not answered

	parkedFor string // why its outcome is refused; empty while it is not
}

// decision is what becomes of a run, in the form that the settler writes.
type decision struct {
	verb   verb
	delay  time.Duration
	trail  []byte // nil leaves it as it is
	keep   time.Duration
	result []byte // JSON of the outcome that is kept
	err    error
	reason string // of a burial

	keepCrashes bool // it was put off, so its crashes are not forgotten

	cutShort bool // the handler gave up because its ctx ended with the worker
}

// newRun makes a run of what a fetch returned. The error says what is wrong with the record; the run can then still be
// buried.
func newRun(w *worker, c *claimant, reg *registration, fetched rdb.FetchedJob) (*run, error) {
	r := &run{
		claim: fetched.Claim, claimant: c, worker: w, registration: reg,
		trail: decodeTrail(fetched.Trail), raw: fetched.Record, rawTrail: fetched.Trail,
	}
	r.ctx = c.ctx
	r.job = &Job{ID: fetched.ID, Name: fetched.Queue, Attempt: r.trail.Fails + 1, run: r}
	rec, err := decodeRecord(fetched.Record)
	if err != nil {
		return r, err
	}
	if rec.Name != fetched.Queue {
		return r, &InvalidError{
			What: "the name in its record", Value: rec.Name, Remedy: "it stood in the queue of " + fetched.Queue,
		}
	}
	r.record = rec
	retries := reg.options.Retries
	if rec.Retries != nil {
		retries = max(0, *rec.Retries)
	}
	j := r.job
	j.SourceID, j.Args, j.Meta = rec.Source, rec.Args, rec.Meta
	j.RetriesLeft = max(0, retries-r.trail.Fails)
	if rec.EnqueuedAt > 0 {
		j.EnqueuedAt, j.RunAt = time.UnixMilli(rec.EnqueuedAt), time.UnixMilli(rec.EnqueuedAt)
	}
	if at := max(rec.RunAt, r.trail.RunAt); at > 0 {
		j.RunAt = time.UnixMilli(at)
	}
	return r, nil
}

// timeout is how long the handler may take; 0 is no limit.
func (r *run) timeout() time.Duration {
	if r.record.Timeout > 0 {
		return fromMillis(r.record.Timeout)
	}
	return min(r.registration.options.Timeout, maxAhead)
}

// retention is how long the outcome is kept.
func (r *run) retention() time.Duration {
	if r.record.Retention > 0 {
		return fromMillis(r.record.Retention)
	}
	return min(r.registration.options.Retention, maxAhead)
}

// fromMillis is a duration of a record, which anybody may have written: one that is too long for Go is a long one.
func fromMillis(ms int64) time.Duration {
	return time.Duration(min(ms, maxAhead.Milliseconds())) * time.Millisecond
}

// begunAt is when the handler was called; zero before.
func (r *run) begunAt() time.Time {
	if ns := r.begun.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

func (r *run) ref() JobRef {
	return JobRef{
		ID: r.job.ID, Name: r.job.Name, SourceID: r.job.SourceID, Attempt: r.job.Attempt,
		Worker: r.claimant.rdb.ID, Begun: r.begunAt(),
	}
}

// reportStuck tells of a handler that has not returned although its ctx ended.
func (r *run) reportStuck(cause error) {
	if r.begun.Load() != 0 && !r.settled.Load() {
		r.worker.events.emit(JobStuck{JobRef: r.ref(), Cause: cause})
	}
}

// discardRetention is how long it is remembered that a job was discarded.
const discardRetention = time.Minute

// decide is judge with the outcome that is to be kept.
func (r *run) decide(result any, hasResult bool, err error, now time.Time) decision {
	keep := r.retention()
	var encoded []byte
	if err == nil && hasResult && keep > 0 {
		encoded, err = encodeResult(r.registration.handler, result)
	}
	d := r.judge(err, now)
	switch {
	case d.verb == verbDone && keep > 0:
		d.keep, d.result = keep, outcome{State: stateSucceeded, EndedAt: now.UnixMilli(), Result: encoded}.encode()
	case d.verb == verbDiscard:
		d.keep, d.result = max(keep, discardRetention), outcome{State: stateDiscarded, EndedAt: now.UnixMilli()}.encode()
	}
	return d
}

// maxResultBytes is how large the JSON of a result may be. Redis would refuse far larger ones for ever, and one that is
// larger than a pipeline holds up the outcomes of other jobs.
const maxResultBytes = 1 << 20

// encodeResult encodes what a handler returned. A value that does not encode, or is too large, fails the attempt.
func encodeResult(h *handler, result any) (encoded []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &ResultError{Handler: h.String(), Err: &PanicError{Value: value, Stack: string(debug.Stack())}}
		}
	}()
	encoded, err = json.Marshal(result)
	if err != nil {
		return nil, &ResultError{Handler: h.String(), Err: err}
	}
	if len(encoded) > maxResultBytes {
		return nil, &ResultError{Handler: h.String(), Err: fmt.Errorf(
			"its JSON has %d bytes: return at most %d, and where to find what is larger", len(encoded), maxResultBytes)}
	}
	return encoded, nil
}

// ResultError is the error of an attempt whose result was to be kept (see Retention) and cannot be: it does not encode
// as JSON, or has more than 1 MiB. The attempt counts as failed.
type ResultError struct {
	Handler string // readable name, file and line of the handler
	Err     error  // why: the encoder's error, or a *PanicError of a MarshalJSON
}

func (e *ResultError) Error() string {
	return "the result of " + e.Handler + " cannot be kept: " + errorText(e.Err)
}

// Unwrap returns why.
func (e *ResultError) Unwrap() error { return e.Err }
