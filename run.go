package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/rdb"
)

// run is one claimed job on its way through a worker: fetched, perhaps run, settled.
type run struct {
	claim        rdb.Claim
	claimant     *claimant // the identity under which it was claimed
	worker       *worker
	registration *registration

	job    *Job
	record *record // what its job was enqueued with; plainRecord where the job says all of it
	trail  *trail  // what happened to it before; noTrail for nothing
	raw    []byte  // the record as it is stored

	crashes     crash.Record           // of workers that died with it
	token       int64                  // see Job.FencingToken
	order       int64                  // in which it was fetched, among all of its worker
	fetched     time.Time              // by Redis' clock
	notBefore   time.Time              // that its rate lets it begin; zero where it may at once
	ctx         context.Context        // of the handler; its claimant's until it begins
	attempt     runContext             // what ctx is, or wraps; it may end before the handler begins
	stopTimers  func()                 // nil without a timeout
	given       Job                    // what job points to
	older       *run                   // in the outbox
	begun       atomic.Int64           // ns, when the handler was called; 0 before
	checkin     atomic.Pointer[string] // the last that it told, until a heartbeat has taken it
	long        longRun                // a log, a state, what it last told
	checked     atomic.Bool            // it checked in at least once
	unaccounted atomic.Bool            // Redis has lost its data while it was held
	assigned    atomic.Bool            // to the one that begins it, or gives it back before it begins
	settled     atomic.Bool            // its fate is decided: what the handler returns later does not count
	calledOff   atomic.Bool            // it is to end as cancelled: see call_off.go
	decision    decision
	value       any // what the handler returned, while nobody has asked for it
	hasValue    bool
	unfit       error // what is wrong with its record
	done        bool  // Redis has acknowledged its outcome; the settler's
	crashed     bool  // a worker died with it
	lot         int   // how many outcomes may share its call when it is settled
	suspected   bool  // workers have died with it: see suspect.go
	sent        bool  // an earlier send of its outcome was not answered
	lostClaim   bool  // it was taken from this worker, so its outcome did not count, as far as is known

	verdict rdb.Verdict // on its claim, once that is gone

	elapsed time.Duration // of its handler

	parkedFor string // why its outcome is refused; empty while it is not
}

// decision is what becomes of a run, in the form that the settler writes.
type decision struct {
	verb   verb
	delay  time.Duration
	trail  []byte // nil leaves it as it is
	keep   time.Duration
	result []byte // JSON of the outcome that is kept
	object string // of that outcome; the job refers to it as long as it is kept
	err    error
	reason string // of a burial
	death  error  // why it dies; nil when it does not

	failure string // the text of the error by which it is counted: see ledger.go

	keepCrashes bool // it was put off, so its crashes are not forgotten

	cutShort bool // the handler gave up because its ctx ended with the worker
}

// runsPerChunk is how many runs are made at once. A chunk is kept in memory as long as one of its runs is.
const runsPerChunk = 8

// newRuns makes runs that are yet to be filled.
func newRuns(n int) []*run {
	runs := make([]*run, n)
	for from := 0; from < n; from += runsPerChunk {
		chunk := make([]run, min(runsPerChunk, n-from))
		for i := range chunk {
			runs[from+i] = &chunk[i]
		}
	}
	return runs
}

// fill makes the run of what a fetch returned. One that is unfit can still be buried.
func (r *run) fill(w *worker, c *claimant, reg *registration, fetched *rdb.FetchedJob) {
	if fetched.Crashes != "" {
		r.crashes = crash.Read(fetched.Crashes)
	}
	r.claim, r.claimant, r.worker, r.registration = fetched.Claim, c, w, reg
	r.record, r.trail, r.raw, r.crashed = &plainRecord, &noTrail, fetched.Record, fetched.Crashes != ""
	if len(fetched.Trail) > 0 {
		t := decodeTrail(fetched.Trail)
		t.raw = fetched.Trail
		r.trail = &t
	}
	r.ctx = c.context()
	r.long.hasLog, r.long.logNoted = r.trail.Log, r.trail.Log
	r.long.hasState, r.long.stateNoted = r.trail.State, r.trail.State
	r.given = Job{ID: fetched.ID, Name: fetched.Queue, Attempt: r.trail.Fails + 1, run: r}
	r.job = &r.given
	r.attempt.parent, r.attempt.labels, r.attempt.job = r.ctx, reg.labels, r.job
	r.attempt.fence = &w.fence
	rec, err := decodeKnownRecord(fetched.Record, fetched.ID, fetched.Queue)
	if err == nil && rec.Name != fetched.Queue {
		err = &InvalidError{
			What: "the name in its record", Value: rec.Name, Remedy: "it stood in the queue of " + fetched.Queue,
		}
	}
	if err != nil {
		r.unfit = err
		return
	}
	if !rec.plain() {
		kept := rec
		r.record = &kept
	}
	retries := reg.options.Retries
	if rec.Retries != nil {
		retries = max(0, *rec.Retries)
	}
	j := r.job
	j.SourceID, j.Args, j.Meta, j.Tags = rec.Source, rec.Args, rec.Meta, rec.Tags
	j.RetriesLeft = max(0, retries-r.trail.Fails)
	if rec.EnqueuedAt > 0 {
		j.EnqueuedAt, j.RunAt = time.UnixMilli(rec.EnqueuedAt), time.UnixMilli(rec.EnqueuedAt)
	}
	if at := cmp.Or(r.trail.RunAt, rec.RunAt); at > 0 {
		j.RunAt = time.UnixMilli(at)
	}
}

