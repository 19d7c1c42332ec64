// Package gathering collects items until there are enough of them, or one has waited long enough for more, and then
// passes them on as one batch. The fetcher of a worker adds jobs that are taken together; what a batch is for, it does
// not know. It asks nobody whether there is more.
package gathering

import (
	"slices"
	"sync"
	"time"
)

// Gathering collects items, by key. All methods may be called concurrently.
type Gathering[T comparable] struct {
	most  int
	wait  time.Duration
	ready func(batch []T) // called with mu held, so that nothing is on its way once Take has returned

	mu    sync.Mutex
	open  map[string]*batch[T]
	order []*batch[T] // those that are open, the oldest first
	held  int         // items in them
}

// batch is items that wait for more.
type batch[T comparable] struct {
	key   string
	items []T
	timer *time.Timer // ends the wait
}

// New makes a gathering of batches of at most so many items, the first of which waits that long for others: zero is
// not at all. Each batch is passed to ready, in whose goroutine is that of an Add or a Flush, or one of its own; ready
// must not call the gathering.
func New[T comparable](most int, wait time.Duration, ready func(batch []T)) *Gathering[T] {
	return &Gathering[T]{most: most, wait: wait, ready: ready, open: map[string]*batch[T]{}}
}

// Add adds an item to the batch of its key. With the last one that fits, that is ready.
func (g *Gathering[T]) Add(key string, item T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.open[key]
	if b == nil {
		b = &batch[T]{key: key}
		g.open[key], g.order = b, append(g.order, b)
	}
	b.items = append(b.items, item)
	g.held++
	if len(b.items) == g.most {
		g.pass(b)
	}
}

// Settle ends a turn of additions: what may wait begins to, and what may not is ready.
func (g *Gathering[T]) Settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait <= 0 {
		g.flush(len(g.order))
		return
	}
	for _, b := range g.order {
		if b.timer == nil {
			b.timer = time.AfterFunc(g.wait, func() { g.over(b) })
		}
	}
}

// over ends the wait of a batch, unless it is ready already.
func (g *Gathering[T]) over(b *batch[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[b.key] == b {
		g.pass(b)
	}
}

// Flush has the oldest batches wait for no more: so many, or all that there are.
func (g *Gathering[T]) Flush(batches int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flush(min(batches, len(g.order)))
}

func (g *Gathering[T]) flush(batches int) {
	for range batches {
		g.pass(g.order[0])
	}
}

// pass passes a batch on. mu is held.
func (g *Gathering[T]) pass(b *batch[T]) {
	g.remove(b)
	g.ready(b.items)
}

func (g *Gathering[T]) remove(b *batch[T]) {
	if b.timer != nil {
		b.timer.Stop()
	}
	delete(g.open, b.key)
	g.order = slices.DeleteFunc(g.order, func(other *batch[T]) bool { return other == b })
	g.held -= len(b.items)
}

// Missing is how many items would fill the batch of a key that is being collected, or a new one.
func (g *Gathering[T]) Missing(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.open[key]; b != nil {
		return g.most - len(b.items)
	}
	return g.most
}

// Held is how many items wait for more.
func (g *Gathering[T]) Held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// Remove takes back one item, if it waits for more.
func (g *Gathering[T]) Remove(key string, item T) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.open[key]
	if b == nil {
		return false
	}
	at := slices.Index(b.items, item)
	if at < 0 {
		return false
	}
	b.items = slices.Delete(b.items, at, at+1)
	g.held--
	if len(b.items) == 0 {
		g.remove(b)
	}
	return true
}

// Take takes back all items that wait for more, in no order. No batch of them is passed on any more.
func (g *Gathering[T]) Take() (items []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.order) > 0 {
		b := g.order[0]
		g.remove(b)
		items = append(items, b.items...)
	}
	return items
}
