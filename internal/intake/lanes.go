package intake

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/workgroup"
)

const (
	// Lanes is how many calls an intake has under way at a time. The callers that come meanwhile gather, and go
	// together. Fewer lanes make larger calls: 128 callers on two cores shared with Redis got 170,000 jobs/s through
	// one lane, 160,000 through two, 135,000 through four. Two keep a call on its way while the other is answered. (16
	// callers make calls of 8 jobs, and made some of 5 while a lane did not wait for those it had just answered.)
	// With several partitions it is as many for all of them together, so that calls are as large.
	Lanes = 2
	// countsFor is how long a call counts towards that where there are several partitions: one that takes longer holds
	// up nobody who may go to another.
	countsFor = 5 * time.Millisecond
	// maxCallBytes is how large a call may be, unless a single job is larger.
	maxCallBytes = 1 << 20
)

// lane numbers its calls, of which one is under way at a time: so Redis knows a call that is sent again, and one that
// lands late, after the lane went on.
type lane struct {
	id     string
	site   *site
	desk   *desk // nil of those beside the calls of enqueues
	flows  bool  // what it stores are flows
	number int64
	jobs   []rdb.NewJob // of its last call: the room is used again

	// Guarded by the mu of lanes.
	underWay *batchCall // nil while it is free
	past
}

// desk is where requests stand in line: those for any partition, or those for one. It is guarded by the mu of lanes.
type desk struct {
	site *site             // nil: any
	line []*pendingRequest // oldest first; empty while a call can be made
	own  laneSet           // of one partition; those for any have theirs in the partitions
}

// lanes sends requests: at once where a lane is free, else together with others once one is. While nobody calls it has
// no goroutines.
type lanes struct {
	Config
	life     context.Context // ends what is under way when Close waits no longer
	end      context.CancelCauseFunc
	requests sync.Pool // of pending requests that were answered

	outOfTime func() error // timedOut, as the ctx of a call wants it

	mu       sync.Mutex
	sites    []*site // by number; nil where nothing went yet
	all      []*lane
	anywhere desk
	turn     int          // which partition is next, of those that have as few jobs
	load     int64        // of the partition with the most
	counted  []*batchCall // calls of anywhere under way, at most Lanes, but for those that take too long
	aging    *time.Timer  // looks for such while somebody stands in line; nil before it was needed
	asked    time.Time    // when a map was looked for last, by one who knows of none
	callers  int
	closed   bool
	vacated  chan struct{} // closed when closed and without callers
	serving  sync.WaitGroup
	losses   losses
}

func newLanes(config Config) *lanes {
	l := &lanes{Config: config, vacated: make(chan struct{})}
	l.life, l.end = context.WithCancelCause(context.Background())
	l.outOfTime = l.timedOut
	return l
}

