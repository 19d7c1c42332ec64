package goredis

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// slowest is the time that one byte may take on top of a timeout: 1 s per MiB.
const slowest = time.Second / (1 << 20) // 953 ns

// readTimeout is that of a client which has none: without one a server that fell silent would hold its caller for ever.
const readTimeout = 5 * time.Second

// large is how many bytes need more than the client's own timeout.
const large = 64 << 10

// patient is the client with the time that the calls may take. It shares the pool, but not the options: a connection
// that is set up writes into them what its server cannot do, and go-redis guards them for a client, not for its Conns.
func patient(client *redis.Client, calls []redisconn.Call) *redis.Client {
	size, block := 0, time.Duration(0)
	for i := range calls {
		size += sizeOf(&calls[i])
		block = max(block, calls[i].Block)
	}
	timeout := client.Options().ReadTimeout
	if timeout <= 0 {
		timeout = readTimeout
	}
	if block > 0 || size >= large {
		timeout += block + time.Duration(size)*slowest
	}
	return client.WithTimeout(timeout)
}

// link is one connection during one Pipeline.
type link struct {
	conn   *redis.Conn
	addr   string
	secret string
	kill   func() // breaks the connection, from any goroutine; nil if that cannot be done

	waiting chan struct{} // ends with a round that its caller has left
}

// release gives the connection back, when nothing uses it any more.
func (l *link) release() {
	shut := func() { l.conn.Close() } //lint:ignore errcheck what is wrong with it was reported by the calls
	if l.waiting == nil {
		shut()
		return
	}
	go func() {
		<-l.waiting
		shut()
	}()
}

// run sends the calls. Scripts that Redis did not know are sent once more in full, with each WAIT behind them.
func (l *link) run(ctx context.Context, calls []redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := l.round(ctx, calls, false)
	if err != nil {
		return nil, err
	}
	unknown := redisconn.NotRun(calls, replies)
	if len(unknown) == 0 {
		return replies, nil
	}
	again := make([]redisconn.Call, len(unknown))
	for i, at := range unknown {
		again[i] = calls[at]
	}
	answers, err := l.round(ctx, again, true)
	var unsent *redisconn.DialError
	switch {
	case errors.As(err, &unsent):
		// The first round was sent, and its other calls have run.
		return nil, l.lost(&again[0], unsent.Err)
	case err != nil:
		return nil, err
	}
	for i, at := range unknown {
		replies[at] = answers[i]
	}
	return replies, nil
}

// round is one round trip: one pipeline, of which go-redis sends nothing twice (see [exchange]). full sends scripts by
// their text instead of their hash, each once.
//
// go-redis does not notice a ctx that is cancelled while it waits for replies. So the waiting is left to a goroutine,
// which ends with the replies or with the read timeout; the connection is not used by anybody else before.
func (l *link) round(ctx context.Context, calls []redisconn.Call, full bool) ([]redisconn.Reply, error) {
	e := newExchange(ctx, calls, full)
	if ctx.Done() == nil {
		return e.result(ctx, l, e.send(ctx, l.conn))
	}
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = e.send(ctx, l.conn)
	}()
	select {
	case <-ended:
		return e.result(ctx, l, err)
	case <-ctx.Done():
	}
	shut := e.gate.shut()
	if l.kill != nil {
		l.kill()
		<-ended
		return e.result(ctx, l, err)
	}
	l.waiting = ended
	if shut {
		return nil, notSent(l.addr, l.secret, ctx.Err())
	}
	return nil, l.lost(e.awaited(), ctx.Err())
}

func (l *link) lost(call *redisconn.Call, err error) error {
	return &redisconn.LostError{Addr: l.addr, Doing: "waiting for the reply to " + call.Name(), Err: err}
}

// exchange is what one round sends, and what comes back. Each call is a command of which go-redis hands out the bytes
// of the reply as they are: so a status is told from a string, and, since what was written could not be taken back,
// go-redis never sends a pipeline with such a command a second time, whatever MaxRetries says.
type exchange struct {
	calls []redisconn.Call
	gate  *gate
	sent  []redis.Cmder
	texts []text
	begun atomic.Int64 // replies of which some has come
}

// text is where the bytes of a reply go.
type text struct {
	bytes.Buffer
	begun *atomic.Int64
}

func (t *text) Write(p []byte) (int, error) {
	if t.Len() == 0 {
		t.begun.Add(1)
	}
	return t.Buffer.Write(p)
}

func newExchange(ctx context.Context, calls []redisconn.Call, full bool) *exchange {
	e := &exchange{calls: calls, sent: make([]redis.Cmder, len(calls)), texts: make([]text, len(calls))}
	known := map[*redisconn.Script]bool{}
	for i := range calls {
		c := &calls[i]
		args := arguments(c, c.InFull || full && !known[c.Script])
		known[c.Script] = true
		if i == 0 {
			first := min(1, len(args)-1)
			e.gate = &gate{text: textOf(args[first])}
			args[first] = e.gate
		}
		e.texts[i].begun = &e.begun
		e.sent[i] = redis.NewRawWriteToCmd(ctx, &e.texts[i], args...)
	}
	return e
}

func (e *exchange) send(ctx context.Context, conn *redis.Conn) error {
	pipe := conn.Pipeline()
	for _, cmd := range e.sent {
		_ = pipe.Process(ctx, cmd) // it is only queued
	}
	_, err := pipe.Exec(ctx)
	return err
}

// result reads the replies, or says what the error of go-redis means.
func (e *exchange) result(ctx context.Context, l *link, err error) ([]redisconn.Reply, error) {
	if err == nil {
		return e.replies(l)
	}
	if ctx.Err() != nil {
		err = ctx.Err() // that is the cause, whatever the socket said
	} else if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		err = context.DeadlineExceeded // go-redis may have told the socket of it, which was first
	}
	if e.gate.shut() {
		return nil, notSent(l.addr, l.secret, err)
	}
	return nil, l.lost(e.awaited(), err)
}

// awaited is the call whose reply did not come, or the last.
func (e *exchange) awaited() *redisconn.Call {
	return &e.calls[min(int(e.begun.Load()), len(e.calls)-1)]
}

func (e *exchange) replies(l *link) ([]redisconn.Reply, error) {
	replies := make([]redisconn.Reply, len(e.calls))
	for i := range e.calls {
		value, err := decode(e.texts[i].Bytes())
		if err != nil {
			return nil, l.lost(&e.calls[i], err)
		}
		if refused, ok := value.(*redisconn.ServerError); ok {
			replies[i].Err = refused
			continue
		}
		replies[i].Value = likeRESP2(&e.calls[i], value)
	}
	return replies, nil
}

// discard keeps a connection out of its pool: go-redis closes one on which it could not write what it began.
func discard(conn *redis.Conn) {
	ctx, pipe := context.Background(), conn.Pipeline()
	_ = pipe.Process(ctx, redis.NewRawWriteToCmd(ctx, io.Discard, "PING", &gate{closed: true})) // it is only queued
	_, _ = pipe.Exec(ctx)                                                                       // fails, as it should
}
