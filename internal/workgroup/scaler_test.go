package workgroup_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/workgroup"
)

// member is one of a group of a test.
type member struct {
	size                int
	full, busy, retired bool
}

// group is one whose members a test sets.
type group struct {
	mu      sync.Mutex
	members []*member
	refused error // what the next Add meets
	closed  bool
}

func newGroup() *group { return &group{members: []*member{{size: 10}}} }

func (g *group) Members() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*member{}, g.members...)
}

func (g *group) Add(_ context.Context, size int) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refused; err != nil || g.closed {
		g.refused = nil
		return false, err
	}
	g.members = append(g.members, &member{size: size, busy: true})
	return true, nil
}

func (g *group) Full(m *member) bool { g.mu.Lock(); defer g.mu.Unlock(); return m.full }
func (g *group) Busy(m *member) bool { g.mu.Lock(); defer g.mu.Unlock(); return m.busy }

func (g *group) Retire(m *member, retire bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := m.retired != retire
	m.retired = retire
	return changed
}

func (g *group) Remove(m *member) (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, false
	}
	for i, other := range g.members {
		if other == m {
			g.members = append(g.members[:i:i], g.members[i+1:]...)
		}
	}
	return m.size, true
}

// set changes all members.
func (g *group) set(change func(*member)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		change(m)
	}
}

// size waits until there are so many members.
func (g *group) size(t *testing.T, want int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(g.Members()) == want }, soon, time.Millisecond)
}

// scale runs a scaler of the group until the test ends, and returns it with what it reports.
func scale(t *testing.T, g *group, sizes ...int) (*workgroup.Scaler[*member], chan error) {
	reports := make(chan error, 1000)
	s := workgroup.NewScaler(g, workgroup.Scaling{
		Sizes: sizes, Look: time.Millisecond, Idle: 5 * time.Millisecond,
		Report: func(err error) { reports <- err },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return s, reports
}

func TestAScalerAddsMembersWhileAllAreFull(t *testing.T) {
	t.Parallel()
	g := newGroup()
	scale(t, g, 10, 4)
	g.set(func(m *member) { m.full = true })
	g.size(t, 2)
	g.set(func(m *member) { m.full = true })
	g.size(t, 3)
	assert.Equal(t, 4, g.Members()[2].size)
}

func TestAScalerAddsNoMoreThanThereMayBe(t *testing.T) {
	t.Parallel()
	g := newGroup()
	s, reports := scale(t, g, 10)
	s.Call()
	require.NoError(t, <-reports)
	s.Call()
	require.NoError(t, <-reports)
	g.size(t, 2)

	var none *workgroup.Scaler[*member]
	none.Call()
	alone, reports := scale(t, g)
	alone.Call()
	assert.Empty(t, reports, "there is nobody to add")
}

func TestAScalerTriesAgain(t *testing.T) {
	t.Parallel()
	g := newGroup()
	g.refused = errors.New("no luck")
	g.members[0].full = true
	_, reports := scale(t, g, 10)
	require.Error(t, <-reports)
	require.NoError(t, <-reports)
	g.size(t, 2)
}

func TestAnIdleMemberIsRetiredAndLeaves(t *testing.T) {
	t.Parallel()
	g := newGroup()
	s, reports := scale(t, g, 10, 4)
	for range 2 {
		s.Call()
		require.NoError(t, <-reports)
	}
	g.size(t, 3)
	first := g.Members()[0]
	g.set(func(m *member) { m.busy = m.size == 4 })
	g.size(t, 2)
	g.set(func(m *member) { m.busy = false })
	g.size(t, 1)
	assert.Same(t, first, g.Members()[0], "the first stays")
	for range 2 {
		s.Call()
		require.NoError(t, <-reports)
	}
	g.size(t, 3)
}

func TestAMemberThatGotWorkAsItWasRetiredStays(t *testing.T) {
	t.Parallel()
	g := newGroup()
	s, reports := scale(t, g, 10)
	s.Call()
	require.NoError(t, <-reports)
	second := g.Members()[1]
	g.mu.Lock()
	g.closed, second.busy = true, false // it cannot leave yet
	g.mu.Unlock()
	retired := func() bool { g.mu.Lock(); defer g.mu.Unlock(); return second.retired }
	require.Eventually(t, retired, soon, time.Millisecond)
	g.set(func(m *member) { m.busy = true })
	require.Eventually(t, func() bool { return !retired() }, soon, time.Millisecond)
	assert.Len(t, g.Members(), 2)
}
