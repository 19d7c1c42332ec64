package goredis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// moves is how often calls that a server of a cluster did not run are taken to the one it named.
const moves = 3

// nodes are the servers that a client knows.
type nodes interface {
	// primary is the server that has the slot; of a single server, always that one.
	primary(ctx context.Context, slot slot) (*redis.Client, error)

	// slotOf is where calls go, or an error if one server cannot take them all.
	slotOf(calls []redisconn.Call) (slot, error)

	// look asks the servers anew who has what, and waits for the answer.
	look(ctx context.Context)

	// lost asks them as well, and does not wait: a server has failed, and another may have its slots by now.
	lost(server string)

	// name stands for the servers in errors.
	name() string

	// named is the client whose server Sentinels name, or nil.
	named() *redis.Client

	// options are how to reach another of the servers, but for its address; an error if there are no others.
	options() (*redis.Options, error)
}

// driver is a Driver on a client of go-redis that belongs to somebody else.
type driver struct {
	nodes      nodes
	probeEvery time.Duration // of a subscription
	silence    time.Duration // after which a subscription is given up
	signpost   *redisconn.Signpost
	lookout    *lookout // nil unless Sentinels name the server

	life context.Context // ends with Close
	end  context.CancelFunc
}

func newDriver(nodes nodes) *driver {
	d := &driver{nodes: nodes, probeEvery: redisconn.ProbeEvery, silence: redisconn.Silence}
	d.life, d.end = context.WithCancel(context.Background())
	if client := nodes.named(); client != nil {
		d.lookout = &lookout{client: client, life: d.life, every: lookEvery, wires: map[*wire]bool{}}
	}
	return d
}

func (d *driver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if err := redisconn.Check(calls); err != nil || len(calls) == 0 {
		return nil, err
	}
	replies, err := d.route(ctx, calls)
	d.signpost.Explain(ctx, d.askApart, calls, replies)
	return replies, d.explain(ctx, err)
}

// route takes calls to the server that has their slot.
func (d *driver) route(ctx context.Context, calls []redisconn.Call) ([]redisconn.Reply, error) {
	slot, err := d.nodes.slotOf(calls)
	if err != nil {
		return nil, err
	}
	for move := 0; ; move++ {
		node, err := d.node(ctx, slot)
		if err != nil {
			return nil, err
		}
		replies, err := d.lend(ctx, node, calls)
		if to := askedAt(node, calls, replies); to != "" {
			replies, err = d.ask(ctx, newWire(node, to), calls)
		}
		if err != nil || !moved(replies) {
			return replies, err
		}
		d.nodes.look(ctx)
		if move == moves || !movedWhole(calls, replies) {
			return replies, nil
		}
	}
}

// node is the server for a slot, or a *DialError.
func (d *driver) node(ctx context.Context, slot slot) (*redis.Client, error) {
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	node, err := d.nodes.primary(ctx, slot)
	if err != nil {
		return nil, notSent(d.nodes.name(), "", err)
	}
	return node, nil
}

// lend runs the calls on a connection of the client's pool. Both rounds of a script that the server does not know go
// over the same one, since a WAIT is about what its own connection has written.
func (d *driver) lend(ctx context.Context, node *redis.Client, calls []redisconn.Call) ([]redisconn.Reply, error) {
	l := &link{conn: patient(node, calls).Conn(), addr: node.Options().Addr, secret: node.Options().Password}
	defer l.release()
	replies, err := l.run(ctx, calls)
	if err == nil && redisconn.TurnedAway(replies) {
		discard(l.conn)
	}
	d.notice(ctx, l.addr, replies, err)
	return replies, err
}

// notice has the servers asked who is who where one has failed, or says that it is not who it was.
func (d *driver) notice(ctx context.Context, server string, replies []redisconn.Reply, err error) {
	if err != nil && ctx.Err() == nil || redisconn.TurnedAway(replies) || has(replies, "CLUSTERDOWN") {
		d.nodes.lost(server)
	}
}

// ask sends the calls to the server that is about to have their slot, on a connection for them alone.
func (d *driver) ask(ctx context.Context, w *wire, calls []redisconn.Call) ([]redisconn.Reply, error) {
	defer w.end()
	replies, err := w.send(ctx, asking(calls))
	d.notice(ctx, w.addr, replies, err)
	return answered(replies), err
}

func (d *driver) Dial(ctx context.Context) (redisconn.Conn, error) {
	node, err := d.node(ctx, anySlot)
	if err != nil {
		return nil, d.explain(ctx, err)
	}
	w, err := dial(ctx, node)
	if err != nil {
		d.notice(ctx, node.Options().Addr, nil, err)
		return nil, d.explain(ctx, err)
	}
	d.lookout.watch(w)
	return &conn{driver: d, wire: w}, nil
}

// usable refuses a call for which no connection need be tried.
func (d *driver) usable(ctx context.Context) error {
	if d.life.Err() != nil {
		return &redisconn.DialError{Addr: d.nodes.name(), Err: redisconn.ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return &redisconn.DialError{Addr: d.nodes.name(), Err: err}
	}
	return nil
}

// Close ends subscriptions and makes every later call fail. The client is left to its owner; connections from Dial are
// their callers' to close.
func (d *driver) Close() error {
	d.end()
	return nil
}

// notSent makes the *DialError of what go-redis said when it had no connection to send anything on.
func notSent(addr, secret string, err error) error {
	var refused redis.Error
	switch {
	case errors.Is(err, redis.ErrClosed):
		err = fmt.Errorf("%w: the client of go-redis was closed", redisconn.ErrClosed)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.As(err, &refused):
		err = redisconn.ParseServerError(redisconn.Masked(secret, refused.Error()))
	default:
		if text := redisconn.Masked(secret, err.Error()); text != err.Error() {
			err = errors.New(text) // not wrapped: the inner text is the secret one
		}
	}
	return &redisconn.DialError{Addr: addr, Err: err}
}
