package integration

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// clockSource is a library that shifts the clock of the process into which it is loaded. (faketime makes Redis hang.)
//
//go:embed testdata/clock.c
var clockSource []byte

// clock is that of one Redis.
type clock struct {
	t    *testing.T
	file string // of 8 bytes, which the library has mapped
}

// shiftedRedis starts a Redis whose clock is off by that much.
func shiftedRedis(t *testing.T, by time.Duration) (*redistest.Process, clock) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("a Redis with a clock of its own needs gcc: %v", err)
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	require.NoError(t, os.WriteFile(source, clockSource, 0o600))
	output, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput()
	require.NoError(t, err, "%s", output)
	c := clock{t: t, file: filepath.Join(dir, "shift")}
	c.shift(by)
	server := redistest.DedicatedIn(t, []string{"LD_PRELOAD=" + library, "CLOCK_SHIFT=" + c.file})
	return server, c
}

// shift sets the clock to the true time and that much.
func (c clock) shift(by time.Duration) {
	c.t.Helper()
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(c.t, err)
	defer func() { _ = file.Close() }()
	var seconds [8]byte
	binary.NativeEndian.PutUint64(seconds[:], uint64(int64(by/time.Second)))
	_, err = file.WriteAt(seconds[:], 0)
	require.NoError(c.t, err)
}

// TestFaultClockWrong has Redis hours ahead of its clients, or behind: delays and heartbeats go by Redis' clock.
func TestFaultClockWrong(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{5 * time.Hour, -5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			server, _ := shiftedRedis(t, off)
			f := newFleet(t, server.DSN())
			victim, survivor := f.start(20), f.start(20)
			survivor.open()
			const delay = 2 * time.Second
			enqueued := time.Now()
			scheduled := f.enqueueIn(delay, 50, "brief", 1)
			f.ledger.await(t, ended, 0, len(scheduled))
			var late time.Duration
			for _, e := range f.ledger.of(begun, 0) {
				waited := e.At.Sub(enqueued)
				assert.GreaterOrEqual(t, waited, delay-10*time.Millisecond)
				late = max(late, waited-delay)
			}
			assert.Less(t, late, 10*time.Second, "on a busy machine")
			f.undisturbed()
			last := f.reapedAfterKill(victim, survivor)
			f.healthy()
			measured(t, fmt.Sprintf("Redis' clock off by %v", off),
				"jobs due in %v began at most %v late; a victim's jobs began elsewhere after %v",
				delay, late.Round(10*time.Millisecond), last)
		})
	}
}

// reapedAfterKill kills a process that holds jobs and returns how long it took until the last was begun elsewhere.
func (f *fleet) reapedAfterKill(victim, survivor *process) time.Duration {
	f.t.Helper()
	held := len(f.ledger.of(begun, victim.pid))
	jobs := f.enqueue(200, "brief", 500) // more than both can hold: the victim holds some
	f.ledger.await(f.t, begun, victim.pid, held+20)
	killed := victim.kill()
	f.settled()
	require.Positive(f.t, f.explained())
	last := f.lastAgain(jobs).Sub(killed)
	assert.Less(f.t, last, 2*restartedWithin, "on a busy machine")
	assert.Len(f.t, f.ledger.of(reaped, survivor.pid), 1)
	return last.Round(10 * time.Millisecond)
}

// TestFaultClockJumps has Redis' clock jump by an hour while jobs run, as after a failover to a machine with another
// clock.
func TestFaultClockJumps(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "backward": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, clock := shiftedRedis(t, 0)
			f := newFleet(t, server.DSN())
			victim, survivor := f.start(20), f.start(20)
			f.enqueue(10, "brief", 8000) // they see the jump, and what would follow from it
			f.enqueue(500, "brief", 5)
			f.ledger.await(t, ended, 0, 100)

			clock.shift(jump)
			f.settled()
			f.once(f.accepted)
			f.undisturbed()
			last := f.reapedAfterKill(victim, survivor)
			f.healthy()
			measured(t, fmt.Sprintf("Redis' clock jumps by %v while jobs run", jump),
				"no job was disturbed; the jobs of a victim killed afterwards began elsewhere after %v", last)
		})
	}
}
