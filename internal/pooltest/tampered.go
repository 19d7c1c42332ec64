package pooltest

import (
	"context"
	"path"
	"sync"
	"testing"

	"github.com/265d0351/work/internal/crash"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
)

// Send passes calls on to Redis.
type Send func(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error)

// Tampered is a driver that counts what is sent and may interfere.
type Tampered struct {
	redisconn.Driver
	Deaf bool // hears no hints
	// nil passes everything on
	Tamper func(ctx context.Context, pass Send, calls []redisconn.Call) ([]redisconn.Reply, error)
	// behind each call on a connection of one's own; may be nil
	After func(conn redisconn.Conn, calls []redisconn.Call)

	mu     sync.Mutex
	counts map[string]int // by script or command
	total  int
}

// Tamper makes a pool with these options use a driver that interferes.
func (k *Kit) Tamper(o *work.WorkerOptions, d *Tampered) *Tampered {
	k.T.Helper()
	driver, err := o.Connection.Driver()
	require.NoError(k.T, err)
	o.Connection = Connection{d.Over(driver)}
	return d
}

// Over puts it before a driver.
func (d *Tampered) Over(driver redisconn.Driver) *Tampered {
	d.Driver, d.counts = driver, map[string]int{}
	return d
}

// Interfering is a Connection to the kit's Redis whose requests may be interfered with.
func (k *Kit) Interfering(tamper func(ctx context.Context, pass Send, calls []redisconn.Call) ([]redisconn.Reply,
	error)) work.Connection {
	k.T.Helper()
	driver, err := redisconn.Open(k.Server.DSN())
	require.NoError(k.T, err)
	k.T.Cleanup(func() { assert.NoError(k.T, driver.Close()) })
	return Connection{(&Tampered{Tamper: tamper}).Over(driver)}
}

// Connection is a [work.Connection] of any driver.
type Connection struct{ Of redisconn.Driver }

// Driver returns it.
func (c Connection) Driver() (redisconn.Driver, error) { return c.Of, nil }

// Pipeline passes on, unless the test interferes.
func (d *Tampered) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return d.pass(ctx, d.Driver.Pipeline, calls)
}

// Dial passes on, unless the test interferes.
func (d *Tampered) Dial(ctx context.Context) (redisconn.Conn, error) {
	conn, err := d.Driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tamperedConn{Conn: conn, driver: d}, nil
}

// Subscribe passes on, unless the test interferes.
func (d *Tampered) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	if d.Deaf {
		<-ctx.Done()
		return nil
	}
	return d.Driver.Subscribe(ctx, channel, ready, receive)
}

func (d *Tampered) pass(ctx context.Context, pass Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	d.mu.Lock()
	for _, call := range calls {
		d.counts[NameOf(call)]++
		d.total++
	}
	d.mu.Unlock()
	if d.Tamper != nil {
		return d.Tamper(ctx, pass, calls)
	}
	return pass(ctx, calls...)
}

// Sent is how many calls of a script or command were sent so far, and how many of all.
func (d *Tampered) Sent(name string) (named, total int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[name], d.total
}

// UntilSent waits until so many more calls of that name were sent.
func (d *Tampered) UntilSent(t *testing.T, name string, more int) {
	t.Helper()
	before, _ := d.Sent(name)
	require.Eventually(t, func() bool { now, _ := d.Sent(name); return now >= before+more }, Patience, lookEvery/5)
}

// UntilEachSent waits until each of them has sent so many more calls of that name.
func UntilEachSent(t *testing.T, drivers []*Tampered, name string, more int) {
	t.Helper()
	wanted := make([]int, len(drivers))
	for i, d := range drivers {
		before, _ := d.Sent(name)
		wanted[i] = before + more
	}
	for i, d := range drivers {
		d.UntilSentInAll(t, name, wanted[i])
	}
}

// UntilSentInAll waits until so many calls of that name were sent since the beginning.
func (d *Tampered) UntilSentInAll(t *testing.T, name string, all int) {
	t.Helper()
	require.Eventually(t, func() bool { now, _ := d.Sent(name); return now >= all }, Patience, lookEvery/5)
}

// NameOf is the script of a call, without its folder, or its command.
func NameOf(call redisconn.Call) string {
	if call.Script != nil {
		return path.Base(call.Script.Name)
	}
	return call.Command
}

type tamperedConn struct {
	redisconn.Conn
	driver *Tampered
}

func (c *tamperedConn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := c.driver.pass(ctx, c.Conn.Pipeline, calls)
	if c.driver.After != nil {
		c.driver.After(c.Conn, calls)
	}
	return replies, err
}

// Settles waits until whatever could begin has begun: a worker has beaten twice, and looked at its queues as often.
func (k *Kit) Settles(ds ...*Tampered) {
	k.T.Helper()
	for _, d := range ds {
		d.UntilSent(k.T, "beat", 2)
	}
}

// LoseReplies makes the pool lose the first reply of each script of that name, after Redis has executed it.
func (k *Kit) LoseReplies(pool *work.WorkerPool, script string, calls func(sent int) bool) {
	k.T.Helper()
	sent := 0
	gate := make(chan struct{}, 1)
	k.TamperWith(pool, &Tampered{Tamper: func(
		ctx context.Context, pass Send, batch []redisconn.Call,
	) ([]redisconn.Reply, error) {
		replies, err := pass(ctx, batch...)
		if NameOf(batch[0]) != script {
			return replies, err
		}
		gate <- struct{}{}
		defer func() { <-gate }()
		if sent++; calls(sent) {
			return nil, ErrLuck
		}
		return replies, err
	}})
}

// Settles tells whether calls are a settlement.
func Settles(calls []redisconn.Call) bool {
	switch NameOf(calls[0]) {
	case "complete", "shelve", "release":
		return true
	}
	return false
}

// DiedWith are the workers whose deaths count against a job.
func (k *Kit) DiedWith(id string) []string {
	record := crash.Read(k.Text("HGET", "crashes", id))
	return record.Workers()
}
