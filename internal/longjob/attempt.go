// Package longjob is what an attempt of a job keeps and tells in Redis beside its outcome, while it goes on: a log, a
// saved state, steps that are done, a message and a progress. Most attempts have nothing of it. The methods of a job
// call it in the handler, the heartbeater takes the news along, and the settler what is left of the log. It knows one
// attempt, and never decides what becomes of it.
package longjob

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// What SaveState may return beside the errors of Redis.
var (
	ErrOver = errors.New("this attempt of the job is over")
	ErrGone = errors.New("the claim of this attempt is gone")
)

// questionTimeout is after which Redis is asked anew.
const questionTimeout = 10 * time.Second

// Options say which attempt it is, and what it is given.
type Options struct {
	Worker *rdb.Worker // the identity that holds the claim
	Store  *rdb.Store
	Claim  rdb.Claim
	ID     string // of the job
	Named  string // the job as it is named in reports
	Number int    // of the attempt, from 1 on
	Trail  record.Trail
	Record []byte // as it is stored
	Member bool   // of a flow: its trail may have been left behind, with what it says of steps, when that was retried

	Logs   *joblog.Flusher
	Mirror slog.Handler    // takes what is logged as well; may be nil
	Life   context.Context // nothing is asked once it has ended
	Steps  retry.Steps     // how Redis is asked until it answers
}

// Attempt is one attempt. All methods may be called concurrently.
type Attempt struct {
	options Options
	news    atomic.Pointer[string] // the last that it told, until a heartbeat has taken it

	mu       sync.Mutex
	over     bool   // nothing is written any more
	told     bool   // something
	message  string // the last one
	progress string // JSON, the last one

	log   *joblog.Log // nil until somebody asked for the logger
	saves int64       // numbers of what was saved
	steps steps

	// What is or will be in Redis, and is in the trail once the attempt is over. It is noted before it is sent: a log
	// that was noted and is not there harms nobody, one that is there and was not noted is left behind.
	hadLog, hasState     bool // hadLog: an earlier attempt has logged
	logNoted, stateNoted bool // Redis knows
}

// New returns an attempt that keeps nothing yet but what earlier ones have left, as its trail says.
func New(options Options) *Attempt {
	options.Steps.Final = func(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, ErrFull) }
	options.Steps.Classify = func(err error) retry.Class {
		class := retry.Classify(err)
		// The job has nothing to do with a password that was changed. Memory it may do without.
		class.Again = class.Again || redisconn.ConcernsServer(err) && !redisconn.IsFull(err)
		return class
	}
	t := options.Trail
	return &Attempt{options: options, hadLog: t.Log, logNoted: t.Log, hasState: t.State, stateNoted: t.State}
}

// Logger writes to the job's log. What is logged once the attempt is over is dropped.
func (a *Attempt) Logger() *slog.Logger {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		o := &a.options
		a.log = o.Logs.New(joblog.Attempt{
			Worker: o.Worker, Claim: o.Claim, ID: o.ID, Named: o.Named, Number: o.Number,
			Note:  func() rdb.Note { return a.note(&a.logNoted) },
			Noted: func() { a.noted(&a.logNoted) },
		}, o.Mirror)
		if a.over {
			a.log.End()
		}
	}
	return a.log.Logger()
}

// Over tells whether the attempt is over, so that nothing is told any more.
func (a *Attempt) Over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// Say changes the message that the next heartbeat takes along. It returns whether it is the first thing that the
// attempt tells.
func (a *Attempt) Say(message string) (first bool) {
	return a.tell(func() { a.message = message })
}

// Progress is Say of a JSON that stands beside the message.
func (a *Attempt) Progress(progress string) (first bool) {
	return a.tell(func() { a.progress = progress })
}

func (a *Attempt) tell(change func()) (first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	news := record.EncodeCheckin(a.message, a.progress)
	a.news.Store(&news)
	first = !a.told
	a.told = true
	return first
}

