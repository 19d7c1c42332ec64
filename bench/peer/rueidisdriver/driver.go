// Package rueidisdriver is a driver on rueidis, as far as measuring it beside the others needs one: it is neither
// careful about what may have run nor about how long a server stays silent. No program is to use it.
package rueidisdriver

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/265d0351/work/internal/redisconn"
)

// Driver is one client. By its defaults, goroutines share four connections, which carry what is sent at about the same
// time in one write.
type Driver struct{ client rueidis.Client }

// Open makes a client of the Redis at an address. Version 2 of the protocol answers in the types that Driver promises.
func Open(addr string) (*Driver, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true, AlwaysRESP2: true, DisableCache: true, DisableRetry: true,
	})
	if err != nil {
		return nil, &redisconn.DialError{Addr: addr, Err: err}
	}
	return &Driver{client: client}, nil
}

// Pipeline shares connections with all others.
func (d *Driver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return pipeline(ctx, d.client, calls)
}

// Dial takes a connection out of those for blocking commands.
func (d *Driver) Dial(context.Context) (redisconn.Conn, error) {
	client, giveBack := d.client.Dedicate()
	return &conn{client: client, giveBack: giveBack}, nil
}

// Close ends all connections.
func (d *Driver) Close() error {
	d.client.Close()
	return nil
}

// conn is a connection of one's own.
type conn struct {
	client   rueidis.DedicatedClient
	giveBack func()
	broken   atomic.Bool
}

func (c *conn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := pipeline(ctx, c.client, calls)
	if err != nil {
		c.broken.Store(true)
	}
	return replies, err
}

func (c *conn) Broken() bool { return c.broken.Load() }

func (c *conn) Close() error {
	c.broken.Store(true)
	c.client.Close()
	c.giveBack()
	return nil
}

func pipeline(ctx context.Context, on rueidis.CoreClient, calls []redisconn.Call) ([]redisconn.Reply, error) {
	if err := redisconn.Check(calls); err != nil || len(calls) == 0 {
		return nil, err
	}
	replies, err := round(ctx, on, calls, false)
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
	answers, err := round(ctx, on, again, true)
	if err != nil {
		return nil, err
	}
	for i, at := range unknown {
		replies[at] = answers[i]
	}
	return replies, nil
}

func round(ctx context.Context, on rueidis.CoreClient, calls []redisconn.Call, full bool) ([]redisconn.Reply, error) {
	commands := make(rueidis.Commands, len(calls))
	for i := range calls {
		commands[i] = command(on.B(), &calls[i], full || calls[i].InFull)
	}
	replies := make([]redisconn.Reply, len(calls))
	for i, result := range on.DoMulti(ctx, commands...) {
		if err := result.NonRedisError(); err != nil {
			return nil, err
		}
		message, _ := result.ToMessage() // its error is that of the reply, which the message holds as well
		if value := valueOf(&message); value != nil {
			if refused, is := value.(*redisconn.ServerError); is {
				replies[i].Err = refused
			} else {
				replies[i].Value = value
			}
		}
	}
	return replies, nil
}
