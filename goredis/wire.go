package goredis

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/265d0351/work/internal/redisconn"
)

// wire is a client of go-redis with one connection, which is made once: go-redis would dial again without a word, and
// a subscription or a connection of one's own that was lost must be told. It can be broken from any goroutine.
type wire struct {
	of     *redis.Client // whose options it has
	client *redis.Client
	addr   string
	secret string
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	socket *socket
	ended  bool
}

// errOnce is what go-redis hears when it dials a second time.
var errOnce = errors.New("the connection was lost")

// newWire makes one to the server of a client, with its options: where and how it dials, who it is, what it does on
// connecting. What is about many connections, or hidden from the caller, is switched off. Hooks do not come along.
// at is another server than the client's, if it is not empty.
func newWire(of *redis.Client, at string) *wire {
	opt := *of.Options()
	if at != "" {
		opt.Addr = at
	}
	w := &wire{of: of, addr: opt.Addr, secret: opt.Password, dial: opt.Dialer}
	opt.Dialer = w.once
	opt.DialerRetries, opt.MaxRetries = 1, -1
	opt.PoolSize, opt.MinIdleConns, opt.MaxIdleConns, opt.MaxActiveConns, opt.PipelinePoolSize = 1, 0, 0, 0, -1
	opt.ConnMaxIdleTime, opt.ConnMaxLifetime, opt.ConnMaxLifetimeJitter = -1, -1, 0
	opt.Protocol = 2
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opt.PushNotificationProcessor, opt.Limiter, opt.AutoPipelineOptions = nil, nil, nil
	opt.ClientSideCacheConfig, opt.ClientSideCache = nil, nil
	if opt.ReadTimeout <= 0 {
		opt.ReadTimeout = readTimeout
	}
	if opt.WriteTimeout <= 0 {
		opt.WriteTimeout = readTimeout
	}
	w.client = redis.NewClient(&opt)
	return w
}

// dial has a connection ready for use, or fails with a *DialError.
func dial(ctx context.Context, to *redis.Client) (*wire, error) {
	w := newWire(to, "")
	if _, err := w.send(ctx, []redisconn.Call{{Command: "PING"}}); err != nil {
		w.end()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		var unsent *redisconn.DialError
		if errors.As(err, &unsent) {
			return nil, unsent
		}
		return nil, notSent(w.addr, w.secret, err)
	}
	return w, nil
}

// send runs calls over the connection.
func (w *wire) send(ctx context.Context, calls []redisconn.Call) ([]redisconn.Reply, error) {
	l := &link{conn: patient(w.client, calls).Conn(), addr: w.addr, secret: w.secret, kill: w.cut}
	defer l.release()
	replies, err := l.run(ctx, calls)
	if err != nil || redisconn.TurnedAway(replies) || moved(replies) {
		var unsent *redisconn.DialError
		if !errors.As(err, &unsent) {
			w.cut()
		}
	}
	if ctx.Err() != nil {
		w.cut()
	}
	return replies, err
}

// once dials the first time, and never again.
func (w *wire) once(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	again := w.ended || w.socket != nil
	w.mu.Unlock()
	if again {
		return nil, errOnce
	}
	conn, err := w.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: conn, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		conn.Close() //lint:ignore errcheck nothing was sent
		return nil, errOnce
	}
	w.socket = s
	return s, nil
}

// cut breaks the connection; a call under way fails.
func (w *wire) cut() {
	w.mu.Lock()
	w.ended = true
	s := w.socket
	w.mu.Unlock()
	if s != nil {
		s.Conn.Close() //lint:ignore errcheck closing is all that is wanted
	}
}

// end breaks the connection and frees what belongs to it.
func (w *wire) end() {
	w.cut()
	w.client.Close() //lint:ignore errcheck as above
}

// broken tells whether every further call fails.
func (w *wire) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// remote is where the connection ends, in the words of the network; empty if there is none, or it has no such words.
func (w *wire) remote() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.socket == nil {
		return ""
	}
	return addrOf(w.socket)
}

// addrOf is the other end; a dialer of the program's may make connections that have none.
func addrOf(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// socket tells its wire when go-redis gives it up.
type socket struct {
	net.Conn
	wire *wire
}

func (s *socket) Close() error {
	s.wire.mu.Lock()
	s.wire.ended = true
	s.wire.mu.Unlock()
	return s.Conn.Close()
}
