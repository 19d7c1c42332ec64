package pooltest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Gauge counts how many handlers run at once, and how many ever did: the proof of a limit is in the handler itself.
type Gauge struct {
	Running, Most, Done atomic.Int64
	Begun               chan struct{}
	gate                chan struct{} // handlers wait for it; closed, they pass
	open                sync.Once
}

// NewGauge returns one whose handlers wait.
func NewGauge() *Gauge { return &Gauge{Begun: make(chan struct{}, 10_000), gate: make(chan struct{})} }

// Handle is a handler that waits to be let go.
func (g *Gauge) Handle() error {
	now := g.Running.Add(1)
	for before := g.Most.Load(); now > before && !g.Most.CompareAndSwap(before, now); before = g.Most.Load() {
	}
	g.Begun <- struct{}{}
	<-g.gate
	g.Running.Add(-1)
	g.Done.Add(1)
	return nil
}

// Pass lets so many handlers return.
func (g *Gauge) Pass(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case g.gate <- struct{}{}:
		case <-t.Context().Done():
			require.FailNow(t, "no handler runs")
		}
	}
}

// Release lets all handlers return, those to come as well.
func (g *Gauge) Release() { g.open.Do(func() { close(g.gate) }) }

// Began waits for so many handlers to begin.
func (g *Gauge) Began(t *testing.T, n int) {
	t.Helper()
	for range n {
		Receive(t, g.Begun)
	}
}
