package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest/topology"
)

// failovers is what is done to a primary, how often, and with which settings.
type failovers struct {
	layout string
	safe   int // so many replicas must confirm, and a primary without any takes no writes
	lag    time.Duration
	early  bool // the next one before the replica that came back has what it missed
	rounds int
}

func (c failovers) String() string {
	text := c.layout
	if c.safe > 0 {
		text += fmt.Sprintf(", WaitReplicas(%d), min-replicas-to-write 1", c.safe)
	}
	if c.lag > 0 {
		text += fmt.Sprintf(", replicas %v behind", c.lag)
	}
	if c.early {
		text += ", one of the two replicas still without what it missed"
	}
	return text
}

// name is short.
func (c failovers) name() string {
	name := c.layout
	switch {
	case c.early:
		name += "-early"
	case c.safe > 0:
		name += "-safe"
	}
	if c.lag > 0 {
		name += "-behind"
	}
	return name
}

func failoverRows() []failovers {
	if !scaleLong() {
		return []failovers{{layout: "Sentinel", safe: 1, rounds: 1}, {layout: "Cluster", safe: 1, rounds: 1}}
	}
	var rows []failovers
	for _, layout := range []string{"Sentinel", "Cluster"} {
		rows = append(rows,
			failovers{layout: layout, safe: 1, rounds: 20},
			failovers{layout: layout, safe: 1, lag: 100 * time.Millisecond, rounds: 20},
			failovers{layout: layout, rounds: 20},
			failovers{layout: layout, lag: 100 * time.Millisecond, rounds: 20})
	}
	return append(rows, failovers{layout: "Cluster", safe: 1, early: true, rounds: 20})
}

// holds tells whether nothing that was acknowledged may be lost. In a cluster the replica that lags may win: nodes tell
// each other only about once a second how far they are. So who waits for one of two has no guarantee while the other
// has not caught up. (Who waits for both gets no acknowledgement while one is away, which this load cannot do without.)
func (c failovers) holds() bool { return c.safe > 0 && !c.early }

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
	back := l.servers.awaitReplica
	if row.early {
		back = func(s *topology.Server) { linked(t, s) }
	}
	l.servers.Lag(row.lag)
	var recovered, named times
	for round := range row.rounds {
		old := l.servers.primary()
		followers := l.servers.followers(old)
		before := standing(old, followers)
		old.Kill()
		after := standing(nil, followers)
		at := promotion(t, followers)
		promoted := l.servers.awaitPromotion(old)
		t.Logf("round %d: %s; once it was killed%s; promoted %s", round+1, before, after, promoted.Addr())
		named = append(named, time.Since(at))
		recovered = append(recovered, l.worksAfter(at))
		old.Restart()
		back(old)
		assert.NotEqual(t, old, promoted)
		l.ledger.await(t, ended, 0, len(l.ledger.of(ended, 0))+100)
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	if row.holds() {
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

// standing is how far a primary and its replicas are, as they say themselves.
func standing(primary *topology.Server, replicas []*topology.Server) string {
	var text strings.Builder
	if primary != nil {
		fmt.Fprintf(&text, "%s at %s", primary.Addr(), primary.Info("master_repl_offset"))
	}
	for _, s := range replicas {
		fmt.Fprintf(&text, ", %s at %s, link %s", s.Addr(), s.Info("slave_repl_offset"), s.Info("master_link_status"))
	}
	return text.String()
}

// times are what one row took each time.
type times []time.Duration

func (t times) String() string {
	slices.Sort(t)
	median, longest := t[len(t)/2], t[len(t)-1]
	return fmt.Sprintf("median %v, longest %v", median.Round(10*time.Millisecond), longest.Round(10*time.Millisecond))
}

// startRow starts the load of a row, of whose enqueues so many replicas must know.
func startRow(t *testing.T, layout string, confirming int) *load {
	t.Helper()
	if confirming == 0 {
		return startLoad(t, layout, nil)
	}
	return startLoad(t, layout, safe, work.WaitReplicas(confirming, 2*time.Second))
}

// linked waits until a server is a replica again, whatever it has yet to be sent.
func linked(t *testing.T, s *topology.Server) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Info("master_link_status") == "up" }, patience, time.Millisecond)
}
