package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/redistest/topology"
)

// TestScaleSlots moves the slots of the namespace's server to another one and back, under load: all of them in the long
// form, a few around the namespace's otherwise.
func TestScaleSlots(t *testing.T) {
	t.Parallel()
	l := startRow(t, "Cluster without replicas", 0)
	c := l.servers.(spread)
	rounds := 1
	home := c.primary()
	slots := c.SlotsOf(home)
	other := c.otherThan(home)
	if scaleLong() {
		rounds = 20
	} else {
		at := slices.Index(slots, c.slot)
		slots = slots[max(0, at-100):min(len(slots), at+100)]
	}
	for range rounds {
		for _, to := range []*topology.Server{other, home} {
			c.MoveSlots(to, slots...)
			l.worksAfter(time.Now())
			assert.Equal(t, to, c.primary())
		}
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	assert.Zero(t, l.again(), "jobs that were begun twice")
	l.goesOn()
	measured(t, fmt.Sprintf("%d slots moved from one node to another and back, %d times", len(slots), rounds),
		"lost %d of %d acknowledged jobs, %d were begun again", len(lost), len(l.accepted), l.again())
}

// TestScaleNodes adds a node, which gets the slots of the namespace's, and removes that one.
func TestScaleNodes(t *testing.T) {
	t.Parallel()
	l := startRow(t, "Cluster without replicas", 0)
	c := l.servers.(spread)
	old := c.primary()
	added := c.AddPrimary()
	c.MoveSlots(added, c.SlotsOf(old)...)
	c.AwaitWhole()
	l.worksAfter(time.Now())
	c.Remove(old)
	l.worksAfter(time.Now())
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	assert.Zero(t, l.again(), "jobs that were begun twice")
	l.goesOn()
	measured(t, "a node added, the namespace's slots moved there, the one that had them removed",
		"lost %d of %d acknowledged jobs, %d were begun again", len(lost), len(l.accepted), l.again())
}

// otherThan is another primary.
func (c spread) otherThan(s *topology.Server) *topology.Server {
	primaries := c.Primaries()
	return primaries[(slices.Index(primaries, s)+1)%len(primaries)]
}
