package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/refusals"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/internal/workgroup"
)

// run is one claimed job on its way through a worker: fetched, perhaps run, settled.
type run struct {
	claim        rdb.Claim
	session      *session // the identity under which it was claimed
	worker       *worker
	registration *registration

	job    *Job
	record *record.Record // what its job was enqueued with; record.Default where the job says all of it
	trail  *record.Trail  // what happened to it before; record.NoTrail for nothing
	raw    []byte         // the record as it is stored

	crashes         crash.Record           // of workers that died with it
	token           int64                  // see Job.FencingToken
	order           int64                  // in which it was fetched, among all of its worker
	fetched         time.Time              // by Redis' clock
	notBefore       time.Time              // that its rate lets it begin; zero where it may at once
	ctx             context.Context        // of the handler; its session's until it begins
	attempt         lazyctx.Context        // what ctx is, or wraps; it may end before the handler begins
	stopTimers      func()                 // nil without a timeout
	limit           time.Duration          // of the attempt; 0 is none
	late            atomic.Int32           // how the handler failed: see timeout.go
	over            workgroup.OvertimeMark // it keeps its processor although its ctx has ended
	given           Job                    // what job points to
	older           *run                   // in the outbox
	begun           atomic.Int64           // ns, when the handler was called; 0 before
	long            longRun                // a log, a state, what it last told
	unaccounted     atomic.Bool            // Redis has lost its data while it was held
	unrestored      atomic.Bool            // Redis has forgotten it, and refuses to know it again
	restored        atomic.Int64           // after which fall of Redis it was stored again: see rewound.Book.Falls
	settled         atomic.Bool            // its outcome is decided: what the handler returns later does not count
	cancelRequested atomic.Bool            // it is to end as cancelled: see requestCancel
	decision        decision
	value           any // what the handler returned, while nobody has asked for it
	hasValue        bool
	recordErr       error // what is wrong with its record
	crashed         bool  // a worker died with it
	suspected       bool  // workers have died with it: see admission.go

	elapsed time.Duration // of its handler

	together atomic.Pointer[batchRun] // that it is in; nil until it has one, and for jobs that run one by one
	apart    bool                     // it counts in the room of its gatherer, and not in what its worker may hold
	shared   int                      // so many jobs its handler had at once; 0 is 1

	settlement settlement

	absence atomic.Pointer[workgroup.Absence] // nil while it has not waited for other jobs
}

// settlement is how far the settler, whose alone it is, has come with the outcome of a run.
type settlement struct {
	done       bool          // Redis has acknowledged the outcome
	sent       bool          // an earlier send of it was not answered
	turn       int64         // of the book, when it was sent last
	lostClaim  bool          // the job was taken from this worker, so the outcome did not count, as far as is known
	maxPerCall int           // how many outcomes may share its call; 0 is as many as fit
	verdict    rdb.GoneClaim // on the claim, once that is gone
	parkedFor  string        // why the outcome is refused; empty while it is not
	tally      refusals.Tally
}

