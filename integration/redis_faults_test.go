package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// enqueueUntil enqueues one job after the other until it is told to stop, and keeps the ids of those acknowledged.
func (f *fleet) enqueueUntil(stop <-chan struct{}) (stopped <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			receipt, err := f.enq.Enqueue(ctx, "brief", 1)
			cancel()
			if err == nil {
				f.accepted = append(f.accepted, receipt.ID)
			}
		}
	}()
	return done
}

// TestRedisKilled kills a Redis that writes everything to disk before it answers.
func TestRedisKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	first, second := f.start(10), f.start(10)
	stop := make(chan struct{})
	stopped := f.enqueueUntil(stop)
	f.ledger.await(t, ended, first.pid, 100)
	for range 2 {
		server.Kill()
		require.NoError(t, server.Restart())
		before := len(f.ledger.of(ended, 0))
		f.ledger.await(t, ended, 0, before+200)
	}
	close(stop)
	<-stopped
	f.settled()
	f.once(f.accepted)
	assert.Greater(t, len(f.accepted), 100)
	assert.Empty(t, f.ledger.of(dataLost, 0))
	assert.Empty(t, f.ledger.of(reaped, 0))
	assert.Zero(t, first.terminate())
	assert.Zero(t, second.terminate())
	t.Logf("%d acknowledged jobs ran once each", len(f.accepted))
}

// TestRedisPaused pauses Redis for longer than a heartbeat lasts: all of them have lapsed when it comes back.
func TestRedisPaused(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	f := newFleet(t, server.DSN())
	first, second := f.start(20), f.start(20)
	f.enqueue(20, "hold")
	f.ledger.await(t, begun, 0, 20)
	f.enqueue(2000, "brief", 10)
	f.ledger.await(t, ended, 0, 100)

	require.NoError(t, server.Pause())
	<-time.After(4 * time.Second) // the fault lasts that long
	require.NoError(t, server.Resume())
	before := len(f.ledger.of(ended, 0))
	f.ledger.await(t, ended, 0, before+100)
	first.open()
	second.open()
	f.settled()
	f.once(f.accepted)
	assert.Empty(t, f.ledger.of(reaped, 0))
	assert.Empty(t, f.ledger.of(fenced, 0))
	assert.Empty(t, f.ledger.of(cut, 0))
	assert.Zero(t, first.terminate())
	assert.Zero(t, second.terminate())
}
