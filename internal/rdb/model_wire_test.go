package rdb_test

import (
	"context"
	"errors"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var errNoReply = errors.New("the connection broke before a reply came")

// wire is a Driver that can keep a call instead of sending it, so that it lands later, or never, or again.
type wire struct {
	redisconn.Driver
	keeping bool
	kept    []redisconn.Call
}

func (w *wire) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if w.keeping {
		w.kept = append(w.kept, calls...)
		return nil, errNoReply
	}
	return w.Driver.Pipeline(ctx, calls...)
}

// land sends what was kept, and hands the replies to the method that made the calls.
type land struct {
	redisconn.Driver
	t    *rapid.T
	kept []redisconn.Call
}

func (l *land) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	require.Equal(l.t, l.kept[:len(calls)], calls, "the same method makes the same calls")
	l.kept = l.kept[len(calls):]
	return l.Driver.Pipeline(ctx, calls...)
}

// conn makes a Conn of a Driver: calls that go over a connection of one's own can be kept as well.
type conn struct{ redisconn.Driver }

func (conn) Broken() bool { return false }

// step is one request: how it is sent, and what it does to the model when Redis executes it.
type step struct {
	title   string
	send    func(store *rdb.Store) (any, error)
	execute func() any // returns the answer that it must have

	lane   string // of a call that enqueues, and its number there
	number int64
	once   bool // nobody sends it again, so it lands once
}

// lateStep is a request that is still on its way.
type lateStep struct {
	step
	calls []redisconn.Call
}

// request sends a step with a random fate, and returns its answer unless that was lost.
func (m *machine) request(t *rapid.T, s step) (any, bool) {
	fate := rapid.SampledFrom([]string{"answered", "answered", "answered", "answered", "reply lost", "reply lost",
		"late", "never sent"}).Draw(t, "fate")
	if m.calm {
		fate = "answered"
	}
	m.logf(t, "%s: %s", s.title, fate)
	switch fate {
	case "answered":
		return m.deliver(t, s, m.site.store), true
	case "reply lost":
		m.deliver(t, s, m.site.store)
	case "late", "never sent":
		m.wire.keeping = true
		_, err := s.send(m.site.store)
		m.wire.keeping = false
		require.ErrorIs(t, err, errNoReply)
		if fate == "late" {
			m.late = append(m.late, lateStep{s, m.wire.kept})
		}
		m.wire.kept = nil
	}
	return nil, false
}

// deliver has Redis execute the step, and compares its answer with the model's.
func (m *machine) deliver(t *rapid.T, s step, store *rdb.Store) any {
	m.before = m.site.now(t).UnixMilli()
	got, err := s.send(store)
	require.NoError(t, err, s.title)
	m.after = m.site.now(t).UnixMilli()
	require.Equal(t, s.execute(), got, s.title)
	for _, queue := range modelQueues {
		if room, _, _ := m.room(queue, m.after); room == 0 {
			m.owed[queue] = true // by whoever makes room
		}
	}
	return got
}

// arrive lets a late request land, and perhaps stay on the wire to land once more.
func (m *machine) arrive(t *rapid.T) {
	if len(m.late) == 0 {
		t.Skip("nothing is on its way")
	}
	i := rapid.IntRange(0, len(m.late)-1).Draw(t, "which")
	late := m.late[i]
	m.logf(t, "late: %s", late.title)
	if late.once || !rapid.Bool().Draw(t, "again") {
		m.late = slices.Delete(m.late, i, i+1)
	}
	m.deliver(t, late.step, rdb.NewStore(&land{m.wire.Driver, t, late.calls}, m.site.namespace))
}
