package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gomodule/redigo/redis"
)

// driver makes the pool of a DSN. Nothing is dialled yet.
func (e *endpoint) driver() *redigoDriver {
	d := &redigoDriver{own: true, addr: e.addr, secret: e.password, readTimeout: e.readTimeout,
		signpost: e.signpost(), slots: make(chan struct{}, e.poolSize)}
	d.pool = &redis.Pool{
		DialContext:     d.counted(e.dial),
		TestOnBorrow:    d.fresh,
		MaxIdle:         e.poolSize,
		IdleTimeout:     e.idleTimeout,
		MaxConnLifetime: e.maxConnLifetime,
	}
	return d
}

// counted counts the connections that come about.
func (d *redigoDriver) counted(
	dial func(context.Context) (redis.Conn, error),
) func(context.Context) (redis.Conn, error) {
	return func(ctx context.Context) (redis.Conn, error) {
		conn, err := dial(ctx)
		if err == nil {
			d.dialled.Add(1)
		}
		return conn, err
	}
}

// Dialled counts the connections of a pool of ours. Those that the owner of a given pool dials are not seen.
func (d *redigoDriver) Dialled() int64 { return d.dialled.Load() }

// signpost knows how the DSN would be written with another scheme.
func (e *endpoint) signpost() *Signpost {
	s := &Signpost{Addr: e.addr}
	if e.tls != nil {
		s.Query = "?tls=true"
	}
	return s
}

// dial has a connection ready for use within the dial timeout and ctx.
func (e *endpoint) dial(ctx context.Context) (redis.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, e.dialTimeout)
	defer cancel()
	var socket *patientConn
	conn, err := redis.DialContext(limited, e.network, e.addr,
		redis.DialContextFunc(func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
			if socket, err = e.dialNet(ctx, network, addr); err != nil {
				return nil, err
			}
			return socket, nil
		}),
		redis.DialReadTimeout(e.readTimeout),
		redis.DialWriteTimeout(0), // patientConn's
		redis.DialUsername(e.user),
		redis.DialPassword(e.password),
		redis.DialDatabase(e.db),
	)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		// Not wrapped: the caller's ctx has not ended.
		return nil, fmt.Errorf("not ready within dial_timeout=%s: %v", e.dialTimeout, err) // see above
	}
	if err != nil {
		return nil, err
	}
	return &ownConn{redigoConnection: conn.(redigoConnection), socket: socket}, nil
}

// dialNet does TLS itself: redigo's own handshake does not end with ctx.
func (e *endpoint) dialNet(ctx context.Context, network, addr string) (*patientConn, error) {
	dial := e.within
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, addr) }
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	if e.tls != nil {
		secured := tls.Client(conn, e.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close() //lint:ignore errcheck the handshake's error tells more
			return nil, err
		}
		conn = secured
	}
	return &patientConn{Conn: conn, timeout: e.writeTimeout}, nil
}

// patientConn gives each write a time that grows with its bytes: with a fixed one, a batch that is too big for a slow
// link would fail in the same way for ever. And it tells when a reply is late.
type patientConn struct {
	net.Conn
	timeout time.Duration
	until   time.Time // no write takes longer; the zero time is no bound

	late      lateReplies // is told when a reply is late; nil: nobody
	lateAt    time.Time
	readUntil time.Time
}

// lateReplies is told that a reply is late, in the goroutine that waits for it.
type lateReplies interface{ replyIsLate() }

// lateAfter is when a reply is late, or the last of several. Most come within a millisecond.
const lateAfter = 10 * time.Millisecond

func (c *patientConn) Write(p []byte) (int, error) {
	deadline := time.Now().Add(c.timeout + time.Duration(len(p))*slowest)
	if !c.until.IsZero() && c.until.Before(deadline) {
		deadline = c.until
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetReadDeadline leaves that to Read where it is to tell of a late reply.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	c.readUntil = t
	if c.late != nil {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *patientConn) Read(p []byte) (int, error) {
	if c.late == nil {
		return c.Conn.Read(p)
	}
	if c.readUntil.IsZero() || c.lateAt.Before(c.readUntil) {
		if err := c.Conn.SetReadDeadline(c.lateAt); err != nil {
			return 0, err
		}
		n, err := c.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	c.late.replyIsLate()
	c.late = nil
	if err := c.Conn.SetReadDeadline(c.readUntil); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
