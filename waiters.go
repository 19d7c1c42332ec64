package work

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// waiters are all who wait for jobs in one Enqueuer. They share one subscription, on which the ids of jobs come as they
// end, and one goroutine that asks what became of them: many ids in one request, and one id once, however many wait for
// it.
//
// Nothing is lost: what a job waits for is noted in Redis by the very script that says that it has not ended, so from
// then on its end is told; whenever the subscription stands anew, and every recheckEvery, all is asked once more. While
// nobody waits, and a little longer, there are no goroutines and no subscription.
type waiters struct {
	store *rdb.Store
	life  context.Context // ends with the enqueuer
	end   context.CancelCauseFunc
	nudge chan struct{} // there is something to ask
	looks time.Duration // how often all is asked

	mu      sync.Mutex
	awaited map[string]*awaitedJob // by id; those that are known to have ended are no longer here
	trouble error                  // why the last question was not answered; nil when it was
	serving bool
	idle    bool // nobody has waited since the last look
	running sync.WaitGroup
}

// awaitedJob is a job that somebody waits for.
type awaitedJob struct {
	ask   bool // what became of it is to be asked
	waits map[*wait]struct{}
}

// wait is one caller, for any number of jobs.
type wait struct {
	ids   []string
	ended chan jobEnd // has room for all of them, so nobody is held up by a slow caller
}

// jobEnd is what is told of a job that is not waited for any longer.
type jobEnd struct {
	id    string
	known rdb.Awaited
	err   error // it cannot be known
}

const (
	// recheckEvery is how long the end of a job may go unnoticed at the most if the hint is lost.
	recheckEvery = 2 * time.Second
	// noteLife is how long Redis is told that somebody waits. Each look renews it, so it need only outlast an outage:
	// that it still stands when nobody waits any longer costs one outcome, for a minute.
	noteLife = 2 * time.Minute
	// questionTimeout is after which a question is asked anew.
	questionTimeout = 10 * time.Second
)

func newWaiters(store *rdb.Store) *waiters {
	w := &waiters{store: store, nudge: make(chan struct{}, 1), looks: recheckEvery, awaited: map[string]*awaitedJob{}}
	w.life, w.end = context.WithCancelCause(context.Background())
	return w
}

// join begins to wait for jobs; leave must follow, unless there is an error.
func (w *waiters) join(ids []string) (*wait, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil {
		return nil, excerpt.Error(context.Cause(w.life))
	}
	own := &wait{ids: ids, ended: make(chan jobEnd, len(ids))}
	for _, id := range ids {
		job := w.awaited[id]
		if job == nil {
			job = &awaitedJob{ask: true, waits: map[*wait]struct{}{}}
			w.awaited[id] = job
		}
		job.waits[own] = struct{}{}
	}
	w.idle = false
	if !w.serving {
		w.serving = true
		w.running.Go(w.serve)
	}
	w.wakeUp()
	return own, nil
}

// leave ends a wait. What was noted in Redis for it runs out.
func (w *waiters) leave(own *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range own.ids {
		if job := w.awaited[id]; job != nil {
			if delete(job.waits, own); len(job.waits) == 0 {
				delete(w.awaited, id)
			}
		}
	}
}

// blame is the error of a wait that ended because of cause, with what was wrong with Redis until then.
func (w *waiters) blame(cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return blame(cause, w.trouble)
}

// close ends all waits with [ErrClosed].
func (w *waiters) close() {
	w.mu.Lock()
	w.end(ErrClosed)
	w.mu.Unlock()
	w.running.Wait()
}

func (w *waiters) wakeUp() {
	select {
	case w.nudge <- struct{}{}:
	default: // it is awake
	}
}

// serve asks until nobody has waited for a while.
func (w *waiters) serve() {
	ctx, cancel := context.WithCancel(w.life)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			w.giveUp(&PanicError{Value: value, Stack: cutStack(string(debug.Stack()))})
		}
	}()
	listening.Go(func() { w.listen(ctx) })
	looks := time.NewTicker(w.looks)
	defer looks.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-w.nudge:
		case <-looks.C:
			if w.restful() {
				return
			}
			w.askAll()
		}
		if w.ask(ctx) {
			failures = 0
			continue
		}
		failures++
		backoff.Pause(ctx, backoff.For(failures))
	}
}

// restful tells whether nobody has waited since the last look, and ends the serving then.
func (w *waiters) restful() bool {
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
func (w *waiters) giveUp(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serving = false
	for id := range w.awaited {
		w.tell(jobEnd{id: id, err: err})
	}
}

// listen keeps the subscription. One that cannot be had makes ends known later, by the looks.
func (w *waiters) listen(ctx context.Context) {
	for failures := 1; ; failures++ {
		ready := func() { failures = 0; w.askAll() }
		_ = w.store.Driver().Subscribe(ctx, w.store.Done(), ready, func(id []byte) { w.hint(string(id)) })
		if !backoff.Pause(ctx, backoff.For(max(1, failures))) {
			return
		}
	}
}

// hint is told an id that has ended.
func (w *waiters) hint(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if job := w.awaited[id]; job != nil {
		job.ask = true
		w.wakeUp()
	}
}

func (w *waiters) askAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, job := range w.awaited {
		job.ask = true
	}
	w.wakeUp()
}

// ask asks what became of the jobs for which that is wanted, and tells those who wait. It returns false when Redis
// could not be asked and should be again.
func (w *waiters) ask(ctx context.Context) bool {
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
		switch answers[i].Fate {
		case rdb.FateWaiting:
		case rdb.FateLater:
			w.putBack(id)
		default:
			w.tell(jobEnd{id: id, known: answers[i]})
		}
	}
	return true
}

// questions takes the ids to ask for. One that is hinted at from now on is asked for once more.
func (w *waiters) questions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
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
func (w *waiters) failed(ids []string, err error) (answered bool) {
	v := judge(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = v.err
	for _, id := range ids {
		if v.again {
			w.putBack(id)
		} else {
			w.tell(jobEnd{id: id, err: fmt.Errorf("the outcome of job %s cannot be waited for: %w", quoted(id), v.err)})
		}
	}
	return !v.again
}

func (w *waiters) putBack(id string) {
	if job := w.awaited[id]; job != nil {
		job.ask = true
		w.wakeUp()
	}
}

// tell wakes all who wait for a job. mu is held.
func (w *waiters) tell(end jobEnd) {
	if job := w.awaited[end.id]; job != nil {
		for own := range job.waits {
			own.ended <- end
		}
		delete(w.awaited, end.id)
	}
}