// decision is what becomes of a run, in the form that the settler writes.
type decision struct {
	verb    verb
	delay   time.Duration
	trail   []byte // nil leaves it as it is
	keep    time.Duration
	result  []byte // JSON of the outcome that is kept
	details []byte // that are kept beside it; nil for none
	object  string // of that outcome; the job refers to it as long as it is kept
	forFlow []byte // JSON of the result, that other members of the job's flow may ask for
	err     error
	reason  string // of a burial
	death   error  // why it dies; nil when it does not
	queue   string // where it waits next, if that is another one than that from which it came

	kind event.FailureKind // of the failure

	failure string // the text of the error by which it is counted: see package history

	keepCrashes bool // it was put off, so its crashes are not forgotten

	wait rdb.Wait // what it was put off for by Sleep or Receive

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

// fill makes the run of what a fetch returned. One whose record cannot be read can still be buried.
func (r *run) fill(w *worker, c *session, reg *registration, fetched *rdb.FetchedJob) {
	if fetched.Crashes != "" {
		r.crashes = crash.Read(fetched.Crashes)
	}
	r.claim, r.session, r.worker, r.registration = fetched.Claim, c, w, reg
	r.record, r.trail, r.raw, r.crashed = &record.Default, &record.NoTrail, fetched.Record, fetched.Crashes != ""
	if len(fetched.Trail) > 0 {
		t := record.DecodeTrail(fetched.Trail)
		t.Raw = fetched.Trail
		r.trail = &t
	}
	r.ctx = c.context()
	r.given = Job{ID: fetched.ID, Name: reg.name, Attempt: r.trail.Fails + 1, run: r}
	r.job = &r.given
	r.attempt.Parent, r.attempt.Labels, r.attempt.Gate = r.ctx, reg.labels, w.fence
	r.attempt.Key, r.attempt.Own = jobKey{}, r.job
	rec, err := record.DecodeKnown(fetched.Record, fetched.ID, reg.name)
	if err == nil && rec.Name != reg.name {
		err = &InvalidError{
			What: "the name in its record", Value: rec.Name, Remedy: "it stood in the queue of " + reg.name,
		}
	}
	if err != nil {
		r.recordErr = err
		return
	}
	if !rec.IsDefault() {
		kept := rec
		r.record = &kept
	}
	retries := reg.options.Retries
	if rec.Retries != nil {
		retries = max(0, *rec.Retries)
	}
	j := r.job
	j.SourceID, j.Args, j.Meta, j.Tags = rec.Source, rec.Args, rec.Meta, rec.Tags
	j.Parent, j.Key = rec.Parent, rec.Key
	j.RetriesLeft = max(0, retries-r.trail.Fails)
	if rec.EnqueuedAt > 0 {
		j.EnqueuedAt, j.RunAt = time.UnixMilli(rec.EnqueuedAt), time.UnixMilli(rec.EnqueuedAt)
	}
	if at := cmp.Or(r.trail.RunAt, rec.RunAt); at > 0 {
		j.RunAt = time.UnixMilli(at)
	}
}

// belongings is what the job has in Redis beside its record and trail.
func (r *run) belongings() rdb.Belongings {
	b := ending.Belongings(r.record, r.trail, r.decision.object)
	b.Flow = r.membership()
	return b
}

// membership is its part in a flow.
func (r *run) membership() rdb.Membership {
	of := ending.Membership(r.record)
	of.Result = r.decision.forFlow
	return of
}

// timeout is how long the handler may take; 0 is no limit.
func (r *run) timeout() time.Duration {
	if r.record.Timeout > 0 {
		return span.FromMillis(r.record.Timeout)
	}
	return span.Capped(r.registration.options.Timeout)
}

// retention is how long the outcome is kept.
func (r *run) retention() time.Duration {
	if r.record.Retention > 0 {
		return span.FromMillis(r.record.Retention)
	}
	return span.Capped(r.registration.options.Retention)
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
		ID: r.job.ID, Name: r.job.Name, SourceID: r.job.SourceID, Tags: r.job.Tags, Key: r.job.Key,
		Attempt: r.job.Attempt, Worker: r.session.rdb.ID, Begun: r.begunAt(),
	}
}

// cutOff tells whether its ctx ended because others may have its job.
func (r *run) cutOff() bool { return errors.Is(context.Cause(r.attempt.Parent), ErrFenced) }

// reportStuck tells of a handler that has not returned although its ctx ended.
func (r *run) reportStuck(cause error) {
	if r.begun.Load() != 0 && !r.settled.Load() {
		r.overtime(nil) // a timeout has listed its run itself; this is for cancelled and fenced jobs
		r.worker.events.emit(event.JobStuck{JobRef: r.ref(), Cause: cause})
	}
}

// overtime lists the run as one that keeps its processor although its ctx has ended. A batch is listed once, by its
// lead. report, if any, follows when the handler has not returned some seconds later.
func (r *run) overtime(report func()) {
	if b := r.together.Load(); b != nil {
		r = b.lead()
	}
	r.worker.group.overtime.Add(r, &r.over, r.worker.engine.times.Stuck, report)
}

// title is the run in an error: its id and name, and how many jobs its handler has beside it.
func (r *run) title() string {
	title := excerpt.Brief(r.job.ID) + " (" + r.job.Name + ")"
	if others := len(r.members()) - 1; others > 0 {
		title += " with " + excerpt.Count(others) + " more"
	}
	return title
}

// vacate leaves the processor to others.
func (r *run) vacate() {
	r.worker.group.overtime.End(r, &r.over)
	r.worker.slots.Vacate()
}

// discardRetention is how long it is remembered that a job was discarded.
const discardRetention = ending.Kept

// cancelDecision is the decision for a job that somebody has cancelled.
func (r *run) cancelDecision(now time.Time) decision {
	return r.ends(decision{verb: verbCancel, keep: discardRetention}, record.Outcome{}, now)
}

