package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// TestFaultHistoryOfAKilledWorker kills one of two workers. The other one tells all that it counted; what the victim
// had not told is lost, and nothing is counted twice.
func TestFaultHistoryOfAKilledWorker(t *testing.T) {
	t.Parallel()
	const jobs = 3000
	f := newFleet(t, redistest.Real(t).DSN())
	victim, survivor := f.start(20), f.start(20)
	f.enqueue(jobs, "brief", 20)
	f.ledger.await(t, ended, victim.pid, jobs/3)
	victim.kill()
	f.settled()
	f.explained()
	assert.Zero(t, survivor.terminate())

	history, err := f.inspector().
		History(t.Context(), inspect.HistoryOptions{Names: []string{"brief"}, Since: time.Now().Add(-6 * time.Hour)})
	require.NoError(t, err)
	done := 0
	for _, point := range history["brief"] {
		done += int(point.Done)
	}
	own := len(ids(f.ledger.of(ended, survivor.pid)))
	assert.GreaterOrEqual(t, done, own)
	assert.LessOrEqual(t, done, jobs)
	measured(t, fmt.Sprintf("SIGKILL of one of two workers in the middle of %d jobs", jobs),
		"%d of them are not in the history", jobs-done)
}
