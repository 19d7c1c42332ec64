package goredis

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

func (d *driver) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	return d.subscription([]string{channel}, ready, func(_ string, message []byte) { receive(message) }).
		Listen(ctx, redisconn.ToShard)
}

func (d *driver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(string, []byte)) error {
	return d.subscription(channels, ready, receive).Listen(ctx, redisconn.ToChannels)
}

func (d *driver) SubscribePatterns(ctx context.Context, patterns []string, ready func(),
	receive func(string, []byte)) error {
	return d.subscription(patterns, ready, receive).Listen(ctx, redisconn.ToPatterns)
}

func (d *driver) subscription(channels []string, ready func(), receive func(string, []byte)) *redisconn.Subscription {
	s := &redisconn.Subscription{Life: d.life, At: d.nodes.name(), ProbeEvery: d.probeEvery, Silence: d.silence,
		Channels: channels, Ready: ready, Receive: receive}
	s.Open = func(ctx context.Context, command string) (redisconn.Line, error) {
		at := anySlot // a cluster tells all its servers what is published without a shard
		if command == redisconn.ToShard {
			at = slotOfKey(channels[0])
		}
		node, err := d.node(ctx, at)
		if err != nil {
			return nil, err
		}
		w := newWire(node, "")
		d.lookout.watch(w)
		return &line{wire: w, heard: w.client.Subscribe(ctx), driver: d}, nil
	}
	return s
}

// line is a Line on a wire.
type line struct {
	wire   *wire
	heard  *redis.PubSub
	driver *driver
	ended  atomic.Bool
}

func (l *line) Ask(ctx context.Context, command string, channels []string) error {
	ask := map[string]func(*redis.PubSub, context.Context, ...string) error{
		redisconn.ToShard: (*redis.PubSub).SSubscribe, redisconn.ToChannels: (*redis.PubSub).Subscribe,
		redisconn.ToPatterns: (*redis.PubSub).PSubscribe,
	}[command]
	if err := ask(l.heard, ctx, channels...); err != nil {
		l.lost()
		return notSent(l.wire.addr, l.wire.secret, err)
	}
	return nil
}

func (l *line) Next(silence time.Duration) (redisconn.Push, error) {
	said, err := l.heard.ReceiveTimeout(context.Background(), silence)
	var refused redis.Error
	switch {
	case errors.As(err, &refused):
		l.lost()
		return redisconn.Push{}, redisconn.ParseServerError(refused.Error())
	case err != nil:
		l.lost()
		return redisconn.Push{}, err
	}
	switch said := said.(type) {
	case *redis.Subscription:
		if said.Kind == "sunsubscribe" {
			l.lost()
		}
		return redisconn.Push{Kind: said.Kind, Channel: said.Channel}, nil
	case *redis.Message:
		return redisconn.Push{Kind: "message", Channel: said.Channel, Message: []byte(said.Payload)}, nil
	}
	return redisconn.Push{}, nil
}

func (l *line) Probe() error { return l.heard.Ping(context.Background()) }

// Cut ends what go-redis has on the connection as well: Close of a PubSub may be called more than once.
func (l *line) Cut() {
	l.ended.Store(true)
	l.wire.end()
	l.heard.Close() //lint:ignore errcheck the connection is what matters, and that is ended above
}

// lost has the servers asked where the channel is now, unless it was given up here.
func (l *line) lost() {
	if !l.ended.Load() {
		l.driver.nodes.lost(l.wire.addr)
	}
}

func (l *line) Addr() string { return l.wire.addr }
