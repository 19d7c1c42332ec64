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

	"github.com/265d0351/work/internal/lazyctx"
)

// slowest is the time that one byte may take on top of a timeout: 1 s per MiB.
const slowest = time.Second / (1 << 20) // 953 ns

// link is one connection during one Pipeline.
type link struct {
	conn        redis.Conn
	addr        string
	readTimeout time.Duration
	own         bool // conn is an ownConn, or has one inside
	pooled      bool // it goes back to a pool
	peerLost    bool // the server closed it, or is not one that can be written to
	batch       batch
	one         [1]Reply // room for the only one

	bounded *lazyctx.Bounded // ends the calls; nil where another ctx does
	watched bool             // the end of bounded breaks the connection

	mu       sync.Mutex
	released bool // the connection may be somebody else's by now
}

// run sends the calls. Scripts that Redis did not know are sent once more in full, with each WAIT behind them, which
// may then wait for its whole time again: that happens once per script and server. The connection is broken unless
// every reply was read.
func (l *link) run(ctx context.Context, calls []Call) ([]Reply, error) {
	if own, is := ctx.(*lazyctx.Bounded); is {
		l.bounded = own
		defer l.unwatch()
		if !l.own || sizeOf(calls) > sentAtOnce {
			l.watch()
		}
	} else if ctx.Done() != nil {
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
		l.watch() // scripts are long
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
	stop := context.AfterFunc(ctx, l.Ended)
	return func() {
		if !stop() {
			l.release()
		}
	}
}

// sentAtOnce is how many bytes the system takes over without waiting for the server.
const sentAtOnce = 8 << 10

// watch does what endWith does, for a ctx that need not be watched from the start: what is small goes out without a
// wait, and nearly all replies come before they are late. So most calls save what it costs to watch one.
func (l *link) watch() {
	if l.bounded != nil && !l.watched {
		l.watched = true
		l.bounded.Watch(l)
	}
}

func (l *link) replyIsLate() { l.watch() }

// lateAt is when a reply is late: after a while, and sooner where its ctx ends by then.
func (l *link) lateAt() time.Time {
	at := time.Now().Add(lateAfter)
	if end, _ := l.bounded.Deadline(); end.Before(at) {
		return end
	}
	return at
}

// unwatch does what the function of endWith does.
func (l *link) unwatch() {
	if l.batch.socket != nil {
		l.batch.socket.late = nil // an idle connection keeps nothing of its last call
	}
	if l.watched && !l.bounded.Unwatch() {
		l.release()
	}
}

// Ended breaks the connection, unless it was given back.
func (l *link) Ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.kill()
	}
}

func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
}

// kill breaks the connection, from any goroutine.
func (l *link) kill() {
	if l.pooled {
		killPooled(l.conn)
		return
	}
	_ = l.conn.Close()
}

// round is one round trip. full sends scripts by their text instead of their hash, each once: behind it Redis knows the
// hash. So is a call that says InFull.
func (l *link) round(ctx context.Context, calls []Call, full bool) ([]Reply, error) {
	size, at, err := l.send(calls, full)
	if err != nil {
		return nil, l.lost(ctx, "sending", &calls[at], err)
	}
	if err := l.conn.Flush(); err != nil {
		return nil, l.lost(ctx, "sending", &calls[0], err)
	}
	block := time.Duration(0)
	for i := range calls {
		block = max(block, calls[i].Block)
	}
	timeout := l.within(l.readTimeout + block + time.Duration(size)*slowest)
	replies := l.one[:]
	if len(calls) > 1 || full {
		replies = make([]Reply, len(calls))
	}
	for i := range calls {
		value, err := redis.ReceiveWithTimeout(l.conn, timeout)
		if err == nil {
			replies[i].Value = mapped(value)
			continue
		}
		var refused redis.Error
		if !errors.As(err, &refused) {
			return nil, l.lost(ctx, "waiting for the reply to", &calls[i], err)
		}
		replies[i].Err = ParseServerError(string(refused))
	}
	return replies, nil
}

// within is how long a reply may take: a ctx that has no timer of its own leaves its deadline to the socket.
func (l *link) within(timeout time.Duration) time.Duration {
	if l.bounded != nil {
		timeout = max(1, min(timeout, time.Until(l.bounded.Until)))
	}
	return timeout
}

// send puts calls into the connection's buffer and returns about how many bytes they have, or at which it failed.
func (l *link) send(calls []Call, full bool) (size, at int, err error) {
	if l.own {
		l.batch = batch{calls: calls, full: full}
		if l.bounded != nil {
			l.batch.until = l.bounded.Until
		}
		if l.bounded != nil && !l.watched {
			l.batch.late, l.batch.lateAt = l, l.lateAt()
		}
		err = l.sendBatch()
		return l.batch.size, 0, err
	}
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
			return size, i, err
		}
		size += n
	}
	return size, 0, nil
}

// sendBatch hands the batch through a pool's connection to the ownConn inside. It has no name there: after a MULTI that
// the pool had seen, and its EXEC had not, it would send a DISCARD.
func (l *link) sendBatch() error {
	buffer := arguments.Get().(*[]any)
	args := append((*buffer)[:0], &l.batch)
	err := l.conn.Send("", args...)
	clear(args)
	arguments.Put(buffer)
	return err
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
	return &LostError{Addr: l.addr, Doing: doing + " " + call.Name(), Err: err}
}

// arguments are kept between calls: a pipeline would otherwise make garbage of one slice per call.
var arguments = sync.Pool{New: func() any { s := make([]any, 0, 64); return &s }}

// send puts one call into the buffer of redigo and returns about how many bytes it has.
func send(conn redis.Conn, c *Call, full bool) (int, error) {
	buffer := arguments.Get().(*[]any)
	args := (*buffer)[:0]
	command := c.Command
	switch {
	case c.Script == nil:
	case full:
		command, args = "EVAL", append(args, c.Script.Source, len(c.Keys))
	default:
		command, args = "EVALSHA", append(args, c.Script.SHA, len(c.Keys))
	}
	for _, key := range c.Keys {
		args = append(args, key)
	}
	for _, arg := range c.Args {
		args = append(args, Plain(arg))
	}
	err := conn.Send(command, args...)
	clear(args)
	*buffer = args[:0]
	arguments.Put(buffer)
	return c.size(full), err
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
	own         bool // conn is an ownConn
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
	l := &link{conn: c.conn, addr: c.addr, readTimeout: c.readTimeout, own: c.own}
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
