package work

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/objects"
)

// tell changes what the next heartbeat says of the run, and tells the observers at once; false where the attempt is
// over.
func (r *run) tell(said event.JobCheckedIn, change func(*longjob.Attempt) (first bool)) bool {
	long := r.longJob()
	if long.Over() {
		return false
	}
	if r.worker.events.perJob() {
		said.JobRef = r.ref()
		r.worker.events.emit(said)
	}
	if change(long) {
		r.session.watch(r)
	}
	return true
}

// tellStep tells the observers of a step that is done.
func (r *run) tellStep(done event.StepDone) {
	if r.worker.events.perJob() {
		done.JobRef = r.ref()
		r.worker.events.emit(done)
	}
}

func (r *run) now() time.Time { return r.worker.clock.Now() }

// parked is what the job waits for; nil where its attempt has come to no wait.
func (r *run) parked() *longjob.Parking {
	if long := r.longIfAny(); long != nil {
		return long.Parked()
	}
	return nil
}

// stateError is what a program is told where its state was not saved.
func (r *run) stateError(err error) error {
	switch {
	case errors.Is(err, longjob.ErrGone):
		return &ClaimGoneError{r.ref()}
	case errors.Is(err, longjob.ErrOver):
		return ErrAttemptOver
	}
	return err
}

// longRun is what a run keeps and tells beside its outcome. It is made when the handler first asks for any of it.
type longRun struct {
	mu      sync.Mutex
	over    bool // the attempt is
	attempt *longjob.Attempt

	children record.Children // that this attempt has enqueued
}

// longJob is what the attempt keeps and tells, made if need be.
func (r *run) longJob() *longjob.Attempt {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.attempt == nil {
		var mirror slog.Handler
		if o := r.worker.engine.options; o.MirrorJobLogs {
			mirror = o.Logger.Handler().
				WithAttrs([]slog.Attr{slog.String("job", r.job.ID), slog.String("name", r.job.Name)})
		}
		r.long.attempt = longjob.New(longjob.Options{
			Worker: r.session.rdb, Store: r.worker.store, Claim: r.claim, ID: r.job.ID, Named: r.ref().String(),
			Number: r.job.Attempt, Trail: *r.trail, Record: r.raw,
			Member: r.record.Flow != "", Logs: r.worker.logs, Mirror: mirror,
			Life:  r.worker.life,
			Steps: repeatable,
		})
		if r.long.over {
			r.long.attempt.End()
		}
	}
	return r.long.attempt
}

// longIfAny is longJob, or nil where nobody has asked for it.
func (r *run) longIfAny() *longjob.Attempt {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	return r.long.attempt
}

// endAttempt lets nothing be written to Redis any more but what is on its way, and puts what there is into the trail,
// which nobody changes from then on. Whoever decides about the run calls it first; the first call counts.
func (r *run) endAttempt() {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.over {
		return
	}
	r.long.over = true
	hasLog, hasState := r.trail.Log, r.trail.State
	if r.long.attempt != nil {
		hasLog, hasState = r.long.attempt.End()
	}
	if hasLog != r.trail.Log || hasState != r.trail.State || r.long.children.Count > 0 {
		whole := *r.trail
		whole.Log, whole.State, whole.Children = hasLog, hasState, r.trail.Children.With(r.long.children)
		r.trail = &whole
	}
}

// presentTrail is the trail that stands in Redis, to be stored again.
func (r *run) presentTrail() []byte {
	if long := r.longIfAny(); long != nil {
		if present := long.PresentTrail(); present != nil {
			return present
		}
	}
	return r.trail.Raw
}

// takeNews is what it has told since the last heartbeat; nil for nothing.
func (r *run) takeNews() *string {
	if long := r.longIfAny(); long != nil {
		return long.TakeNews()
	}
	return nil
}

// logLeft is what of the log is to be sent ahead of the outcome.
func (r *run) logLeft() []joblog.Batch {
	if log := r.log(); log != nil {
		return log.Rest()
	}
	return nil
}

