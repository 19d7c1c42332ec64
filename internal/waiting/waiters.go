package waiting

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
	"github.com/265d0351/work/internal/workgroup"
)

// Waiters are all who wait for jobs in one enqueuer. They share one subscription, on which the ids of jobs come as they
// end, and one goroutine that asks what became of them: many ids in one request, and one id once, however many wait for
// it.
//
// Nothing is lost: what a job waits for is noted in Redis by the very script that says that it has not ended, so from
// then on its end is told; whenever the subscription stands anew, and every Recheck, all is asked once more. While
// nobody waits, and a little longer, there are no goroutines and no subscription. All methods may be called
// concurrently.
type Waiters struct {
	// How long the end of a job may go unnoticed at the most if its id does not come. It is not to be changed once
	// somebody waits.
	Recheck time.Duration

	store    *rdb.Store
	closed   error                 // of waits that Close ends
	panicked func(value any) error // the error of waits that a panic ends
	life     context.Context
	end      context.CancelCauseFunc
	wakeup   workgroup.Wakeup // there is something to ask

	mu      sync.Mutex
	awaited map[string]*awaitedJob // by id; those that are known to have ended are no longer here
	asked   int                    // how many times Redis was asked
	trouble error                  // why the last question was not answered; nil when it was
	serving bool
	idle    bool // nobody has waited since the last recheck
	running sync.WaitGroup
}

// awaitedJob is a job that somebody waits for.
type awaitedJob struct {
	ask   bool // what became of it is to be asked
	calls map[*call]struct{}
}

// call is one caller, who waits for any number of jobs.
type call struct {
	ids   []string
	since int      // how many times Redis had been asked before
	ended chan End // has room for all of them, so nobody is held up by a slow caller
}

// End is what is told of a job that is not waited for any longer.
type End struct {
	ID        string
	Partition int // which says so
	Known     rdb.Awaited
	Err       error // it cannot be known
}

const (
	// recheckEvery is the default of Recheck.
	recheckEvery = 2 * time.Second
	// noteLife is how long Redis is told that somebody waits. Each recheck renews it, so it need only outlast an
	// outage: that it still stands when nobody waits any longer costs one outcome, for a minute.
	noteLife = 2 * time.Minute
	// questionTimeout is after which a question is asked anew.
	questionTimeout = 10 * time.Second
)

// New returns waiters whom nobody has joined. Waits that Close ends have the error closed, those that a panic ends what
// panicked makes of its value.
func New(store *rdb.Store, closed error, panicked func(value any) error) *Waiters {
	w := &Waiters{Recheck: recheckEvery, store: store, closed: closed, panicked: panicked,
		wakeup: workgroup.NewWakeup(), awaited: map[string]*awaitedJob{}}
	w.life, w.end = context.WithCancelCause(context.Background())
	return w
}

// Wait tells the ends of jobs as they come, until all have ended or enough is true. Each id is to be there once. It
// returns why it did not get there: the cause of ctx, with what was wrong with Redis until then, or that of Close.
func (w *Waiters) Wait(ctx context.Context, ids []string, enough func(End) bool) error {
	own, err := w.join(ids)
	if err != nil {
		return err
	}
	defer w.leave(own)
	left := make(map[string]bool, len(ids))
	for _, id := range ids {
		left[id] = true
	}
	for len(left) > 0 {
		end, cause := own.next(ctx, w.life)
		if cause != nil {
			return stillWaiting(ids, left, w.joinTrouble(cause))
		}
		if delete(left, end.ID); enough(end) {
			return nil
		}
	}
	return nil
}

// join begins to wait for jobs; leave must follow, unless there is an error.
func (w *Waiters) join(ids []string) (*call, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil {
		return nil, excerpt.Error(context.Cause(w.life))
	}
	own := &call{ids: ids, since: w.asked, ended: make(chan End, len(ids))}
	for _, id := range ids {
		job := w.awaited[id]
		if job == nil {
			job = &awaitedJob{ask: true, calls: map[*call]struct{}{}}
			w.awaited[id] = job
		}
		job.calls[own] = struct{}{}
	}
	w.idle = false
	if !w.serving {
		w.serving = true
		w.running.Go(w.serve)
	}
	w.wakeup.Wake()
	return own, nil
}

// leave ends a call. What was noted in Redis for it runs out.
func (w *Waiters) leave(own *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range own.ids {
		if job := w.awaited[id]; job != nil {
			if delete(job.calls, own); len(job.calls) == 0 {
				delete(w.awaited, id)
			}
		}
	}
}

// next returns the end of a job, or the cause for which none comes any more. What has come is not lost to it.
func (c *call) next(ctx, life context.Context) (end End, cause error) {
	select {
	case end = <-c.ended:
		return end, nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-life.Done():
		cause = context.Cause(life)
	}
	select {
	case end = <-c.ended:
		return end, nil
	default:
		return end, cause
	}
}

