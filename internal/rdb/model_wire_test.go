package rdb_test

import (
	"context"
	"errors"
	"fmt"
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

// land sends what was kept, and hands the replies to the method that made the calls. What that calls beyond it follows
// from an answer.
type land struct {
	redisconn.Driver
	t    *rapid.T
	kept []redisconn.Call
}

func (l *land) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if len(l.kept) == 0 {
		return l.Driver.Pipeline(ctx, calls...)
	}
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
	prompt bool // it is another call each time, so it lands at once or never
}

// lateStep is a request that is still on its way.
type lateStep struct {
	step
	calls []redisconn.Call
}

// courier brings the requests of a model to Redis, some of them late, twice, or never.
type courier struct {
	site   *site
	wire   *wire
	late   []lateStep
	calm   bool     // every request is answered
	script []string // what happened, to be read by people

	before, after int64  // Redis' clock around the request under way
	delivered     func() // is called after each request that Redis has executed
}

// logf notes what happens, for the script that a failed run prints.
func (c *courier) logf(_ *rapid.T, format string, args ...any) {
	c.script = append(c.script, fmt.Sprintf(format, args...))
}

// request sends a step with a random fate, and returns its answer unless that was lost.
func (c *courier) request(t *rapid.T, s step) (any, bool) {
	fate := rapid.SampledFrom([]string{"answered", "answered", "answered", "answered", "reply lost", "reply lost",
		"late", "never sent"}).Draw(t, "fate")
	if c.calm {
		fate = "answered"
	}
	if s.prompt && fate == "late" {
		fate = "never sent"
	}
	c.logf(t, "%s: %s", s.title, fate)
	switch fate {
	case "answered":
		return c.deliver(t, s, c.site.store), true
	case "reply lost":
		c.deliver(t, s, c.site.store)
	case "late", "never sent":
		c.wire.keeping = true
		_, err := s.send(c.site.store)
		c.wire.keeping = false
		require.ErrorIs(t, err, errNoReply)
		if fate == "late" {
			c.late = append(c.late, lateStep{s, c.wire.kept})
		}
		c.wire.kept = nil
	}
	return nil, false
}

// deliver has Redis execute the step, and compares its answer with the model's.
func (c *courier) deliver(t *rapid.T, s step, store *rdb.Store) any {
	c.before = c.site.now(t).UnixMilli()
	got, err := s.send(store)
	require.NoError(t, err, s.title)
	c.after = c.site.now(t).UnixMilli()
	require.Equal(t, s.execute(), got, s.title)
	c.delivered()
	return got
}

// arrive lets a late request land, and perhaps stay on the wire to land once more.
func (c *courier) arrive(t *rapid.T) {
	if len(c.late) == 0 {
		t.Skip("nothing is on its way")
	}
	i := rapid.IntRange(0, len(c.late)-1).Draw(t, "which")
	late := c.late[i]
	c.logf(t, "late: %s", late.title)
	if late.once || !rapid.Bool().Draw(t, "again") {
		c.late = slices.Delete(c.late, i, i+1)
	}
	c.deliver(t, late.step, rdb.NewStore(&land{c.wire.Driver, t, late.calls}, c.site.namespace))
}
