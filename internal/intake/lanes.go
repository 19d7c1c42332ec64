package intake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/replicas"
)

const (
	// Lanes is how many calls an intake has under way at a time. The callers that come meanwhile gather, and go
	// together. Fewer lanes make larger calls: 128 callers on two cores shared with Redis got 170,000 jobs/s through
	// one lane, 160,000 through two, 135,000 through four. Two keep a call on its way while the other is answered.
	Lanes = 2
	// maxCallBytes is how large a call may be, unless a single job is larger.
	maxCallBytes = 1 << 20
)

// lane numbers its calls, of which one is under way at a time: so Redis knows a call that is sent again, and one that
// lands late, after the lane went on.
type lane struct {
	id     string
	number int64
	jobs   []rdb.NewJob // of its last call: the room is used again

	// Guarded by the mu of lanes.
	underWay *batchCall // nil while it is free
	past
}

// lanes sends requests: at once where a lane is free, else together with others once one is. While nobody calls it has
// no goroutines.
type lanes struct {
	Config
	life     context.Context // ends what is under way when Close waits no longer
	end      context.CancelCauseFunc
	requests sync.Pool // of pending requests that were answered

	mu      sync.Mutex
	all     []*lane
	free    []*lane
	line    []*pendingRequest // oldest first; empty while a lane is free
	callers int
	closed  bool
	vacated chan struct{} // closed when closed and without callers
	serving sync.WaitGroup
	losses  losses

	confirmer *replicas.Confirmer
}

func newLanes(config Config) *lanes {
	l := &lanes{Config: config, vacated: make(chan struct{})}
	l.life, l.end = context.WithCancelCause(context.Background())
	for range Lanes {
		l.all = append(l.all, &lane{id: ids.Job(config.Clock.Now())})
	}
	l.free = slices.Clone(l.all)
	l.confirmer = replicas.New(replicas.Config{Dial: config.Witness, Closed: config.Closed})
	return l
}

// enter announces a caller; leave must follow, unless there is an error.
func (l *lanes) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.Closed
	}
	l.callers++
	return nil
}

func (l *lanes) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers--
	if l.closed && l.callers == 0 {
		close(l.vacated)
	}
}

// send sends the jobs and waits for the answer, or until ctx ends or the timeout has passed. confirmed says that the
// caller tells of them once replicas have them.
func (l *lanes) send(ctx context.Context, jobs []rdb.NewJob, bytes int, confirmed bool) answer {
	if ctx.Err() != nil {
		return answer{outcome: NotStored, err: context.Cause(ctx)}
	}
	p := l.newRequest(jobs, bytes)
	p.confirmed = confirmed
	l.mu.Lock()
	if n := len(l.free) - 1; n >= 0 {
		own := l.free[n]
		l.free = l.free[:n]
		l.mu.Unlock()
		return l.sendAlone(ctx, own, p)
	}
	p.inLine = true
	l.line = append(l.line, p)
	l.mu.Unlock()
	return l.await(ctx, p)
}

// sendAlone makes the call in the goroutine of its only caller, whose ctx is then that of the call. Whoever comes in
// the meantime is served by a goroutine.
func (l *lanes) sendAlone(ctx context.Context, own *lane, p *pendingRequest) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout, l.timedOut())
	defer cancel()
	own.number++
	c := &batchCall{lanes: l, lane: own, requests: []*pendingRequest{p}, waiting: 1, cancel: cancel}
	c.run(ctx)
	if next := l.next(own); next != nil {
		go l.serve(next)
	}
	a := p.answer
	l.putBack(p)
	return a
}

// next makes the next call of a lane out of what stands in line. Without any the lane is free, and there is no call.
func (l *lanes) next(own *lane) *batchCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.underWay = nil; len(l.line) == 0 {
		l.free = append(l.free, own)
		return nil
	}
	own.number++
	c := &batchCall{lanes: l, lane: own}
	jobs, bytes := 0, 0
	for _, p := range l.line {
		jobs, bytes = jobs+len(p.jobs), bytes+p.bytes
		if len(c.requests) > 0 && (jobs > rdb.MaxBatch || bytes > maxCallBytes) {
			break
		}
		p.call = c
		c.requests = append(c.requests, p)
	}
	c.waiting = len(c.requests)
	rest := copy(l.line, l.line[len(c.requests):])
	clear(l.line[rest:])
	l.line = l.line[:rest]
	l.serving.Add(1)
	return c
}

// serve makes calls of one lane until nobody stands in line.
func (l *lanes) serve(c *batchCall) {
	for c != nil {
		ctx, cancel := context.WithCancel(l.life)
		c.setCancel(cancel)
		c.run(ctx)
		cancel()
		c = l.next(c.lane)
		l.serving.Done()
	}
}

// close refuses new callers, waits for the present ones as long as a call may take, looks whether Redis still has what
// they stored, where that was due later, then ends what is under way.
func (l *lanes) close() error {
	l.mu.Lock()
	l.closed = true
	l.losses.stopLooking()
	if l.callers == 0 {
		close(l.vacated)
	}
	l.mu.Unlock()

	timer := time.NewTimer(l.Timeout)
	defer timer.Stop()
	var err error
	select {
	case <-l.vacated:
	case <-timer.C:
		err = fmt.Errorf("calls of the enqueuer were still under way %s after Close began: they were given up",
			l.Timeout)
	}
	if err == nil {
		l.lookLast()
	}
	l.cutOff()
	<-l.vacated
	l.serving.Wait()
	l.confirmer.Close()
	return err
}

// cutOff ends what is under way.
func (l *lanes) cutOff() {
	l.end(l.Closed)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.all {
		if c := each.underWay; c != nil && c.cancel != nil {
			c.cancel()
		}
	}
}

func (l *lanes) timedOut() error { return &TimeoutError{After: l.Timeout} }

// TimeoutError says that EnqueueTimeout has passed.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer within %s (EnqueueTimeout)", e.After)
}

// Is makes it a missed deadline for errors.Is.
func (*TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
