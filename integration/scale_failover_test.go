package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
)

// failovers is what is done to a primary, how often, and with which settings.
type failovers struct {
	layout string
	safe   bool // replicas must confirm, and a primary without any takes no writes
	lag    time.Duration
	rounds int
}

func (c failovers) String() string {
	text := c.layout
	if c.safe {
		text += ", WaitReplicas(1), min-replicas-to-write 1"
	}
	if c.lag > 0 {
		text += fmt.Sprintf(", replicas %v behind", c.lag)
	}
	return text
}

// name is short.
func (c failovers) name() string {
	name := c.layout
	if c.safe {
		name += "-safe"
	}
	if c.lag > 0 {
		name += "-behind"
	}
	return name
}

func failoverRows() []failovers {
	if !scaleLong() {
		return []failovers{{layout: "Sentinel", safe: true, rounds: 1}, {layout: "Cluster", safe: true, rounds: 1}}
	}
	var rows []failovers
	for _, layout := range []string{"Sentinel", "Cluster"} {
		rows = append(rows,
			failovers{layout: layout, safe: true, rounds: 20},
			failovers{layout: layout, safe: true, lag: 100 * time.Millisecond, rounds: 20},
			failovers{layout: layout, rounds: 20},
			failovers{layout: layout, lag: 100 * time.Millisecond, rounds: 20})
	}
	return rows
}

// TestScaleFailover kills the primary under load, again and again, and has the old one come back as a replica.
func TestScaleFailover(t *testing.T) {
	t.Parallel()
	for _, row := range failoverRows() {
		t.Run(row.name(), func(t *testing.T) {
			t.Parallel()
			failOver(t, row)
		})
	}
}

func failOver(t *testing.T, row failovers) {
	l := startRow(t, row.layout, row.safe)
	l.servers.Lag(row.lag)
	var recovered, named times
	for range row.rounds {
		old := l.servers.primary()
		followers := l.servers.followers(old)
		old.Kill()
		at := promotion(t, followers)
		promoted := l.servers.awaitPromotion(old)
		named = append(named, time.Since(at))
		recovered = append(recovered, l.worksAfter(at))
		old.Restart()
		l.servers.awaitReplica(old)
		assert.NotEqual(t, old, promoted)
		l.ledger.await(t, ended, 0, len(l.ledger.of(ended, 0))+100)
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	if row.safe {
		assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	}
	l.goesOn()
	l.told(lost)
	losses := l.ledger.of(dataLost, 0)
	measured(t, fmt.Sprintf("%s: SIGKILL of the primary, %d times", row, row.rounds),
		"lost %d of %d acknowledged jobs, each told by the enqueuer; %d were begun again; workers told of data that "+
			"was lost %d times; from the promotion until it is known to clients: %v; "+
			"until a job enqueued after it has ended: %v",
		len(lost), len(l.accepted), l.again(), len(losses), named, recovered)
}

// times are what one row took each time.
type times []time.Duration

func (t times) String() string {
	slices.Sort(t)
	median, longest := t[len(t)/2], t[len(t)-1]
	return fmt.Sprintf("median %v, longest %v", median.Round(10*time.Millisecond), longest.Round(10*time.Millisecond))
}

// startRow starts the load of a row.
func startRow(t *testing.T, layout string, asSafe bool) *load {
	t.Helper()
	if !asSafe {
		return startLoad(t, layout, nil)
	}
	return startLoad(t, layout, safe, work.WaitReplicas(1, 2*time.Second))
}
