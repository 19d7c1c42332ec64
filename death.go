package work

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
)

// death is the decision about a job that is out of retries, time or hope: it goes to the morgue, unless its options
// skip that. err is nil when no attempt has failed just now.
func (r *run) death(reason string, err error, now time.Time) decision {
	d := r.burial(reason, err, now)
	if !r.registration.options.SkipMorgue {
		return d
	}
	return decision{
		verb: verbDiscard, err: d.death, death: d.death, failure: d.failure, keep: max(r.retention(), discardRetention),
		result: outcome{State: stateDiscarded, EndedAt: now.UnixMilli()}.encode(),
	}
}

// causeOfDeath is what OnDeath is told.
func causeOfDeath(reason string, err error) error {
	if err != nil {
		return err
	}
	return errors.New(reason)
}

// permanent asks the job's Permanent function about an error. One that does not return is reported in the error and
// counts as no.
func (r *run) permanent(cause error) (permanent bool, err error) {
	ask := r.registration.options.Permanent
	if ask == nil {
		return false, cause
	}
	if fate := apart(func() { permanent = ask(cause) }); fate != "" {
		return false, fmt.Errorf("%w (and the function Permanent %s)", cause, fate)
	}
	return permanent, cause
}

// hopeless tells whether a failure is the end of a job that has retries left, as far as is known before its backoff.
func (r *run) hopeless(err error) bool {
	now := time.Now()
	if r.worker != nil {
		now = r.worker.clock.now()
	}
	if r.noTimeFor(now, now) != "" {
		return true
	}
	permanent := false
	if errchain.Find[*disposition](err) == nil {
		permanent, _ = r.permanent(err)
	}
	return permanent
}

// deathHookTime is how long OnDeath may take. It is shorter than a stop waits for outcomes.
const deathHookTime = 5 * time.Second

// errHookLate is the cause with which the ctx of OnDeath ends.
var errHookLate = errors.New(
	"OnDeath has not returned within 5s: its ctx has ended, and it is not waited for any longer")

// dies tells whether the run's job has just died here, and somebody wants to know.
func (r *run) dies() bool {
	return r.decision.death != nil && r.registration.options.OnDeath != nil && !r.lostClaim
}

// tellOfDeath calls OnDeath in a goroutine of its own. Until it returns, or its time is over, its job counts against
// what may be fetched: so there are never more of these goroutines than claims, and a stop waits for them.
func (w *worker) tellOfDeath(r *run) {
	ctx, cancel := context.WithTimeoutCause(w.life, w.pool.hookTime, errHookLate)
	end := sync.OnceFunc(func() { w.slots.settled(1) })
	ref, cause := r.ref(), r.decision.death
	stopWaiting := context.AfterFunc(ctx, func() {
		defer end()
		w.events.emit(event.DeathHookFailed{JobRef: ref, Err: context.Cause(ctx)})
	})
	go func() {
		defer cancel()
		var err error = fmt.Errorf("the function OnDeath has not returned: %w", &GoexitError{})
		defer func() {
			if stopWaiting() {
				defer end()
				if err != nil {
					w.events.emit(event.DeathHookFailed{JobRef: ref, Err: err})
				}
			}
		}()
		err = callOnDeath(ctx, r, cause)
	}()
}

// callOnDeath turns a panic of OnDeath into an error.
func callOnDeath(ctx context.Context, r *run, cause error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: cutStack(string(debug.Stack()))}
		}
	}()
	r.registration.options.OnDeath(ctx, r.job, cause)
	return nil
}
