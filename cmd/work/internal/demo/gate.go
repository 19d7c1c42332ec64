package demo

import "sync"

// gate holds whoever is the n-th to come, and those behind, until it is opened.
type gate struct {
	opened chan struct{}
	open   func() // idempotent

	mu   sync.Mutex
	left int  // how many may pass
	shut bool // somebody is held
}

// newGate makes a gate; with zero it is open.
func newGate(n int) *gate {
	g := &gate{left: n - 1, opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	if n == 0 {
		g.open()
	}
	return g
}

// pass returns once the caller may pass. The first that may not calls shut before it waits.
func (g *gate) pass(shut func()) {
	select {
	case <-g.opened:
		return
	default:
	}
	g.mu.Lock()
	if g.left > 0 {
		g.left--
		g.mu.Unlock()
		return
	}
	if !g.shut {
		g.shut = true
		shut()
	}
	g.mu.Unlock()
	<-g.opened
}
