package redisconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// ErrClosed is what calls on a closed Driver or Conn fail with, inside a [*DialError] when nothing was sent.
var ErrClosed = errors.New("the connection was closed by this program")

// How long a given pool that is exhausted and does not wait by itself is left alone between two looks.
const (
	exhaustedPauseMin = 500 * time.Microsecond
	exhaustedPauseMax = 20 * time.Millisecond
)

// givenPool stands for the address of a pool that only its owner knows.
const givenPool = "(given pool)"

// redigoDriver is a Driver on a redigo pool, its own or a given one.
type redigoDriver struct {
	pool        *redis.Pool
	own         bool
	addr        string // without user and password
	secret      string // the password, to keep it out of errors
	readTimeout time.Duration
	slots       chan struct{} // has room for as many calls as there may be connections; nil for a given pool
	probeEvery  time.Duration // of a subscription
	silence     time.Duration // after which a subscription is given up
	signpost    *Signpost     // for a server that is not the one that was meant

	dialled     atomic.Int64       // connections (own pool only)
	staleBefore atomic.Int64       // Unix ns: connections idle since before are not used again (own pool only)
	life        context.Context    // ends with Close
	end         context.CancelFunc // idempotent
}

// FromPool makes a Driver of a pool that belongs to somebody else: its limits are respected, it is never closed. One
// that is exhausted and has no Wait is asked again until ctx ends. Blocking connections are made with the pool's
// DialContext or Dial, outside its limit. ctx ends calls only if the pool's connections are redigo's own.
func FromPool(pool *redis.Pool) (Driver, error) {
	if pool == nil {
		return nil, errors.New("the redis.Pool is nil: give a pool, or a DSN instead")
	}
	if pool.Dial == nil && pool.DialContext == nil {
		return nil, errors.New("the redis.Pool has neither Dial nor DialContext: set one of them")
	}
	return newRedigoDriver(&redigoDriver{pool: pool, addr: givenPool, readTimeout: defaultReadTimeout,
		signpost: &Signpost{Client: "redigo"}}), nil
}

func newRedigoDriver(d *redigoDriver) *redigoDriver {
	d.probeEvery, d.silence = ProbeEvery, Silence
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

func (d *redigoDriver) Pipeline(ctx context.Context, calls ...Call) ([]Reply, error) {
	if err := Check(calls); err != nil || len(calls) == 0 {
		return nil, err
	}
	replies, err := d.pipeline(ctx, calls)
	d.signpost.Explain(ctx, d.askApart, calls, replies)
	return replies, err
}

// askApart asks on a connection outside of the pool, which may have none left.
func (d *redigoDriver) askApart(ctx context.Context, calls ...Call) ([]Reply, error) {
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	own := &redigoConn{conn: conn, addr: d.addr, readTimeout: d.readTimeout, own: d.own}
	defer own.Close() //lint:ignore errcheck the answer was read
	return own.Pipeline(ctx, calls...)
}

func (d *redigoDriver) pipeline(ctx context.Context, calls []Call) ([]Reply, error) {
	conn, err := d.get(ctx)
	if err != nil {
		return nil, err
	}
	defer d.putBack(conn)

	l := &link{conn: conn, addr: d.addr, readTimeout: d.readTimeout, own: d.own, pooled: true}
	replies, err := l.run(ctx, calls)
	if l.peerLost {
		d.staleBefore.Store(time.Now().UnixNano())
	}
	return replies, err
}

// get borrows a connection from the pool, or fails with a *DialError.
func (d *redigoDriver) get(ctx context.Context) (redis.Conn, error) {
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	if d.own {
		return d.getOwn(ctx)
	}
	pause := exhaustedPauseMin
	var exhausted error
	for {
		conn, err := d.borrow(ctx)
		if err == nil {
			return conn, nil
		}
		if exhausted != nil && ctx.Err() != nil {
			err = exhausted // that is what ctx was spent on
		}
		if !errors.Is(err, redis.ErrPoolExhausted) {
			return nil, d.dialError(ctx, err)
		}
		exhausted = err
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-d.life.Done():
		}
		timer.Stop()
		if gone := d.usable(ctx); gone != nil {
			return nil, d.dialError(ctx, err)
		}
		pause = min(2*pause, exhaustedPauseMax)
	}
}

