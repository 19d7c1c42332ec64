package work

import "sync/atomic"

// crew hands runs to processors. A processor is started when there is a run that no resting one could take up, up to as
// many as the worker may have; one that finds nothing rests, and after a while without work most of them leave. Whoever
// was woken, takes a run and sees another wakes one more: a batch of short jobs is done by the few that are awake
// already.
//
// Taking a run costs one atomic addition: the fetcher is the only one that adds, a lot at a time.
type crew struct {
	most  int64
	start func() // a goroutine that calls take until it is told to leave

	alive   atomic.Int64
	resting atomic.Int64
	first   atomic.Pointer[lot]
	last    *lot          // the fetcher's
	bell    chan struct{} // wakes one that rests
	leave   chan struct{} // tells one that rests to go
	closed  chan struct{}
}

// lot is what one fetch brought.
type lot struct {
	runs  []*run
	taken atomic.Int64
	next  atomic.Pointer[lot]
}

// spareProcessors is how many stay when there is nothing to do.
const spareProcessors = 8

func newCrew(most int, start func()) *crew {
	c := &crew{
		most: int64(most), start: start, last: &lot{},
		bell: make(chan struct{}, 1), leave: make(chan struct{}), closed: make(chan struct{}),
	}
	c.first.Store(c.last)
	return c
}

// add hands runs out. One goroutine may call it.
func (c *crew) add(runs []*run) {
	if len(runs) == 0 {
		return
	}
	l := &lot{runs: runs}
	c.last.next.Store(l)
	c.last = l
	c.call()
}

// close sends everybody away once nothing is left to take.
func (c *crew) close() { close(c.closed) }

// call has one more processor look for a run, if there is one.
func (c *crew) call() {
	if c.resting.Load() > 0 {
		select {
		case c.bell <- struct{}{}:
		default: // somebody is about to wake, and will call others
		}
		return
	}
	for alive := c.alive.Load(); alive < c.most; alive = c.alive.Load() {
		if c.alive.CompareAndSwap(alive, alive+1) {
			c.start()
			return
		}
	}
}

// take returns the next run, and waits for one. It returns nil when the caller is to leave. One that was just started
// says so: it was called for help, and calls the next one.
func (c *crew) take(called bool) *run {
	for {
		if r, more := c.next(); r != nil {
			return c.pass(r, more && called)
		}
		c.resting.Add(1)
		if r, more := c.next(); r != nil { // it came before anybody could see that this one rests
			c.resting.Add(-1) // before it calls for help: it would be taken for one that can help
			return c.pass(r, more)
		}
		select {
		case <-c.bell:
			c.resting.Add(-1)
			called = true
			continue
		case <-c.closed:
			c.resting.Add(-1)
			c.alive.Add(-1)
		case <-c.leave: // whoever sent it away counts it no more
		}
		return c.goodbye()
	}
}

// pass calls for help if there is more to do.
func (c *crew) pass(r *run, more bool) *run {
	if more {
		c.call()
	}
	return r
}

// goodbye returns what came while the caller was about to leave: those who called for help may have counted on it.
func (c *crew) goodbye() *run {
	r, more := c.next()
	if r != nil {
		c.alive.Add(1)
	}
	return c.pass(r, more)
}

// next takes a run if there is one, and tells whether there may be another.
func (c *crew) next() (r *run, more bool) {
	for {
		l := c.first.Load()
		if i := l.taken.Add(1) - 1; i < int64(len(l.runs)) {
			r, l.runs[i] = l.runs[i], nil
			return r, i+1 < int64(len(l.runs)) || l.next.Load() != nil
		}
		next := l.next.Load()
		if next == nil {
			return nil, false
		}
		c.first.CompareAndSwap(l, next)
	}
}

// shrink lets half of those that rest leave, down to a few.
func (c *crew) shrink() {
	for n := (c.resting.Load() - spareProcessors + 1) / 2; n > 0; n-- {
		select {
		case c.leave <- struct{}{}:
			c.resting.Add(-1)
			c.alive.Add(-1)
		default:
			return
		}
	}
}
