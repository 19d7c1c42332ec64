// Package maintaintest is what tests of periodic jobs share: a namespace in which time passes when the test says so,
// and periodic enqueuers without a pool around them.
package maintaintest

import (
	"context"
	"encoding/json"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/schedule"
)

// Start is when a Clockwork begins, a moment of no special meaning.
var Start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Clockwork are periodic enqueuers of several workers on one embedded Redis, which follows the time that the test sets;
// the heartbeats are those of the test.
type Clockwork struct {
	T         *testing.T
	Server    redistest.Server
	Namespace string
	Store     *rdb.Store
	Now       time.Time

	mu     sync.Mutex
	events []event.Event
}

// New is one at Start.
func New(t *testing.T) *Clockwork {
	t.Helper()
	c := &Clockwork{T: t, Server: redistest.Embedded(t), Namespace: redistest.Namespace(t)}
	driver, err := redisconn.Open(c.Server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	c.Store = rdb.NewStore(driver, c.Namespace)
	c.Set(Start)
	return c
}

// Set sets the time of Redis.
func (c *Clockwork) Set(now time.Time) {
	c.Now = now
	c.Server.Embedded().SetTime(now)
}

// Enqueuer is that of one worker.
func (c *Clockwork) Enqueuer() *maintain.PeriodicEnqueuer { return c.EnqueuerOn(c.Store.Driver()) }

// EnqueuerOn is one whose driver the test may tamper with.
func (c *Clockwork) EnqueuerOn(driver redisconn.Driver) *maintain.PeriodicEnqueuer {
	env := maintain.Env{Store: rdb.NewStore(driver, c.Namespace), Emit: c.emit, Heartbeat: time.Second}
	return maintain.NewPeriodicEnqueuer(env, nil, func(job schedule.Job) []byte {
		encoded, err := json.Marshal(map[string]any{"jid": job.ID, "name": job.Name, "args": job.Args})
		require.NoError(c.T, err)
		return encoded
	})
}

func (c *Clockwork) emit(e event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

// Told are the events of that type, in their order.
func Told[E event.Event](c *Clockwork) (found []E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if one, is := e.(E); is {
			found = append(found, one)
		}
	}
	return found
}

// Beat tells an enqueuer what a heartbeat would.
func (c *Clockwork) Beat(e *maintain.PeriodicEnqueuer) {
	c.T.Helper()
	revision, _ := c.Do("GET", "schedules:revision").([]byte)
	e.Told(rdb.Pulse{Time: c.Now, Leased: true, Revision: string(revision)})
}

// Round is a heartbeat and what the enqueuer does then.
func (c *Clockwork) Round(e *maintain.PeriodicEnqueuer) error {
	c.T.Helper()
	c.Beat(e)
	_, err := e.Round(c.T.Context())
	return err
}

// Add stores a schedule of the job "export", of no service.
func (c *Clockwork) Add(wanted schedule.Wanted) *schedule.Schedule {
	c.T.Helper()
	wanted.Name = "export"
	wanted.Args = func() (json.RawMessage, error) { return json.RawMessage("[]"), nil }
	made, mistakes := schedule.New(wanted)
	require.Empty(c.T, mistakes)
	require.NoError(c.T, schedule.Redefine(c.T.Context(), c.Store, made.ID,
		func(rdb.Schedule) (schedule.Change, error) {
			return schedule.Change{Definition: made.Definition.Text(), Anew: true}, nil
		}))
	return made
}

// IDs are those of all jobs that live, in no order.
func (c *Clockwork) IDs() []string {
	c.T.Helper()
	list, err := redis.Strings(c.Do("HKEYS", "jobs"), nil)
	require.NoError(c.T, err)
	return list
}

// Do sends a command about a key of the namespace.
func (c *Clockwork) Do(command, key string, args ...any) any {
	c.T.Helper()
	call := redisconn.Call{Command: command, Args: append([]any{c.Store.FullName(key)}, args...)}
	reply, err := redisconn.Do(c.T.Context(), c.Store.Driver(), call)
	require.NoError(c.T, err)
	return reply
}

// Number is the reply to a command that answers with one.
func (c *Clockwork) Number(command, key string, args ...any) int {
	c.T.Helper()
	n, err := redis.Int(c.Do(command, key, args...), nil)
	require.NoError(c.T, err)
	return n
}

// Send is a call of the driver below.
type Send func(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error)

// Interrupted is a driver under which a worker dies, or loses the answer, at its next tick. It counts what is sent.
type Interrupted struct {
	redisconn.Driver
	Next func(ctx context.Context, pass Send, calls []redisconn.Call) ([]redisconn.Reply, error)
	Sent int
}

// Pipeline sends calls, unless Next is to do it.
func (d *Interrupted) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.Sent++
	if script := calls[0].Script; d.Next != nil && script != nil && path.Base(script.Name) == "tick" {
		next := d.Next
		d.Next = nil
		return next(ctx, d.Driver.Pipeline, calls)
	}
	return d.Driver.Pipeline(ctx, calls...)
}
