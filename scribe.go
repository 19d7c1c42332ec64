package work

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb"
)

// scribe brings the logs of a worker's jobs to Redis, those of all jobs together. It holds back the outcome of an
// attempt until its log is there: once the job has ended nobody could write it.
type scribe struct {
	worker  *worker
	writing *lifecycle.Loop // begins when somebody logs
	health  health
	called  chan struct{} // rung when there is something to send
	hurried chan struct{} // and when it should not wait

	mu      sync.Mutex
	waiting map[*run]bool // runs with lines; true: and with an outcome that waits
}

const (
	maxLogCalls = 16
	logTimeout  = 10 * time.Second
)

func newScribe(w *worker) *scribe {
	s := &scribe{
		worker: w, health: health{component: "scribe", events: w.events},
		called: make(chan struct{}, 1), hurried: make(chan struct{}, 1), waiting: map[*run]bool{},
	}
	s.writing = w.loop("scribe", s.run)
	return s
}

// expect notes that a run has lines.
func (s *scribe) expect(r *run, hurry bool) {
	s.mu.Lock()
	s.waiting[r] = false // its attempt is not over: it has just logged
	s.mu.Unlock()
	s.writing.Start(s.worker.life)
	ring(s.called)
	if hurry {
		ring(s.hurried)
	}
}

// handOver gives a run whose fate is decided to the settler: at once, or when its log was written.
func (s *scribe) handOver(r *run) {
	r.long.mu.Lock()
	logs := r.long.log != nil
	r.long.mu.Unlock()
	if logs {
		s.mu.Lock()
		_, logs = s.waiting[r]
		if logs {
			s.waiting[r] = true
		}
		s.mu.Unlock()
	}
	if !logs {
		s.worker.outcomes.put(r)
		return
	}
	ring(s.called)
	ring(s.hurried)
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

func (s *scribe) run(ctx context.Context) {
	ring(s.called) // what a panic has left
	for lap := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.called:
		}
		s.gather(ctx)
		err := s.write(ctx)
		if ctx.Err() != nil {
			return
		}
		s.health.report(err)
		if lap++; err == nil {
			lap = 0
			continue
		}
		ring(s.called)
		backoff.Pause(ctx, backoff.For(lap))
	}
}

// gather lets a few lines come together.
func (s *scribe) gather(ctx context.Context) {
	timer := time.NewTimer(logInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.hurried:
	case <-timer.C:
	}
}

// write sends all that there is. An error means that something is left, which is to be tried again later.
func (s *scribe) write(ctx context.Context) error {
	for {
		batches := s.batches()
		if len(batches) == 0 {
			return nil
		}
		if err := s.send(ctx, batches); err != nil {
			return err
		}
	}
}

// logBatch is a call that writes lines of one run.
type logBatch struct {
	run  *run
	call rdb.Call
}

// batches makes the calls of a pipeline. Runs that have nothing left are forgotten, and their outcomes go on their way.
func (s *scribe) batches() []logBatch {
	s.mu.Lock()
	runs := slices.Collect(maps.Keys(s.waiting))
	s.mu.Unlock()
	var batches []logBatch
	for _, r := range runs {
		if len(batches) == maxLogCalls {
			break
		}
		if call, some := s.nextCall(r); some {
			batches = append(batches, logBatch{r, call})
		}
	}
	return batches
}

// nextCall makes the call that writes the next lines of a run; false when there are none.
func (s *scribe) nextCall(r *run) (call rdb.Call, some bool) {
	note := r.note(&r.long.logNoted)
	r.long.mu.Lock()
	defer r.long.mu.Unlock() // which a run holds when it comes in
	if lines := r.long.log.next(r.worker.clock.now()); len(lines) > 0 {
		return r.claimant.rdb.Log(rdb.LogBatch{Claim: r.claim, ID: r.job.ID, Number: r.long.log.batch, Note: note,
			Lines: lines}), true
	}
	s.forget(r)
	return rdb.Call{}, false
}

func (s *scribe) forget(r *run) {
	s.mu.Lock()
	over := s.waiting[r]
	delete(s.waiting, r)
	s.mu.Unlock()
	if over {
		s.worker.outcomes.put(r)
	}
}

func (s *scribe) send(ctx context.Context, batches []logBatch) error {
	calls := make([]rdb.Call, len(batches))
	for i, b := range batches {
		calls[i] = b.call
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	answers, err := s.worker.store.SendLogs(ctx, calls)
	if err != nil {
		return err
	}
	var again error
	for i, answer := range answers {
		lost, err := s.acknowledge(batches[i].run, answer)
		if lost {
			defer s.worker.events.emit(event.Trouble{Component: "scribe, log of " + batches[i].run.ref().String(),
				Err: answer.Err})
		}
		again = excerpt.Join(again, err)
	}
	return again
}

// acknowledge books the answer to a batch. A refusal is returned if it makes sense to try again: not when an outcome
// waits, which Redis may take although it takes no log, nor when it is the log itself that is wrong. Then the rest is
// lost.
func (s *scribe) acknowledge(r *run, answer rdb.Logged) (lost bool, err error) {
	s.mu.Lock()
	over := s.waiting[r]
	s.mu.Unlock()
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	switch {
	case answer.Gone:
		r.long.log.close()
	case answer.Err == nil:
		r.long.log.flight, r.long.logNoted = nil, true
	case rdb.ConcernsServer(answer.Err) && !over:
		return false, answer.Err
	default:
		r.long.log.close()
		return true, nil
	}
	return false, nil
}
