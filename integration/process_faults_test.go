package integration

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// restartedWithin is how soon after a kill the jobs of the victim have begun elsewhere: the one absolute time that the
// design promises.
const restartedWithin = 6 * time.Second

// TestKilled is not parallel to the others: it measures a time.
func TestKilled(t *testing.T) {
	f := newFleet(t, redistest.Real(t).DSN())
	victim := f.start(100)
	held := f.enqueue(100, "hold")
	f.ledger.await(t, begun, victim.pid, 100)
	survivor := f.start(100)
	survivor.open()
	others := f.enqueue(500, "brief", 5)
	f.ledger.await(t, ended, survivor.pid, 100)

	killed := victim.kill()
	f.settled()
	f.once(others)
	begins := f.ledger.times(begun)
	again := ids(f.ledger.of(begun, survivor.pid))
	var last time.Time
	for _, e := range f.ledger.of(begun, survivor.pid) {
		if begins[e.Of] == 2 && e.At.After(last) {
			last = e.At
		}
	}
	for _, id := range held {
		assert.Equal(t, 2, begins[id])
		assert.True(t, again[id])
	}
	assert.Less(t, last.Sub(killed), restartedWithin)
	assert.Len(t, f.ledger.of(reaped, survivor.pid), 1)
	t.Logf("the last of %d jobs began elsewhere %v after the kill", len(held), last.Sub(killed).Round(time.Millisecond))
}

// TestKilledWhileBusy kills a process among jobs that come and go: some are fetched, some are being settled.
func TestKilledWhileBusy(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	victim, survivor := f.start(50), f.start(50)
	f.enqueue(3000, "brief", 20)
	f.ledger.await(t, ended, victim.pid, 500)
	killed := victim.kill()
	f.settled()
	held := ids(f.ledger.of(begun, victim.pid))
	for id := range ids(f.ledger.of(ended, victim.pid)) {
		delete(held, id) // its outcome may or may not have been acknowledged
	}
	begins := f.ledger.times(begun)
	for _, id := range f.accepted {
		if n := begins[id]; n != 1 {
			assert.True(t, n == 2 && ids(f.ledger.of(begun, victim.pid))[id], "%s began %d times", id, n)
		}
	}
	again := ids(f.ledger.of(begun, survivor.pid))
	for id := range held {
		assert.True(t, again[id])
	}
	for _, e := range f.ledger.of(begun, survivor.pid) {
		if begins[e.Of] == 2 {
			assert.Less(t, e.At.Sub(killed), 2*restartedWithin, "behind what waited, on a busy machine")
		}
	}
}

func TestTerminated(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	leaver, stayer := f.start(20), f.start(20)
	f.enqueue(1000, "brief", 20)
	f.ledger.await(t, ended, leaver.pid, 100)
	assert.Zero(t, leaver.terminate())
	f.settled()
	f.once(f.accepted)
	assert.Zero(t, stayer.terminate())
	assert.Empty(t, f.ledger.of(reaped, 0))
	assert.Empty(t, f.ledger.of(cut, 0))
	assert.Empty(t, f.ledger.of(claimGone, 0))
}

func TestPaused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	sleeper := f.start(20)
	held := f.enqueue(20, "stubborn")
	f.ledger.await(t, begun, sleeper.pid, 20)
	stayer := f.start(20)
	stayer.open()
	brief := f.enqueue(100, "brief", 5)

	sleeper.signal(syscall.SIGSTOP)
	f.ledger.await(t, reaped, stayer.pid, 1)
	f.settled() // the stayer has done all
	sleeper.signal(syscall.SIGCONT)
	f.ledger.await(t, fenced, sleeper.pid, 1)
	sleeper.open() // now its handlers return
	f.ledger.await(t, ended, sleeper.pid, 20)
	f.ledger.await(t, claimGone, sleeper.pid, 20)
	assert.Equal(t, len(ids(f.ledger.of(claimGone, 0))), len(held), "none of its outcomes counted")

	more := f.enqueue(200, "brief", 5)
	f.settled()
	f.once(brief)
	f.once(more)
	for _, id := range held {
		assert.Equal(t, 2, f.ledger.times(begun)[id])
	}
	require.Zero(t, sleeper.terminate(), "under its new id it is a worker like any other")
	require.Zero(t, stayer.terminate())
}
