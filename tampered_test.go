package work

import (
	"context"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// send passes calls on to Redis.
type send func(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error)

// tampered is a driver that counts what is sent and may interfere.
type tampered struct {
	rdb.Driver
	deaf   bool                                                                        // hears no hints
	tamper func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) // nil passes everything on
	// behind each call on a connection of one's own; may be nil
	after func(conn rdb.Conn, calls []rdb.Call)

	mu     sync.Mutex
	counts map[string]int // by script or command
	total  int
}

// tamper makes the pool use a tampered driver. It must not be started yet.
func (k *kit) tamper(p *WorkerPool, d *tampered) *tampered {
	k.t.Helper()
	require.NoError(k.t, p.open())
	d.Driver, d.counts = p.driver, map[string]int{}
	p.driver, p.store = d, rdb.NewStore(d, k.namespace)
	return d
}

func (d *tampered) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	return d.pass(ctx, d.Driver.Pipeline, calls)
}

func (d *tampered) Dial(ctx context.Context) (rdb.Conn, error) {
	conn, err := d.Driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tamperedConn{Conn: conn, driver: d}, nil
}

func (d *tampered) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	if d.deaf {
		<-ctx.Done()
		return nil
	}
	return d.Driver.Subscribe(ctx, channel, ready, receive)
}

func (d *tampered) pass(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
	d.mu.Lock()
	for _, call := range calls {
		d.counts[nameOf(call)]++
		d.total++
	}
	d.mu.Unlock()
	if d.tamper != nil {
		return d.tamper(ctx, pass, calls)
	}
	return pass(ctx, calls...)
}

// sent is how many calls of a script or command were sent so far, and how many of all.
func (d *tampered) sent(name string) (named, total int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[name], d.total
}

// untilSent waits until so many more calls of that name were sent.
func (d *tampered) untilSent(t *testing.T, name string, more int) {
	t.Helper()
	before, _ := d.sent(name)
	require.Eventually(t, func() bool { now, _ := d.sent(name); return now >= before+more }, patience, beatInterval/100)
}

// untilEachSent waits until each of them has sent so many more calls of that name.
func untilEachSent(t *testing.T, drivers []*tampered, name string, more int) {
	t.Helper()
	wanted := make([]int, len(drivers))
	for i, d := range drivers {
		before, _ := d.sent(name)
		wanted[i] = before + more
	}
	for i, d := range drivers {
		d.untilSentInAll(t, name, wanted[i])
	}
}

// untilSentInAll waits until so many calls of that name were sent since the pool began.
func (d *tampered) untilSentInAll(t *testing.T, name string, all int) {
	t.Helper()
	require.Eventually(t, func() bool { now, _ := d.sent(name); return now >= all }, patience, beatInterval/100)
}

func nameOf(call rdb.Call) string {
	if call.Script != nil {
		return path.Base(call.Script.Name)
	}
	return call.Command
}

type tamperedConn struct {
	rdb.Conn
	driver *tampered
}

func (c *tamperedConn) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	replies, err := c.driver.pass(ctx, c.Conn.Pipeline, calls)
	if c.driver.after != nil {
		c.driver.after(c.Conn, calls)
	}
	return replies, err
}
