package integration

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// restartedWithin is how soon after a kill the jobs of the victim have begun elsewhere: the one absolute time that the
// design promises.
const restartedWithin = 6 * time.Second

// TestFaultKilled is not parallel to the others: it measures a time.
func TestFaultKilled(t *testing.T) {
	const held = 200
	f := newFleet(t, redistest.Real(t).DSN())
	victim := f.start(held)
	victims := f.enqueue(held, "hold")
	f.ledger.await(t, begun, victim.pid, held)
	survivor := f.start(held)
	survivor.open()
	others := f.enqueue(500, "brief", 5)
	f.ledger.await(t, ended, survivor.pid, 100)

	killed := victim.kill()
	f.settled()
	f.once(others)
	assert.Equal(t, held, f.explained())
	again := ids(f.ledger.of(begun, survivor.pid))
	for _, id := range victims {
		assert.True(t, again[id], "begun by the survivor: %s", id)
	}
	last := f.lastAgain(victims).Sub(killed)
	assert.Less(t, last, restartedWithin)
	assert.Len(t, f.ledger.of(reaped, survivor.pid), 1)
	f.healthy()
	measured(t, "SIGKILL of one of two workers with 200 jobs in process", "the last of them began elsewhere %v later",
		last.Round(10*time.Millisecond))
}

// lastAgain is when the last of these jobs was begun that was begun at least twice.
func (f *fleet) lastAgain(of []string) (last time.Time) {
	begins := f.ledger.times(begun)
	for _, e := range f.ledger.of(begun, 0) {
		if begins[e.Of] > 1 && slices.Contains(of, e.Of) && e.At.After(last) {
			last = e.At
		}
	}
	return last
}

// TestFaultKilledWhileBusy kills a process among jobs that come and go: some are fetched, some are being settled.
func TestFaultKilledWhileBusy(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	victim, survivor := f.start(50), f.start(50)
	f.enqueue(3000, "brief", 20)
	f.ledger.await(t, ended, victim.pid, 500)
	victim.kill()
	f.settled()
	held := ids(f.ledger.of(begun, victim.pid))
	for id := range ids(f.ledger.of(ended, victim.pid)) {
		delete(held, id) // its outcome may or may not have been acknowledged
	}
	f.explained()
	again := ids(f.ledger.of(begun, survivor.pid))
	for id := range held {
		assert.True(t, again[id])
	}
	f.healthy()
}

// TestFaultDeadlyJob has one job that kills its process, among innocent ones that share it. Where nothing else kills
// workers it is buried after 3 to 4 crashes: a busy machine makes it run for longer, and so more likely to have met
// them by chance.
func TestFaultDeadlyJob(t *testing.T) {
	t.Parallel()
	innocents := pick(9, 199)
	f := newFleet(t, redistest.Real(t).DSN())
	f.doomed = f.enqueue(1, "deadly")
	f.enqueue(innocents, "brief", 10)
	for range 3 {
		f.launch(0, innocents+1).dies()
	}
	survivor := f.launch(0, innocents+1)
	if survivor.diesBefore(func() bool {
		buried, err := f.sum("ZCARD", "morgue")
		return err == nil && buried == len(f.doomed)
	}) {
		survivor = f.launch(0, innocents+1)
	}
	f.settled()
	f.explained()
	crashes := f.ledger.times(begun)[f.doomed[0]]
	assert.Contains(t, []int{3, 4}, crashes)
	f.only(1)
	assert.Zero(t, survivor.terminate())
	f.healthy()
	measured(t, fmt.Sprintf("a job that kills its worker beside %d innocent ones", innocents),
		"buried after %d crashes; the others all ended well", crashes)
}

func TestFaultTerminated(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	leaver, stayer := f.start(20), f.start(20)
	f.enqueue(1000, "brief", 20)
	f.ledger.await(t, ended, leaver.pid, 100)
	assert.Zero(t, leaver.terminate())
	f.settled()
	f.once(f.accepted)
	assert.Zero(t, stayer.terminate())
	f.undisturbed()
	f.healthy()
}

func TestFaultPaused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	sleeper := f.start(20)
	held := f.enqueue(20, "stubborn")
	f.ledger.await(t, begun, sleeper.pid, 20)
	stayer := f.start(20)
	stayer.open()
	brief := f.enqueue(100, "brief", 5)

	sleeper.signal(syscall.SIGSTOP)
	paused := time.Now()
	f.ledger.await(t, reaped, stayer.pid, 1)
	f.settled()                                                   // the stayer has done all
	<-time.After(time.Until(paused.Add(pick(0, 10*time.Second)))) // the fault lasts that long
	sleeper.signal(syscall.SIGCONT)
	resumed := time.Now()
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
	f.healthy() // by now somebody has taken apart what was left of the sleeper's old id
	require.Zero(t, sleeper.terminate(), "under its new id it is a worker like any other")
	require.Zero(t, stayer.terminate())
	counted := len(held) - len(ids(f.ledger.of(claimGone, sleeper.pid)))
	measured(t, fmt.Sprintf("a worker with %d jobs paused for %v", len(held), resumed.Sub(paused).Round(time.Second)),
		"%d of its late outcomes counted", counted)
}

// TestFaultKilledWithBothThatWatch kills the two workers that look after all others, at the same moment: what they held
// begins as soon as what a third one held would.
func TestFaultKilledWithBothThatWatch(t *testing.T) {
	const held = 50
	f := newFleet(t, redistest.Real(t).DSN())
	first := f.start(held)
	f.awaitPlace("lease", first)
	second := f.start(held)
	f.awaitPlace("deputy", second)
	victims := f.enqueue(2*held, "hold")
	f.ledger.await(t, begun, first.pid, held)
	f.ledger.await(t, begun, second.pid, held)
	survivor := f.start(2 * held)
	survivor.open()
	f.enqueue(1, "brief", 5)
	f.ledger.await(t, ended, survivor.pid, 1)

	first.signal(syscall.SIGKILL)
	killed := second.kill()
	<-first.exited
	f.killed[first.pid] = killed
	f.settled()
	assert.Equal(t, 2*held, f.explained())
	again := ids(f.ledger.of(begun, survivor.pid))
	for _, id := range victims {
		assert.True(t, again[id], "begun by the survivor: %s", id)
	}
	last := f.lastAgain(victims).Sub(killed)
	assert.Less(t, last, restartedWithin)
	f.healthy()
	measured(t, "SIGKILL of the two of three workers that watch the others",
		"the last of their 100 jobs began elsewhere %v later", last.Round(10*time.Millisecond))
}

// awaitPlace waits until a process has the lease or the place of the deputy.
func (f *fleet) awaitPlace(place string, p *process) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		id, err := redis.String(f.do("GET", f.key(place)))
		if err != nil {
			return false
		}
		pid, err := redis.Int(f.do("HGET", f.key("worker:"+id+":info"), "pid"))
		return err == nil && pid == p.pid
	}, patience, 10*time.Millisecond, "nobody has the place %s", place)
}
