package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// slowest is the time that one byte may take on top of a timeout: 1 s per MiB.
const slowest = time.Second / (1 << 20) // 953 ns

// link is one connection during one Pipeline.
type link struct {
	conn        redis.Conn
	addr        string
	readTimeout time.Duration
	kill        func() // breaks the connection, from any goroutine
	peerLost    bool   // the server closed it, or is not one that can be written to

	mu       sync.Mutex
	released bool // the connection may be somebody else's by now
}

// run sends the calls. Scripts that Redis did not know are sent once more in full, with each WAIT behind them, which
// may then wait for its whole time again: that happens once per script and server. The connection is broken unless
// every reply was read.
func (l *link) run(ctx context.Context, calls []Call) ([]Reply, error) {
	if ctx.Done() != nil {
		defer l.endWith(ctx)()
	}
	replies, err := l.round(ctx, calls, false)
	if err != nil {
		return nil, err
	}
	if unknown := NotRun(calls, replies); len(unknown) > 0 {
		again := make([]Call, len(unknown))
		for i, at := range unknown {
			again[i] = calls[at]
		}
		answers, err := l.round(ctx, again, true)
		if err != nil {
			return nil, err
		}
		for i, at := range unknown {
			replies[at] = answers[i]
		}
	}
	if TurnedAway(replies) {
		l.peerLost = true
		l.kill()
	}
	return replies, nil
}

// endWith breaks the connection when ctx ends, without a goroutine before that. The function it returns must be called
// before the connection is given back: afterwards nothing touches it.
func (l *link) endWith(ctx context.Context) (release func()) {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.released {
			l.kill()
		}
	})
	return func() {
		if stop() {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.released = true
	}
}

// round is one round trip. full sends scripts by their text instead of their hash, each once: behind it Redis knows the
// hash. So is a call that says InFull.
func (l *link) round(ctx context.Context, calls []Call, full bool) ([]Reply, error) {
	size, block := 0, time.Duration(0)
	var known map[*Script]bool
	if full {
		known = map[*Script]bool{}
	}
	for i := range calls {
		n, err := send(l.conn, &calls[i], calls[i].InFull || full && !known[calls[i].Script])
		if full {
			known[calls[i].Script] = true
		}
		if err != nil {
			return nil, l.lost(ctx, "sending", &calls[i], err)
		}
		size += n
		block = max(block, calls[i].Block)
	}
	if err := l.conn.Flush(); err != nil {
		return nil, l.lost(ctx, "sending", &calls[0], err)
	}
	timeout := l.readTimeout + block + time.Duration(size)*slowest
	replies := make([]Reply, len(calls))
	for i := range calls {
		value, err := redis.ReceiveWithTimeout(l.conn, timeout)
		var refused redis.Error
		switch {
		case err == nil:
			replies[i].Value = mapped(value)
		case errors.As(err, &refused):
			replies[i].Err = ParseServerError(string(refused))
		default:
			return nil, l.lost(ctx, "waiting for the reply to", &calls[i], err)
		}
	}
	return replies, nil
}

// lost breaks the connection and says what was under way. A ctx that ended is the cause, whatever the socket said.
func (l *link) lost(ctx context.Context, doing string, call *Call, err error) error {
	l.kill()
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &timeout) && timeout.Timeout():
		// A slow server is no reason to give up the other connections.
	default:
		l.peerLost = true
	}
	return fmt.Errorf("connection to Redis at %s lost while %s %s: %w", l.addr, doing, call.Name(), err)
}

// arguments are kept between calls: a pipeline would otherwise make garbage of one slice per call.
var arguments = sync.Pool{New: func() any { s := make([]any, 0, 64); return &s }}

// send puts one call into the connection's buffer and returns about how many bytes it has.
func send(conn redis.Conn, c *Call, full bool) (int, error) {
	buffer := arguments.Get().(*[]any)
	args := (*buffer)[:0]
	size, command := len(c.Command), c.Command
	switch {
	case c.Script == nil:
	case full:
		command, args, size = "EVAL", append(args, c.Script.Source, len(c.Keys)), len(c.Script.Source)
	default:
		command, args, size = "EVALSHA", append(args, c.Script.SHA, len(c.Keys)), len(c.Script.SHA)
	}
	for _, key := range c.Keys {
		args = append(args, key)
		size += len(key)
	}
	for _, arg := range c.Args {
		args = append(args, arg)
		size += argumentSize(arg)
	}
	err := conn.Send(command, args...)
	clear(args)
	*buffer = args[:0]
	arguments.Put(buffer)
	return size, err
}

func argumentSize(arg any) int {
	switch a := arg.(type) {
	case string:
		return len(a)
	case []byte:
		return len(a)
	}
	return 8
}

// mapped replaces redigo's errors inside arrays by ours.
func mapped(value any) any {
	switch v := value.(type) {
	case redis.Error:
		return ParseServerError(string(v))
	case []any:
		for i := range v {
			v[i] = mapped(v[i])
		}
	}
	return value
}

// redigoConn is a Conn on a redigo connection, which allows Close from any goroutine.
type redigoConn struct {
	conn        redis.Conn
	addr        string
	readTimeout time.Duration
	closed      atomic.Bool
	signpost    *Signpost
	ask         Asks // on another connection: a refusal may have ended this one
}

func newRedigoConn(conn redis.Conn, addr string, readTimeout time.Duration) *redigoConn {
	return &redigoConn{conn: conn, addr: addr, readTimeout: readTimeout}
}

func (c *redigoConn) Pipeline(ctx context.Context, calls ...Call) ([]Reply, error) {
	if err := Check(calls); err != nil || len(calls) == 0 {
		return nil, err
	}
	if err := c.usable(ctx); err != nil {
		return nil, &DialError{Addr: c.addr, Err: err}
	}
	l := &link{conn: c.conn, addr: c.addr, readTimeout: c.readTimeout, kill: func() { _ = c.conn.Close() }}
	replies, err := l.run(ctx, calls)
	if err != nil && c.closed.Load() && ctx.Err() == nil {
		return nil, fmt.Errorf("call to Redis at %s ended: %w", c.addr, ErrClosed)
	}
	c.signpost.Explain(ctx, c.ask, calls, replies)
	return replies, err
}

// usable finds out beforehand that nothing can be sent.
func (c *redigoConn) usable(ctx context.Context) error {
	if c.closed.Load() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.conn.Err()
}

func (c *redigoConn) Broken() bool { return c.closed.Load() || c.conn.Err() != nil }

func (c *redigoConn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	if c.conn.Err() != nil {
		return nil // already broken, and reported by the call that found it
	}
	return c.conn.Close()
}