// lostLog gives up what of the log Redis has not taken although the outcome has counted. It returns the event that
// tells so; nil where nothing is lost.
func (r *run) lostLog() event.Event {
	if log := r.log(); log != nil {
		if err := log.Abandon(); err != nil {
			return log.Lost(err)
		}
	}
	return nil
}

func (r *run) log() *joblog.Log {
	if long := r.longIfAny(); long != nil {
		return long.Log()
	}
	return nil
}

// openArgs opens args that codecs have stored, and gathers those that are objects. A job whose codec or key is not
// known here waits for a worker that knows it: no attempt is used.
func (r *run) openArgs() error {
	if codec.Is(r.job.Args) {
		open, err := r.registration.codecs.Open(codec.Args(r.job.Name), r.job.Args)
		if err != nil {
			return r.unopened(err)
		}
		r.job.Args = open
	}
	if len(r.record.Objects) > 0 {
		return r.gatherObjects()
	}
	return nil
}

// unopened is the error of an attempt whose args could not be opened.
func (r *run) unopened(err error) error {
	err = codecError("the args of job "+excerpt.Brief(r.job.ID), err)
	var failed *CodecError
	if errors.As(err, &failed) && failed.elsewhere() {
		return Release(failed)
	}
	return err
}

// codecs are those of the job's values.
func (r *run) codecs() *codec.Chain { return r.registration.codecs }

// encodeResult is the JSON of a result, as it is stored. most bounds it before codecs have it.
func (r *run) encodeResult(result any, most int) ([]byte, error) {
	encoded, err := encodeResult(r.registration.handler, result, most)
	if err != nil {
		return nil, err
	}
	if encoded, err = r.registration.codecs.Encode(codec.Result(r.job.ID), encoded); err != nil {
		return nil, &ResultError{Handler: r.registration.handler.String(), Err: codecError("the result", err)}
	}
	return encoded, nil
}

// gatherObjects puts the arguments that are objects into the job's Args, where null stands for them. What the program
// refers to by a [objects.Ref] its handler reads when it wants to.
func (r *run) gatherObjects() error {
	var sealed error
	get := func(hash objects.Hash) ([]byte, error) {
		content, err := r.worker.site.objects.cache.Get(r.ctx, hash)
		if err == nil {
			content, err = r.registration.codecs.Open(codec.Argument(r.job.Name), content)
			sealed = err
		}
		return content, err
	}
	whole, missing := jobargs.Gather(r.job.Args, r.record.Objects, get)
	if sealed != nil {
		return r.unopened(sealed)
	}
	if missing != nil {
		return r.decideObjectFailure(&ObjectError{Argument: missing.Position + 1, Hash: missing.Hash, Err: missing.Err,
			final: missing.Beyond || isFinal(missing.Err)})
	}
	r.job.Args = whole
	return nil
}

// objects is where the references to objects among the job's arguments read from; nil where it has none.
func (r *run) objects() objects.Source {
	if len(r.record.Objects) == 0 {
		return nil
	}
	return r.worker.site.objects.cache
}

// decideObjectFailure decides whether the attempt has failed. What is wrong on the way to Redis is not the job's
// failure.
func (r *run) decideObjectFailure(e *ObjectError) error {
	if e.final || r.ctx.Err() != nil || redisconn.MeaningOf(e.Err) == redisconn.OfCall {
		return e
	}
	return Release(e)
}

// keptResult is a result as the outcome has it.
type keptResult struct {
	inline []byte
	object string // hash
}

// keepResult encodes a result and stores a large one as an object, to which the job then refers.
func (r *run) keepResult(result any) (keptResult, error) {
	o, most := r.worker.site.objects, maxResultBytes
	if o.large < objects.MaxSize {
		most = objects.MaxSize
	}
	encoded, err := r.encodeResult(result, most)
	if err != nil || len(encoded) <= o.large {
		return keptResult{inline: encoded}, err
	}
	hash, err := o.keep(r.worker.life, encoded, r.job.ID)
	switch {
	case err == nil:
		return keptResult{object: string(hash)}, nil
	case len(encoded) <= maxResultBytes: // such as in a full Redis, where a settlement is never refused
		return keptResult{inline: encoded}, nil
	}
	return keptResult{}, &ResultError{Handler: r.registration.handler.String(), Err: err}
}
