package pooltest

import (
	"context"
	"errors"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/redisconn"
)

// line is what a pool of a kit reaches Redis by: a test may put something between before the pool starts, and cut it.
type line struct {
	redisconn.Driver // to Redis, or to what a test has put between

	dead context.Context // ends when the line is cut
	cut  context.CancelFunc
}

var errCut = errors.New("the process of the pool is dead")

// Via is a connection for the options of pools, each of which gets a line of its own: to the kit's Redis by another
// way, such as a proxy.
func (k *Kit) Via(dsn string) work.Connection { return lines{k, dsn} }

type lines struct {
	kit *Kit
	dsn string
}

// Driver opens one more line, which is closed at the end of the test.
func (l lines) Driver() (redisconn.Driver, error) {
	driver, err := redisconn.Open(l.dsn)
	if err != nil {
		return nil, err
	}
	l.kit.T.Cleanup(func() { assert.NoError(l.kit.T, driver.Close()) })
	made := &line{Driver: driver}
	made.dead, made.cut = context.WithCancel(context.Background())
	return made, nil
}

// lineOf is the line of a pool with options of a kit.
func (k *Kit) lineOf(p *work.WorkerPool) *line {
	k.T.Helper()
	of := inside.Pool(p)
	require.NoError(k.T, of.Unusable)
	found, is := of.Store.Driver().(*line)
	require.True(k.T, is, "the options of the pool are not those of a kit")
	return found
}

// TamperWith makes a pool that has not started use a driver that interferes.
func (k *Kit) TamperWith(p *work.WorkerPool, d *Tampered) *Tampered {
	k.T.Helper()
	l := k.lineOf(p)
	l.Driver = d.Over(l.Driver)
	return d
}

// Crash makes of a pool what is left of one whose process was killed: nothing reaches Redis any more, so nothing is
// given back or settled. Its handlers are still there; their ctx has ended, and what they return reaches nobody.
func (k *Kit) Crash(p *work.WorkerPool) {
	k.T.Helper()
	k.lineOf(p).cut()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k.crashed = append(k.crashed, p)
	k.T.Cleanup(func() { _ = p.Stop(k.Ctx()) })
	_ = p.Stop(ctx)
}

func (l *line) pass(ctx context.Context, pass Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	if l.dead.Err() != nil {
		return nil, &redisconn.DialError{Err: errCut}
	}
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.dead, func() { cancel(errCut) })()
	return pass(alive, calls...)
}

// Pipeline passes on, unless the line is cut.
func (l *line) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return l.pass(ctx, l.Driver.Pipeline, calls)
}

// Dial passes on, unless the line is cut.
func (l *line) Dial(ctx context.Context) (redisconn.Conn, error) {
	if l.dead.Err() != nil {
		return nil, &redisconn.DialError{Err: errCut}
	}
	conn, err := l.Driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &lineConn{conn, l}, nil
}

// Subscribe listens until the line is cut.
func (l *line) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	return l.listen(ctx, func(ctx context.Context) error { return l.Driver.Subscribe(ctx, channel, ready, receive) })
}

// SubscribeAll is the same of several channels.
func (l *line) SubscribeAll(ctx context.Context, channels []string, ready func(), receive func(string, []byte)) error {
	return l.listen(ctx, func(ctx context.Context) error {
		return l.Driver.SubscribeAll(ctx, channels, ready, receive)
	})
}

func (l *line) listen(ctx context.Context, listen func(context.Context) error) error {
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.dead, cancel)()
	if err := listen(alive); err != nil || ctx.Err() != nil {
		return err
	}
	return errCut
}

type lineConn struct {
	redisconn.Conn
	line *line
}

func (c *lineConn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return c.line.pass(ctx, c.Conn.Pipeline, calls)
}