// stillWaiting names the first job that was still waited for.
func stillWaiting(ids []string, left map[string]bool, cause error) error {
	for _, id := range ids {
		switch {
		case left[id] && len(left) > 1:
			return fmt.Errorf("job %s and %d more have not ended: %w", excerpt.Brief(id), len(left)-1, cause)
		case left[id]:
			return fmt.Errorf("job %s has not ended: %w", excerpt.Brief(id), cause)
		}
	}
	return cause
}

// joinTrouble is the error of a wait that ended because of cause, with what was wrong with Redis until then.
func (w *Waiters) joinTrouble(cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return retry.JoinCause(cause, w.trouble)
}

// lastTrouble is why the last question was not answered; nil when it was.
func (w *Waiters) lastTrouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}

// Close ends all waits.
func (w *Waiters) Close() {
	w.mu.Lock()
	w.end(w.closed)
	w.mu.Unlock()
	w.running.Wait()
}

// Callers is how many wait for a job.
func (w *Waiters) Callers(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job := w.awaited[id]; job != nil {
		return len(job.calls)
	}
	return 0
}

// Jobs is how many jobs are waited for.
func (w *Waiters) Jobs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.awaited)
}

// serve asks until nobody has waited for a while.
func (w *Waiters) serve() {
	ctx, cancel := context.WithCancel(w.life)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			w.giveUp(w.panicked(value))
		}
	}()
	listening.Go(func() { w.listen(ctx) })
	rechecks := time.NewTicker(w.Recheck)
	defer rechecks.Stop()
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wakeup:
		case <-rechecks.C:
			if w.rests() {
				return
			}
			w.askAll()
		}
		if w.ask(ctx) {
			failures = 0
			continue
		}
		failures.Pause(ctx)
	}
}

// rests tells whether nobody has waited since the last recheck, and ends the serving then.
func (w *Waiters) rests() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle && len(w.awaited) == 0 {
		w.serving = false
		return true
	}
	w.idle = len(w.awaited) == 0
	return false
}

// giveUp ends all waits, because there is nobody to serve them.
func (w *Waiters) giveUp(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serving = false
	w.asked++ // also of those who came since
	for id := range w.awaited {
		w.tell(End{ID: id, Err: err})
	}
}

// listen keeps the subscription. One that cannot be had makes ends known later, by the rechecks.
func (w *Waiters) listen(ctx context.Context) {
	var failures backoff.Failures
	for {
		ready := func() { failures = 0; w.askAll() }
		_ = w.store.Driver().Subscribe(ctx, w.store.Done(), ready, func(id []byte) { w.hint(string(id)) })
		if !failures.Pause(ctx) {
			return
		}
	}
}

// hint is told an id that has ended.
func (w *Waiters) hint(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job := w.awaited[id]; job != nil {
		job.ask = true
		w.wakeup.Wake()
	}
}

func (w *Waiters) askAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, job := range w.awaited {
		job.ask = true
	}
	w.wakeup.Wake()
}

// ask asks what became of the jobs for which that is wanted, and tells those who wait. It returns false when Redis
// could not be asked and should be again.
func (w *Waiters) ask(ctx context.Context) bool {
	ids := w.questions()
	if len(ids) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	answers, err := w.store.Await(ctx, ids, noteLife)
	if err != nil {
		return w.failed(ids, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = nil
	for i, id := range ids {
		switch answers[i].State {
		case rdb.WaitPending:
		case rdb.WaitAskAgain:
			w.putBack(id)
		default:
			w.tell(End{ID: id, Known: answers[i]})
		}
	}
	return true
}

// questions takes the ids to ask for. One that is hinted at from now on is asked for once more.
func (w *Waiters) questions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	var ids []string
	for id, job := range w.awaited {
		if job.ask {
			job.ask = false
			ids = append(ids, id)
		}
	}
	return ids
}

// failed puts questions back that were not answered. Those that Redis refuses for good are told so.
func (w *Waiters) failed(ids []string, err error) (answered bool) {
	class := retry.Classify(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = class.Err
	for _, id := range ids {
		if class.Again {
			w.putBack(id)
		} else {
			err := fmt.Errorf("the outcome of job %s cannot be waited for: %w", excerpt.Brief(id), class.Err)
			w.tell(End{ID: id, Err: err})
		}
	}
	return !class.Again
}

func (w *Waiters) putBack(id string) {
	if job := w.awaited[id]; job != nil {
		job.ask = true
		w.wakeup.Wake()
	}
}

// tell wakes all who waited for a job when Redis was asked. For those who came since it is asked once more: the answer
// may be older than they are, and the job another one of that id. mu is held.
func (w *Waiters) tell(end End) {
	job := w.awaited[end.ID]
	if job == nil {
		return
	}
	for own := range job.calls {
		if own.since < w.asked {
			own.ended <- end
			delete(job.calls, own)
		}
	}
	if len(job.calls) == 0 {
		delete(w.awaited, end.ID)
		return
	}
	w.putBack(end.ID)
}
