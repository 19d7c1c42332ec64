package workgroup

import "sync/atomic"

// Pool hands items to goroutines. A goroutine is started when there is an item that no resting one could take, up to
// as many as the pool may have; one that finds nothing rests, and after a while without work most of them leave.
// Whoever was woken, takes an item and sees another wakes one more: a batch of short items is done by the few that are
// awake already.
//
// A goroutine that waits for something else while it has an item may leave its place to another one meanwhile: see
// Away.
//
// To take an item costs one atomic addition: one goroutine alone adds, a batch at a time.
type Pool[T any] struct {
	most  int64
	start func()
	away  returns

	alive   atomic.Int64
	resting atomic.Int64
	first   atomic.Pointer[batch[T]]
	last    *batch[T]     // of the one that adds
	bell    Wakeup        // wakes one that rests
	leave   chan struct{} // tells one that rests to go
	yield   chan struct{} // tells one that rests to go, for the sake of one that was away
	closed  chan struct{}
}

// batch is what was added at once.
type batch[T any] struct {
	items []*T
	taken atomic.Int64
	next  atomic.Pointer[batch[T]]
}

// Spare is how many goroutines of a pool stay when there is nothing to do.
const Spare = 8

// NewPool makes a pool of at most so many goroutines. start starts one, which calls Take until that returns nil, with
// true the first time.
func NewPool[T any](most int, start func()) *Pool[T] {
	p := &Pool[T]{
		most: int64(most), start: start, last: &batch[T]{},
		bell: NewWakeup(), leave: make(chan struct{}), yield: make(chan struct{}),
		closed: make(chan struct{}),
	}
	p.first.Store(p.last)
	return p
}

// Add hands items out, which are the pool's from then on. One goroutine at a time may call it.
func (p *Pool[T]) Add(items []*T) {
	if len(items) == 0 {
		return
	}
	b := &batch[T]{items: items}
	p.last.next.Store(b)
	p.last = b
	p.call()
}

// call has one more goroutine look for an item.
func (p *Pool[T]) call() {
	if p.resting.Load() > 0 {
		p.bell.Wake() // or somebody is about to wake already, and will call others
		return
	}
	for alive := p.alive.Load(); alive < p.most; alive = p.alive.Load() {
		if p.alive.CompareAndSwap(alive, alive+1) {
			p.start()
			return
		}
	}
}

// Take returns the next item, and waits for one. It returns nil when the caller is to leave. A goroutine that was just
// started says so: it was called for help, and calls the next one.
func (p *Pool[T]) Take(called bool) *T {
	for {
		if p.alive.Load() > p.most && p.makeRoom() {
			return nil
		}
		if item, more := p.next(); item != nil {
			return p.pass(item, more && called)
		}
		p.resting.Add(1)
		if item, more := p.next(); item != nil { // it came before anybody could see that this one rests
			p.resting.Add(-1) // before it calls for help: it would be taken for one that can help
			return p.pass(item, more)
		}
		select {
		case <-p.bell:
			p.resting.Add(-1)
			called = true
			continue
		case <-p.yield: // whoever sent it away counts it no more
			if p.hasMore() {
				p.call() // who called for help may have counted on this one
			}
			return nil
		case <-p.closed:
			p.resting.Add(-1)
			p.gone()
		case <-p.leave: // as above
		}
		return p.takeLast()
	}
}

// pass calls for help if there is more to do.
func (p *Pool[T]) pass(item *T, more bool) *T {
	if more {
		p.call()
	}
	return item
}

// takeLast returns what came while the caller was about to leave: those who called for help may have counted on it.
func (p *Pool[T]) takeLast() *T {
	item, more := p.next()
	if item != nil {
		p.alive.Add(1)
	}
	return p.pass(item, more)
}

// next takes an item if there is one, and tells whether there may be another.
func (p *Pool[T]) next() (item *T, more bool) {
	for {
		b := p.first.Load()
		if i := b.taken.Add(1) - 1; i < int64(len(b.items)) {
			item, b.items[i] = b.items[i], nil
			return item, i+1 < int64(len(b.items)) || b.next.Load() != nil
		}
		next := b.next.Load()
		if next == nil {
			return nil, false
		}
		p.first.CompareAndSwap(b, next)
	}
}

// hasMore tells whether there is something to take.
func (p *Pool[T]) hasMore() bool {
	b := p.first.Load()
	return b.taken.Load() < int64(len(b.items)) || b.next.Load() != nil
}

// Untaken takes back what no goroutine has taken, in the order in which it was added.
func (p *Pool[T]) Untaken() (items []*T) {
	for item, _ := p.next(); item != nil; item, _ = p.next() {
		items = append(items, item)
	}
	return items
}

// Shrink lets half of the goroutines that rest leave, down to Spare.
func (p *Pool[T]) Shrink() {
	for n := (p.resting.Load() - Spare + 1) / 2; n > 0; n-- {
		select {
		case p.leave <- struct{}{}:
			p.resting.Add(-1)
			p.gone()
		default:
			return
		}
	}
}

// Close sends all goroutines away once nothing is left to take. Nothing may be added any more.
func (p *Pool[T]) Close() { close(p.closed) }

// Size is how many goroutines there are, and how many of them rest.
func (p *Pool[T]) Size() (alive, resting int) { return int(p.alive.Load()), int(p.resting.Load()) }
