package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// order has the process enqueue a batch, and returns the ids of what was acknowledged.
func (p *process) order(b batch) []string {
	f := p.fleet
	f.t.Helper()
	encoded, err := json.Marshal(b)
	require.NoError(f.t, err)
	_, err = p.orders.Write(append(encoded, '\n'))
	require.NoError(f.t, err)
	var accepted []string
	for _, e := range f.ledger.await(f.t, b.Label, p.pid, b.Many) {
		accepted = append(accepted, e.Of)
	}
	f.accepted = append(f.accepted, accepted...)
	return accepted
}

// firstBegun is when each job began for the first time.
func (f *fleet) firstBegun() map[string]time.Time {
	first := map[string]time.Time{}
	for _, e := range f.ledger.of(begun, 0) {
		if at, ok := first[e.Of]; !ok || e.At.Before(at) {
			first[e.Of] = e.At
		}
	}
	return first
}

// TestFaultClientClocks has workers and enqueuers whose own clocks are hours wrong, each by another amount. The clock
// of Redis is that of the ledger.
func TestFaultClientClocks(t *testing.T) {
	t.Parallel()
	clocks := []time.Duration{-3 * time.Hour, 0, 26 * time.Hour}
	for i, of := range clocks {
		t.Run(fmt.Sprintf("kill %v", of), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, redistest.Real(t).DSN())
			var members []*process
			for _, clock := range clocks {
				members = append(members, f.startUnder(clock, 20))
			}
			for j, p := range members {
				p.order(batch{Label: "prompt", Name: "brief", Ms: 5, Many: 50})
				e := f.ledger.of(believed, p.pid)[0]
				assert.WithinDuration(t, time.Now().Add(clocks[j]), e.At, time.Minute,
					"its clock is as wrong as it should be")
			}
			late := f.onTime(members)
			last := f.killedAmongRetries(members, i)
			f.healthy()
			measured(t, fmt.Sprintf("clocks of three workers and enqueuers off by %v; SIGKILL of the one with %v",
				clocks, of),
				"scheduled jobs began at most %v late; the victim's jobs began elsewhere after %v",
				late.Round(10*time.Millisecond), last)
		})
	}
}

// onTime has each process schedule jobs in both ways, and returns by how much the latest came late.
func (f *fleet) onTime(members []*process) (late time.Duration) {
	f.t.Helper()
	const delay = 2 * time.Second
	type window struct{ from, to time.Time } // between which jobs are due
	due := map[string]window{}
	for _, p := range members {
		ordered := time.Now()
		in := p.order(batch{Label: "in", Name: "brief", Ms: 1, Many: 20, In: delay})
		acknowledged := time.Now()
		for _, id := range in {
			due[id] = window{ordered.Add(delay), acknowledged.Add(delay)}
		}
		at := time.Now().Add(delay)
		for _, id := range p.order(batch{Label: "at", Name: "brief", Ms: 1, Many: 20, At: at}) {
			due[id] = window{at, at}
		}
	}
	f.settled()
	f.once(f.accepted)
	f.undisturbed()
	first := f.firstBegun()
	for id, d := range due {
		assert.GreaterOrEqual(f.t, first[id].Sub(d.from), -2*time.Millisecond,
			"not before it is due: Redis cuts off a millisecond")
		late = max(late, first[id].Sub(d.to))
	}
	assert.Less(f.t, late, 10*time.Second, "on a busy machine")
	return late
}

// killedAmongRetries kills one of the processes among jobs of all kinds, and returns how long it took until the last
// that it held was begun elsewhere.
func (f *fleet) killedAmongRetries(members []*process, which int) time.Duration {
	f.t.Helper()
	victim, names := members[which], ids(f.ledger.of(ready, members[which].pid))
	for _, p := range members {
		p.order(batch{Label: "failing", Name: "flaky", Ms: 5, Many: 20})
		p.order(batch{Label: "later", Name: "brief", Ms: 5, Many: 10, In: time.Second})
	}
	jobs := f.enqueue(200, "brief", 500)                  // more than all can hold: the victim holds some
	f.ledger.awaitAmong(f.t, jobs, begun, victim.pid, 20) // of the long ones, which then are still under way
	killed := victim.kill()
	f.settled()
	require.Positive(f.t, f.explained())
	reaps := f.ledger.of(reaped, 0) // nothing is told of partitions where it held nothing
	require.NotEmpty(f.t, reaps)
	assert.Subset(f.t, slices.Collect(maps.Keys(names)), slices.Collect(maps.Keys(ids(reaps))),
		"nobody else is taken for dead")
	assert.LessOrEqual(f.t, len(reaps), max(1, f.partitions))
	for _, what := range []string{fenced, cut, claimGone, dataLost, refused} {
		assert.Empty(f.t, f.ledger.of(what, 0), what)
	}
	last := f.lastAgain(jobs).Sub(killed)
	assert.Positive(f.t, last)
	assert.Less(f.t, last, 2*restartedWithin, "on a busy machine")
	return last.Round(10 * time.Millisecond)
}
