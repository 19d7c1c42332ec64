package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestFaultCarnage kills worker processes one after the other among jobs of all kinds, and Redis once in the middle.
func TestFaultCarnage(t *testing.T) {
	t.Parallel()
	jobs, kills := pick(3000, 50_000), pick(4, 20)
	server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFleet(t, server.DSN())
	f.allKinds(jobs)
	workers := []*process{f.start(50), f.start(50), f.start(50)}
	for i := range kills {
		f.ledger.await(t, ended, 0, jobs*(i+1)/(kills+2))
		workers[i%len(workers)].kill()
		if i == kills/2 {
			server.Kill()
			require.NoError(t, server.Restart())
		}
		workers[i%len(workers)] = f.start(50)
	}
	f.settled()
	repeated := f.explained()
	assert.Empty(t, f.ledger.of(dataLost, 0))
	assert.Len(t, ids(f.ledger.of(ended, 0)), jobs)
	f.only(len(workers))
	for _, worker := range workers {
		assert.Zero(t, worker.terminate())
	}
	f.healthy()
	measured(t, fmt.Sprintf("%d SIGKILLs of workers over %d jobs with retries and scheduled ones, and one of Redis",
		kills, jobs),
		"lost 0, wedged 0; %d begins repeated, each held by a victim at its kill", repeated)
}

// allKinds enqueues so many jobs: some at once, some that fail at first, some for later.
func (f *fleet) allKinds(jobs int) {
	f.t.Helper()
	const lot = 500
	for i := 0; i < jobs; i += lot {
		f.enqueue(lot*6/10, "brief", 5)
		f.enqueue(lot*2/10, "flaky", 5)
		f.enqueueIn(time.Duration(i/lot%10)*time.Second, lot*2/10, "brief", 5)
	}
}