// restingRun is a run that nobody makes: it says what becomes of a job that no worker holds.
func restingRun(rec record, rawTrail []byte) *run {
	t := decodeTrail(rawTrail)
	return &run{record: &rec, trail: &t, registration: &registration{}}
}

// belongings is what the job has in Redis beside its record and trail.
func (r *run) belongings() rdb.Belongings {
	b := rdb.Belongings{Lock: r.record.Lock, Completion: r.record.Completion, Log: r.trail.Log, State: r.trail.State}
	for _, sha := range r.record.Objects {
		if sha != r.decision.object && !slices.Contains(b.Objects, sha) {
			b.Objects = append(b.Objects, sha)
		}
	}
	return b
}

// timeout is how long the handler may take; 0 is no limit.
func (r *run) timeout() time.Duration {
	if r.record.Timeout > 0 {
		return fromMillis(r.record.Timeout)
	}
	return capped(r.registration.options.Timeout)
}

// retention is how long the outcome is kept.
func (r *run) retention() time.Duration {
	if r.record.Retention > 0 {
		return fromMillis(r.record.Retention)
	}
	return capped(r.registration.options.Retention)
}

// fromMillis is a duration of a record, which anybody may have written: one that is too long for Go is a long one.
func fromMillis(ms int64) time.Duration {
	const most = int64(maxAhead / time.Millisecond)
	return time.Duration(min(max(ms, -most), most)) * time.Millisecond
}

// begunAt is when the handler was called; zero before.
func (r *run) begunAt() time.Time {
	if ns := r.begun.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

func (r *run) ref() event.JobRef {
	return event.JobRef{
		ID: r.job.ID, Name: r.job.Name, SourceID: r.job.SourceID, Tags: r.job.Tags, Attempt: r.job.Attempt,
		Worker: r.claimant.rdb.ID, Begun: r.begunAt(),
	}
}

// cutOff tells whether its ctx ended because others may have its job.
func (r *run) cutOff() bool { return errors.Is(context.Cause(r.attempt.parent), ErrFenced) }

// reportStuck tells of a handler that has not returned although its ctx ended.
func (r *run) reportStuck(cause error) {
	if r.begun.Load() != 0 && !r.settled.Load() {
		r.worker.events.emit(event.JobStuck{JobRef: r.ref(), Cause: cause})
	}
}

// discardRetention is how long it is remembered that a job was discarded.
const discardRetention = time.Minute

// cancellation is the decision for a job that somebody has cancelled.
func (r *run) cancellation(now time.Time) decision {
	return decision{
		verb: verbCancel, keep: max(r.retention(), discardRetention),
		result: outcome{State: stateCancelled, EndedAt: now.UnixMilli()}.encode(),
	}
}

// keepForWaiters adds an outcome to the decision, because somebody waits for it. A result that cannot be kept is none.
func (r *run) keepForWaiters(now time.Time) {
	kept := outcome{State: endState[r.decision.verb], EndedAt: now.UnixMilli()}
	if r.hasValue {
		encoded, err := encodeResult(r.registration.handler, r.value, maxResultBytes)
		if err != nil {
			kept.Problem = errorText(err)
		}
		kept.Result = encoded
	}
	r.decision.keep, r.decision.result = discardRetention, kept.encode()
}

// decide is judge with the outcome that is to be kept.
func (r *run) decide(result any, hasResult bool, err error, now time.Time) decision {
	r.endAttempt()
	if r.calledOff.Load() {
		return r.cancellation(now)
	}
	keep := r.retention()
	var kept keptResult
	if err == nil && hasResult && keep > 0 {
		kept, err = r.keepResult(result)
	}
	d := r.judge(err, now)
	r.value, r.hasValue = result, hasResult && d.verb == verbDone && keep == 0
	switch {
	case d.verb == verbDone && keep > 0:
		d.keep, d.object = keep, kept.object
		d.result = outcome{State: stateSucceeded, EndedAt: now.UnixMilli(), Result: kept.inline,
			Object: kept.object}.encode()
	case d.verb == verbDiscard:
		d.keep, d.result = max(keep, discardRetention),
			outcome{State: stateDiscarded, EndedAt: now.UnixMilli()}.encode()
	}
	return d
}

// maxResultBytes is how large the JSON of a result may be that is no object. Redis would refuse far larger ones for
// ever, and one that is larger than a pipeline holds up the outcomes of other jobs.
const maxResultBytes = 1 << 20

// encodeResult encodes what a handler returned. A value that does not encode, or is too large, fails the attempt.
func encodeResult(h *handler, result any, most int) (encoded []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &ResultError{Handler: h.String(),
				Err: &PanicError{Value: value, Stack: cutStack(string(debug.Stack()))}}
		}
	}()
	encoded, err = json.Marshal(result)
	if err != nil {
		return nil, &ResultError{Handler: h.String(), Err: tame(err)}
	}
	if len(encoded) > most {
		return nil, &ResultError{Handler: h.String(), Err: fmt.Errorf(
			"its JSON has %d bytes: return at most %d, and where to find what is larger", len(encoded), most)}
	}
	return encoded, nil
}

// ResultError is the error of an attempt whose result was to be kept (see Retention) and cannot be: it does not encode
// as JSON, has more than 64 MiB, or more than 1 MiB and could not be stored. The attempt counts as failed.
type ResultError struct {
	Handler string // readable name, file and line of the handler
	Err     error  // why: the encoder's error, or a *PanicError of a MarshalJSON
}

func (e *ResultError) Error() string {
	return cut("the result of " + e.Handler + " cannot be kept: " + errorText(e.Err))
}

// Unwrap returns why.
func (e *ResultError) Unwrap() error { return e.Err }
