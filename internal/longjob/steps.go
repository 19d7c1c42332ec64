package longjob

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// What the methods about steps may return beside ErrOver, ErrGone and the errors of Redis.
var (
	ErrTwice  = errors.New("this attempt has had a step of that name")
	ErrParked = errors.New("this attempt is to end, since the job waits")
	ErrFull   = errors.New("the job has as many steps, or as many bytes of them, as it may have")
)

// writeGrace is how long a step that has succeeded is still brought to Redis after its ctx has ended: what it has done
// is done, and would be done again.
const writeGrace = 900 * time.Millisecond

// Parking is what a job waits for, for which it leaves its worker.
type Parking struct {
	rdb.Wait
	Name string // of the wait
	Err  error  // that the handler was given, and is to return
}

// steps are those of the job, as far as this attempt knows them.
type steps struct {
	loading sync.Mutex // is held while Redis is asked
	loaded  bool

	// guarded by the mutex of the attempt
	texts  map[string]string // what Redis has
	used   map[string]bool   // names that this attempt has had
	parked *Parking
}

// BeginStep names a step, or a wait, that the attempt has come to. It returns the text that is stored of it. The first
// call reads all steps, if the job may have any.
func (a *Attempt) BeginStep(ctx context.Context, name string) (text string, found bool, err error) {
	if err := a.useStep(name); err != nil {
		return "", false, err
	}
	if err := a.loadSteps(ctx); err != nil {
		return "", false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	text, found = a.steps.texts[name]
	return text, found, nil
}

func (a *Attempt) useStep(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return ErrOver
	case a.steps.parked != nil:
		return ErrParked
	case a.steps.used[name]:
		return ErrTwice
	}
	if a.steps.used == nil {
		a.steps.used = map[string]bool{}
	}
	a.steps.used[name] = true
	return nil
}

// loadSteps reads the steps of earlier attempts, once. Where the trail knows of none there are none, but for a member:
// a flow that is retried keeps its record, and not its trail.
func (a *Attempt) loadSteps(ctx context.Context) error {
	a.steps.loading.Lock()
	defer a.steps.loading.Unlock()
	if a.steps.loaded {
		return nil
	}
	texts := map[string]string{}
	if a.options.Trail.State || a.options.Member {
		err := a.untilAnswered(ctx, func(ctx context.Context) (err error) {
			texts, err = a.options.Store.Steps(ctx, a.options.ID, a.digest())
			return err
		})
		if err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps.loaded, a.steps.texts = true, map[string]string{}
	a.hasState = a.hasState || len(texts) > 0 // they must not be left behind
	maps.Copy(a.steps.texts, texts)
	return nil
}

func (a *Attempt) digest() string { return rdb.RecordDigest(a.options.Record) }

// WriteStep stores the text of a step that has ended. It asks until Redis answers or Life ends, also for a moment after
// ctx has ended.
func (a *Attempt) WriteStep(ctx context.Context, name, text string) error {
	if err := a.expectSteps(); err != nil {
		return err
	}
	ctx, cancel := outlast(ctx, writeGrace)
	defer cancel()
	err := a.askOfSteps(ctx, func(ctx context.Context) (rdb.StepAnswer, error) {
		return a.options.Worker.WriteSteps(ctx, a.holder(), []rdb.StoredStep{{Name: name, Text: text}})
	})
	if err == nil {
		a.storedStep(name, text)
	}
	return err
}

// AskWait asks whether a wait is over, and returns its text. Where it is not it has been noted.
func (a *Attempt) AskWait(ctx context.Context, wait rdb.Awaiting) (text string, err error) {
	if err := a.expectSteps(); err != nil {
		return "", err
	}
	err = a.askOfSteps(ctx, func(ctx context.Context) (answer rdb.StepAnswer, err error) {
		answer, text, err = a.options.Worker.AskWait(ctx, a.holder(), wait)
		return answer, err
	})
	if err == nil {
		a.storedStep(wait.Name, text)
	}
	return text, err
}

// Park says that the job is to leave its worker, and why. The first one counts.
func (a *Attempt) Park(parking Parking) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.steps.parked == nil {
		parking.Digest = a.digest()
		a.steps.parked = &parking
	}
}

// Parked is what the job waits for; nil where the attempt has come to no wait that is not over.
func (a *Attempt) Parked() *Parking {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.steps.parked
}

// expectSteps says that the job has steps from now on, whatever comes of the call.
func (a *Attempt) expectSteps() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return ErrOver
	}
	a.hasState = true
	return nil
}

func (a *Attempt) holder() *rdb.Holder {
	note := a.note(&a.stateNoted)
	a.mu.Lock()
	defer a.mu.Unlock()
	return &rdb.Holder{Claim: a.options.Claim, ID: a.options.ID, Digest: a.digest(), Note: note,
		Known: len(a.steps.texts)}
}

// askOfSteps asks until Redis answers. Steps that Redis has forgotten, since a replica took over that lacked them, are
// sent again first: what this attempt knows of was done.
func (a *Attempt) askOfSteps(ctx context.Context, ask func(context.Context) (rdb.StepAnswer, error)) error {
	return a.untilAnswered(ctx, func(ctx context.Context) error {
		answer, err := ask(ctx)
		for err == nil && answer == rdb.StepLost {
			holder, noted := a.holder(), false // the trail that noted them may have been forgotten with them
			holder.Known, holder.Note = 0, a.note(&noted)
			if answer, err = a.options.Worker.WriteSteps(ctx, holder, a.knownSteps()); err == nil &&
				answer == rdb.StepWritten {
				answer, err = ask(ctx)
			}
		}
		switch {
		case err != nil:
			return err
		case answer == rdb.StepGone:
			return ErrGone
		case answer == rdb.StepFull:
			return ErrFull
		}
		return nil
	})
}

func (a *Attempt) knownSteps() (known []rdb.StoredStep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, text := range a.steps.texts {
		known = append(known, rdb.StoredStep{Name: name, Text: text})
	}
	return known
}

func (a *Attempt) storedStep(name, text string) {
	a.noted(&a.stateNoted)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps.texts[name] = text
}

// outlast is a ctx that ends so much later than another one.
func outlast(ctx context.Context, grace time.Duration) (longer context.Context, cancel func()) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { end(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		end(nil)
	}
}