// keepForWaiters adds an outcome to the decision, because somebody waits for it. A result that cannot be kept is none.
func (r *run) keepForWaiters(now time.Time) {
	kept := record.Outcome{State: endState[r.decision.verb], EndedAt: now.UnixMilli()}
	if r.hasValue {
		encoded, err := r.encodeResult(r.value, maxResultBytes)
		if err != nil {
			kept.Problem = excerpt.ErrorText(err)
		}
		kept.Result = encoded
	}
	r.decision.keep, r.decision.result = discardRetention, kept.Encode()
}

// decide is decideByError with the outcome that is to be kept.
func (r *run) decide(result any, hasResult bool, err error, now time.Time) decision {
	r.endAttempt()
	if r.cancelRequested.Load() {
		return r.cancelDecision(now)
	}
	err = r.failed(err)
	if parked := r.parked(); parked != nil && !broken(err) {
		return r.parkDecision(parked, err, now)
	}
	if see := r.worker.engine.times.Result; see != nil && err == nil && hasResult {
		if encoded, err := encodeResult(r.registration.handler, result, maxResultBytes); err == nil {
			see(r.job.ID, encoded)
		}
	}
	keep := r.retention()
	var kept keptResult
	if err == nil && hasResult && keep > 0 {
		kept, err = r.keepResult(result)
	}
	var forFlow []byte
	if err == nil && hasResult && r.record.Flow != "" {
		forFlow, err = r.encodeResult(result, maxResultBytes)
	}
	d := r.decideByError(err, now)
	d.forFlow = forFlow
	r.value, r.hasValue = result, hasResult && d.verb == verbDone && keep == 0
	switch {
	case d.verb == verbDone && keep > 0:
		d.object = kept.object
		return r.ends(d, record.Outcome{Result: kept.inline, Object: kept.object}, now)
	case d.verb == verbDiscard && d.result == nil:
		d.keep = discardRetention
		return r.ends(d, record.Outcome{}, now)
	}
	return d
}

// maxResultBytes is how large the JSON of a result may be that is no object. Redis would refuse far larger ones for
// ever, and one that is larger than a pipeline holds up the outcomes of other jobs.
const maxResultBytes = 1 << 20

// encodeResult encodes what a handler returned. A value that does not encode, or is too large, fails the attempt.
func encodeResult(h *handler.Handler, result any, most int) (encoded []byte, err error) {
	if encoded, err = encodeValue(result); err != nil {
		return nil, &ResultError{Handler: h.String(), Err: err}
	}
	if len(encoded) > most {
		return nil, &ResultError{Handler: h.String(), Err: fmt.Errorf(
			"its JSON has %d bytes: return at most %d, and where to find what is larger", len(encoded), most)}
	}
	return encoded, nil
}

// hadBegun tells whether an earlier attempt began, as far as anybody noted it.
func (r *run) hadBegun() bool { return r.trail.Fails > 0 || r.trail.Begun || r.crashed }

// expiry is when the run's job expires, or expired; zero when it does not.
func (r *run) expiry() time.Time {
	if r.record.Expires == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.record.Expires)
}

// timeLimit is how long the attempt may take from now on, and the cause with which its ctx then ends; 0 is no limit.
func (r *run) timeLimit(clock *redisclock.Clock) (time.Duration, error) {
	limit := r.timeout()
	if r.record.Deadline == 0 {
		return limit, ErrTimeout
	}
	left := min(max(time.UnixMilli(r.record.Deadline).Sub(clock.Now()), 1), span.Longest)
	if limit > 0 && limit <= left {
		return limit, ErrTimeout
	}
	return left, ErrDeadline
}

// lostLock is the digest of the lock that the decision takes from the job: a buried one keeps only those that last
// longer.
func (r *run) lostLock() string {
	kind := rdb.LockKind(r.record.LockKind)
	if r.decision.verb == verbBury && (kind == rdb.UntilEnded || kind == rdb.UntilBegun) {
		return r.record.Lock
	}
	return ""
}

// heldLock is the lock that the run's job has as long as the run lasts. One for a time is not told by its job: nobody
// knows how much of the time is left.
func (r *run) heldLock() (digest string, kind rdb.LockKind) {
	kind = rdb.LockKind(r.record.LockKind)
	if kind == rdb.UntilEnded || kind == rdb.UntilGone || kind == rdb.UntilBegun && r.begun.Load() == 0 {
		return r.record.Lock, kind
	}
	if kind == rdb.UntilBegun {
		return r.record.Lock, rdb.FreedLock
	}
	return "", ""
}

// leave notes that a run does not count towards its quota any more, and calls the fetchers that wait for that.
func (r *run) leave() {
	if q := r.registration.quota; q != nil && q.GiveBack(1) {
		r.worker.host.wakeFetchers()
	}
}