// Refused has the next heartbeat take along why Redis does not take the outcome, in place of what the attempt has told.
func (a *Attempt) Refused(reason string) {
	news := record.EncodeRefused(reason)
	a.news.Store(&news)
}

// TakeNews returns what was told since the last time; nil where nothing was.
func (a *Attempt) TakeNews() *string { return a.news.Swap(nil) }

// ReturnNews puts back what could not be brought to Redis, unless there is something newer.
func (a *Attempt) ReturnNews(news *string) { a.news.CompareAndSwap(nil, news) }

// SaveState stores the JSON of a state. It asks until Redis answers, ctx ends or so does Life; of two saves under way
// the later one stays.
func (a *Attempt) SaveState(ctx context.Context, encoded []byte) error {
	number, err := a.nextSave()
	if err != nil {
		return err
	}
	o := &a.options
	note := a.note(&a.stateNoted)
	return a.untilAnswered(ctx, func(ctx context.Context) error {
		saved, err := o.Worker.SaveState(ctx, rdb.SavedState{
			Claim: o.Claim, ID: o.ID, Number: number, Note: note, JSON: encoded,
		})
		if err != nil {
			return err
		}
		if !saved {
			return ErrGone
		}
		a.noted(&a.stateNoted)
		return nil
	})
}

// nextSave numbers a save. From now on the job has a state, whatever comes of it.
func (a *Attempt) nextSave() (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return 0, ErrOver
	}
	a.hasState = true
	a.saves++
	return a.saves, nil
}

// LoadState returns the JSON of what was saved last; nil where nothing was.
func (a *Attempt) LoadState(ctx context.Context) (encoded json.RawMessage, err error) {
	err = a.untilAnswered(ctx, func(ctx context.Context) (err error) {
		encoded, err = a.options.Store.LoadState(ctx, a.options.ID)
		return err
	})
	if encoded == nil || err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasState = true // whatever the trail says: it must not be left behind
	return encoded, nil
}

func (a *Attempt) untilAnswered(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.options.Life, cancel)()
	return a.options.Steps.UntilAnswered(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, questionTimeout)
		defer cancel()
		return ask(ctx)
	})
}

// hasLog tells whether Redis has, or will have, a log of the job. mu is held.
func (a *Attempt) hasLog() bool { return a.hadLog || a.log != nil && a.log.Used() }

// note returns the trail that notes what the job has in Redis, with what is known to stand there already left out.
func (a *Attempt) note(noted *bool) rdb.Note {
	a.mu.Lock()
	defer a.mu.Unlock()
	if *noted {
		return rdb.Note{}
	}
	fuller := a.options.Trail
	fuller.Log, fuller.State = true, true
	return rdb.Note{Trail: a.present(), Fuller: fuller.Encode()}
}

// present is the trail with what the job has in Redis. mu is held.
func (a *Attempt) present() []byte {
	t := a.options.Trail
	t.Log, t.State = a.hasLog(), a.hasState
	return t.Encode()
}

// noted remembers that a note has reached Redis.
func (a *Attempt) noted(which *bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*which = true
}

// PresentTrail is the trail that stands in Redis since something was noted there; nil where nothing was.
func (a *Attempt) PresentTrail() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.logNoted && !a.stateNoted {
		return nil
	}
	return a.present()
}

// End says that the attempt is over: nothing is written to Redis any more but what is on its way. It returns what the
// job has there.
func (a *Attempt) End() (hasLog, hasState bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.log != nil {
		a.log.End()
	}
	return a.hasLog(), a.hasState
}

// Said is what the attempt has told last: a message, and the JSON of a progress.
func (a *Attempt) Said() (message string, progress json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.message, json.RawMessage(a.progress)
}

// Log is the log of an attempt; nil where nobody asked for the logger.
func (a *Attempt) Log() *joblog.Log {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log
}