// current is the newest map that is known.
func (l *lanes) current() *partition.Map {
	if l.Directory == nil {
		return undivided
	}
	return l.Directory.Map()
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

// send sends a request and waits for the answer, or until ctx ends or the timeout has passed.
func (l *lanes) send(ctx context.Context, p *pendingRequest) answer {
	if ctx.Err() != nil {
		return answer{outcome: NotStored, err: context.Cause(ctx)}
	}
	l.mu.Lock()
	at := &l.anywhere
	if p.to != nil {
		at = &p.to.bound
	}
	if len(at.line) == 0 {
		if own := l.grant(at); own != nil {
			c := l.newCall(own)
			if c.stale(p) {
				a := c.reroute() // while the lane is its own
				l.release(c)
				l.mu.Unlock()
				return a
			}
			c.take(p)
			c.waiting, c.alone = 1, true
			c.within.Parent, c.within.Until, c.within.Cause = ctx, p.until, l.outOfTime
			l.mu.Unlock()
			return l.sendAlone(c, p)
		}
	}
	p.inLine = true
	at.line = append(at.line, p)
	l.watch(at)
	l.mu.Unlock()
	return l.await(ctx, p, at)
}

// grant takes a lane for the next call of a desk; nil where none may be made now. mu is held.
func (l *lanes) grant(at *desk) *lane {
	if at.site != nil {
		if !at.own.room(mostBound) {
			return nil
		}
		return at.own.take(l, at.site, at)
	}
	if len(l.counted) >= Lanes {
		return nil
	}
	if to := l.choose(l.current()); to != nil {
		return to.anywhere.take(l, to, at)
	}
	return nil
}

// newCall makes a call without requests; mu is held.
func (l *lanes) newCall(own *lane) *batchCall {
	own.number++
	c := &batchCall{lanes: l, lane: own, version: l.current().Version, began: time.Now(), probe: own.site.probing}
	if own.desk.site == nil {
		l.counted = append(l.counted, c)
		own.site.began = c.began
	}
	return c
}

// sendAlone makes the call in the goroutine of its only caller, whose ctx is then that of the call. Whoever comes in
// the meantime is served by a goroutine.
func (l *lanes) sendAlone(c *batchCall, p *pendingRequest) answer {
	c.run(&c.within)
	c.within.End() // for what a driver may have left behind
	if next := l.next(c); next != nil {
		go l.serve(next)
	}
	a := p.answer
	l.putBack(p)
	return a
}

// next ends a call, and makes the next one out of what stands in line at its desk. Without any there is none.
func (l *lanes) next(before *batchCall) *batchCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := before.lane.desk
	l.release(before)
	return l.gather(at)
}

// release gives the lane of a call back; mu is held.
func (l *lanes) release(c *batchCall) {
	own := c.lane
	own.underWay = nil
	if c.probe {
		own.site.probing = false
	}
	if own.desk.site != nil {
		own.desk.own.free = append(own.desk.own.free, own)
		return
	}
	own.site.anywhere.free = append(own.site.anywhere.free, own)
	l.uncount(c)
	if c.slow {
		own.site.slow--
	}
}

// gather makes a call out of what stands in line at a desk, if one may be made now; mu is held.
func (l *lanes) gather(at *desk) *batchCall {
	if len(at.line) == 0 {
		return nil
	}
	own := l.grant(at)
	if own == nil {
		l.watch(at)
		return nil
	}
	c := l.newCall(own)
	jobs, bytes, taken := 0, 0, 0
	for _, p := range at.line {
		if c.stale(p) { // its caller finds out where it belongs now
			p.answer, p.answered = c.reroute(), true
			p.arrived <- struct{}{}
			taken++
			continue
		}
		jobs, bytes = jobs+len(p.jobs), bytes+p.bytes
		if len(c.requests) > 0 && (jobs > rdb.MaxBatch || bytes > maxCallBytes) {
			break
		}
		p.call = c
		c.take(p)
		taken++
	}
	rest := copy(at.line, at.line[taken:])
	clear(at.line[rest:])
	at.line = at.line[:rest]
	if c.waiting = len(c.requests); c.waiting == 0 {
		l.release(c)
		return nil
	}
	l.serving.Add(1)
	return c
}

// serve makes calls until nobody stands in line.
func (l *lanes) serve(c *batchCall) {
	for c != nil {
		ctx, cancel := context.WithCancel(l.life)
		c.setCancel(cancel)
		c.run(ctx)
		cancel()
		l.gatherAgain(c.lane.desk, len(c.requests))
		c = l.next(c)
		l.serving.Done()
	}
}

// gatherAgain lets those who were answered go on, who may have more: it goes with the next call. It ends when as many
// stand in line, or after a few turns.
func (l *lanes) gatherAgain(at *desk, answered int) {
	workgroup.Gather(func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(at.line) >= answered
	})
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
	for _, s := range l.present() {
		s.confirmer.Close()
	}
	return err
}

// cutOff ends what is under way.
func (l *lanes) cutOff() {
	l.end(l.Closed)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.all {
		if c := each.underWay; c != nil {
			c.cutOff()
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
