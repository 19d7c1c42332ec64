package work

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// gauge counts how many handlers run at once, and how many ever did: the proof of a limit is in the handler itself.
type gauge struct {
	running, most, done atomic.Int64
	begun               chan struct{}
	gate                chan struct{} // handlers wait for it; closed, they pass
	open                sync.Once
}

func newGauge() *gauge { return &gauge{begun: make(chan struct{}, 10_000), gate: make(chan struct{})} }

func (g *gauge) handle() error {
	now := g.running.Add(1)
	for before := g.most.Load(); now > before && !g.most.CompareAndSwap(before, now); before = g.most.Load() {
	}
	g.begun <- struct{}{}
	<-g.gate
	g.running.Add(-1)
	g.done.Add(1)
	return nil
}

// pass lets so many handlers return.
func (g *gauge) pass(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case g.gate <- struct{}{}:
		case <-t.Context().Done():
			require.FailNow(t, "no handler runs")
		}
	}
}

// release lets all handlers return, those to come as well.
func (g *gauge) release() { g.open.Do(func() { close(g.gate) }) }

// began waits for so many handlers to begin.
func (g *gauge) began(t *testing.T, n int) {
	t.Helper()
	for range n {
		receive(t, g.begun)
	}
}

// settles waits until whatever could begin has begun: a worker has beaten twice, and looked at its queues as often.
func (k *kit) settles(ds ...*tampered) {
	k.t.Helper()
	for _, d := range ds {
		d.untilSent(k.t, "beat", 2)
	}
}
