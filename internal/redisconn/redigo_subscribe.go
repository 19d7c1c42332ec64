package redisconn

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

func (d *redigoDriver) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	return d.subscription([]string{channel}, ready, func(_ string, message []byte) { receive(message) }).
		Listen(ctx, ToShard)
}

func (d *redigoDriver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(string, []byte)) error {
	return d.subscription(channels, ready, receive).Listen(ctx, ToChannels)
}

func (d *redigoDriver) SubscribePatterns(ctx context.Context, patterns []string, ready func(),
	receive func(string, []byte)) error {
	return d.subscription(patterns, ready, receive).Listen(ctx, ToPatterns)
}

func (d *redigoDriver) subscription(channels []string, ready func(), receive func(string, []byte)) *Subscription {
	return &Subscription{Open: d.line, Life: d.life, At: d.addr, ProbeEvery: d.probeEvery, Silence: d.silence,
		Channels: channels, Ready: ready, Receive: receive}
}

func (d *redigoDriver) line(ctx context.Context, _ string) (Line, error) {
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	return redigoLine{conn, d.addr}, nil
}

// redigoLine is a Line on a redigo connection.
type redigoLine struct {
	conn redis.Conn
	addr string
}

func (l redigoLine) Ask(_ context.Context, command string, channels []string) error {
	names := make([]any, len(channels))
	for i, channel := range channels {
		names[i] = channel
	}
	return l.send(command, names...)
}

func (l redigoLine) Probe() error { return l.send("PING") }

func (l redigoLine) send(command string, args ...any) error {
	if err := l.conn.Send(command, args...); err != nil {
		return err
	}
	return l.conn.Flush()
}

func (l redigoLine) Next(silence time.Duration) (Push, error) {
	value, err := redis.ReceiveWithTimeout(l.conn, silence)
	var refused redis.Error
	switch {
	case errors.As(err, &refused):
		return Push{}, ParseServerError(string(refused))
	case err != nil:
		return Push{}, err
	}
	list, _ := value.([]any)
	if len(list) < 2 {
		return Push{}, nil // PONG of a server that answers it as a status
	}
	kind, _ := list[0].([]byte)
	push := Push{Kind: string(kind)}
	switch push.Kind {
	case "message", "smessage", "pmessage": // the pattern comes before the channel
		channel, named := list[len(list)-2].([]byte)
		message, text := list[len(list)-1].([]byte)
		if !named || !text {
			return Push{}, nil
		}
		push.Channel, push.Message = string(channel), message
	default:
		channel, _ := list[1].([]byte)
		push.Channel = string(channel)
	}
	return push, nil
}

func (l redigoLine) Cut() { l.conn.Close() } //lint:ignore errcheck closed to end the reading

func (l redigoLine) Addr() string { return l.addr }
