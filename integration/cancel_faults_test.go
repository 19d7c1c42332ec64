package integration

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultCancelledAndKilled cancels jobs of a process that does not hear of it any more, since it is stopped and then
// killed: they come back from the dead worker and end without being run again. One that another process runs ends
// there.
func TestFaultCancelledAndKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	const held = 5
	victim := f.start(held)
	lost := f.enqueue(held, "hold")
	f.ledger.await(t, begun, victim.pid, held)
	victim.signal(syscall.SIGSTOP)
	survivor := f.start(1)
	running := f.enqueue(1, "hold")
	f.ledger.await(t, begun, survivor.pid, 1)
	waiting := f.enqueue(1, "hold")

	inspector := f.inspector()
	all := append(append(lost, running...), waiting...)
	results, err := inspector.Cancel(t.Context(), all...)
	require.NoError(t, err)
	for i, result := range results {
		want := work.CancelFlagged
		if all[i] == waiting[0] && result.Effect != want { // unless the survivor took it as soon as it had room
			want = work.CancelEnded
		}
		assert.Equal(t, work.CancelResult{ID: all[i], Effect: want, State: work.StateCancelled}, result)
	}
	f.ledger.awaitAmong(t, running, cut, survivor.pid, 1)
	victim.kill()
	require.Eventually(t, func() bool {
		left, err := f.sum("HLEN", "jobs")
		return err == nil && left == 0
	}, patience, 50*time.Millisecond, "jobs are left")
	assert.Len(t, f.ledger.of(begun, survivor.pid), 1, "only the one that it ran before")
	for _, id := range all {
		job, err := inspector.Job(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, work.StateCancelled, job.State)
	}
	for _, key := range []string{"cancelled", "claimed", "crashes", "queue:hold"} {
		there, err := f.sum("EXISTS", key)
		require.NoError(t, err)
		assert.Zero(t, there, key)
	}
	f.healthy()
}
