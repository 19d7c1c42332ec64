package workgroup

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// returns are the goroutines of a pool that were away and wait for a place, in the order in which they came. They count
// as alive already, so that while one waits there are more alive than the pool may have: each goroutine sees so before
// it takes the next item, and leaves instead.
type returns struct {
	mu    sync.Mutex
	queue []chan struct{}
	waits atomic.Int64 // how many; read without mu
}

// Away leaves the place of the caller, which has taken an item and waits for something, to another goroutine. Return
// must follow.
func (p *Pool[T]) Away() {
	p.gone()
	if p.hasMore() {
		p.call()
	}
}

// Return takes a place again for a goroutine that was away, and waits for one until ctx ends: it then goes on beside
// the others, and the next one that has done its item leaves. It goes before items that wait for a goroutine.
func (p *Pool[T]) Return(ctx context.Context) {
	granted := p.returns()
	if granted == nil {
		return
	}
	for {
		select {
		case <-granted:
			return
		case p.yield <- struct{}{}:
			p.resting.Add(-1)
			p.gone()
		case <-ctx.Done():
			p.giveUp(granted)
			return
		}
	}
}

// returns counts a goroutine that was away as alive again. It returns nil where there is a place for it, else what is
// closed when there is.
func (p *Pool[T]) returns() (granted chan struct{}) {
	p.away.mu.Lock()
	defer p.away.mu.Unlock()
	if p.alive.Add(1) <= p.most {
		return nil
	}
	granted = make(chan struct{})
	p.away.queue = append(p.away.queue, granted)
	p.away.waits.Add(1)
	p.grant() // to whoever comes first: a place may have become free since
	return granted
}

// gone counts one goroutine less, whose place goes to the first one that waits to return.
func (p *Pool[T]) gone() {
	p.alive.Add(-1)
	if p.away.waits.Load() > 0 {
		p.away.mu.Lock()
		defer p.away.mu.Unlock()
		p.grant()
	}
}

// grant gives the places that are free to those that wait to return. mu is held.
func (p *Pool[T]) grant() {
	for len(p.away.queue) > 0 && p.alive.Load()-int64(len(p.away.queue)) < p.most {
		close(p.away.queue[0])
		p.away.queue = p.away.queue[1:]
		p.away.waits.Add(-1)
	}
}

// giveUp takes one that waits no longer out of the queue, unless it has a place by now.
func (p *Pool[T]) giveUp(granted chan struct{}) {
	p.away.mu.Lock()
	defer p.away.mu.Unlock()
	if at := slices.Index(p.away.queue, granted); at >= 0 {
		p.away.queue = slices.Delete(p.away.queue, at, at+1)
		p.away.waits.Add(-1)
	}
}

// makeRoom has the caller, which has no item, leave where there are more goroutines than the pool may have.
func (p *Pool[T]) makeRoom() (leave bool) {
	for alive := p.alive.Load(); alive > p.most; alive = p.alive.Load() {
		if p.alive.CompareAndSwap(alive, alive-1) {
			p.away.mu.Lock()
			defer p.away.mu.Unlock()
			p.grant()
			return true
		}
	}
	return false
}