// getOwn borrows from a pool of ours, which has room for all who have a slot. (The one of redigo asks for the channel
// of ctx each time, also where nobody need wait.)
func (d *redigoDriver) getOwn(ctx context.Context) (redis.Conn, error) {
	select {
	case d.slots <- struct{}{}:
	default:
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, d.dialError(ctx, ctx.Err())
		case <-d.life.Done():
			return nil, d.dialError(ctx, ErrClosed)
		}
	}
	conn, err := d.pool.GetContext(ctx)
	if err != nil {
		<-d.slots
		return nil, d.dialError(ctx, err)
	}
	return conn, nil
}

// putBack gives a connection back to the pool.
func (d *redigoDriver) putBack(conn redis.Conn) {
	conn.Close() //lint:ignore errcheck what is wrong with it was reported by the calls
	if d.own {
		<-d.slots
	}
}

// borrow takes a connection out of the pool. A pool that dials without a ctx is waited for in a goroutine, so that ctx
// still ends the wait; the late connection then goes to the pool.
func (d *redigoDriver) borrow(ctx context.Context) (redis.Conn, error) {
	if d.pool.DialContext != nil || ctx.Done() == nil || d.pool.IdleCount() > 0 {
		return d.pool.GetContext(ctx)
	}
	return dialWithin(ctx, func() (redis.Conn, error) { return d.pool.GetContext(ctx) })
}

// dialWithin runs dial, which may ignore ctx, but waits for it no longer than ctx. What comes late is closed.
func dialWithin(ctx context.Context, dial func() (redis.Conn, error)) (redis.Conn, error) {
	type result struct {
		conn redis.Conn
		err  error
	}
	arrived := make(chan result)
	go func() {
		conn, err := dial()
		select {
		case arrived <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				conn.Close() //lint:ignore errcheck nobody waits for it any more
			}
		}
	}()
	select {
	case r := <-arrived:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *redigoDriver) Dial(ctx context.Context) (Conn, error) {
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	own := newRedigoConn(conn, d.addr, d.readTimeout)
	own.own, own.signpost, own.ask = d.own, d.signpost, d.askApart
	return own, nil
}

// dial makes a connection outside the pool and its limit, or fails with a *DialError.
func (d *redigoDriver) dial(ctx context.Context) (redis.Conn, error) {
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	var conn redis.Conn
	var err error
	switch {
	case d.pool.DialContext != nil:
		conn, err = d.pool.DialContext(ctx)
	case ctx.Done() == nil:
		conn, err = d.pool.Dial()
	default:
		conn, err = dialWithin(ctx, d.pool.Dial)
	}
	if err != nil {
		return nil, d.dialError(ctx, err)
	}
	return conn, nil
}

// usable refuses a call for which no connection need be tried.
func (d *redigoDriver) usable(ctx context.Context) error {
	if d.life.Err() != nil {
		return &DialError{Addr: d.addr, Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &DialError{Addr: d.addr, Err: err}
	}
	return nil
}

func (d *redigoDriver) dialError(ctx context.Context, err error) error {
	var refused redis.Error
	switch {
	case d.life.Err() != nil:
		err = ErrClosed
	case errors.As(err, &refused):
		err = ParseServerError(Masked(d.secret, string(refused)))
	case ctx.Err() != nil && errors.Is(err, redis.ErrPoolExhausted):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		if text := Masked(d.secret, err.Error()); text != err.Error() {
			err = errors.New(text) // not wrapped: the inner text is the secret one
		}
	}
	return d.signpost.ExplainDial(&DialError{Addr: d.addr, Err: err})
}

// Where is the address of the server, or empty for a given pool.
func (d *redigoDriver) Where() string { return d.signpost.Addr }

// Close ends subscriptions and makes every later call fail. Calls under way finish; connections from Dial are their
// callers' to close.
func (d *redigoDriver) Close() error {
	d.end()
	if !d.own {
		return nil
	}
	return d.pool.Close()
}

// fresh refuses idle connections that were last used before a connection to the same server was lost, so that one
// restart of Redis costs one failed call and not one per idle connection.
func (d *redigoDriver) fresh(_ redis.Conn, lastUsed time.Time) error {
	if lastUsed.UnixNano() <= d.staleBefore.Load() {
		return errors.New("idle since before the server went away")
	}
	return nil
}

// expired is a ctx whose deadline has always passed.
var expired = sync.OnceValue(func() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
})

// killPooled breaks a pooled connection from any goroutine. A pool hides the connection it lends, and closing the loan
// is not safe while another goroutine uses it; but receiving with a passed deadline closes the socket at once and
// leaves an error that keeps the connection out of the pool.
func killPooled(conn redis.Conn) {
	redis.ReceiveContext(conn, expired()) //lint:ignore errcheck called for what it does to the connection
}
