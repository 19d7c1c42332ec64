package rdb

import (
	"context"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A silent subscription is probed this often and given up after this silence, so a peer that died without closing the
// connection is noticed within their sum, 10 s.
const (
	defaultProbeEvery = 3 * time.Second
	defaultSilence    = 7 * time.Second
)

func (d *redigoDriver) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	err := d.subscribe(ctx, channel, ready, receive)
	switch {
	case ctx.Err() != nil:
		return nil
	case d.life.Err() != nil:
		return fmt.Errorf("subscription to %q at %s ended: %w", channel, d.addr, ErrClosed)
	}
	return err
}

func (d *redigoDriver) subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	shut := func() { conn.Close() } //lint:ignore errcheck closed to end the reading below
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	defer context.AfterFunc(d.life, shut)()

	if err := conn.Send("SUBSCRIBE", channel); err != nil {
		return d.subscriptionLost(channel, err)
	}
	if err := conn.Flush(); err != nil {
		return d.subscriptionLost(channel, err)
	}
	probing := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(probing)
		probe(conn, d.probeEvery, over)
	}()
	defer func() {
		shut() // first: a probe may be stuck in a write
		close(over)
		<-probing
	}()
	return d.listen(conn, channel, ready, receive)
}

// listen reads until the connection fails.
func (d *redigoDriver) listen(conn redis.Conn, channel string, ready func(), receive func([]byte)) error {
	for {
		value, err := redis.ReceiveWithTimeout(conn, d.silence)
		if err != nil {
			return d.subscriptionLost(channel, err)
		}
		push, _ := value.([]any)
		if len(push) < 2 {
			continue // PONG of a server that answers it as a status
		}
		kind, _ := push[0].([]byte)
		switch string(kind) {
		case "subscribe":
			ready()
		case "message":
			if message, ok := push[len(push)-1].([]byte); ok {
				receive(message)
			}
		}
	}
}

// probe makes the server answer now and then, until over. A failed write shows in the reading.
func probe(conn redis.Conn, every time.Duration, over <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			if conn.Send("PING") != nil || conn.Flush() != nil {
				return
			}
		}
	}
}

func (d *redigoDriver) subscriptionLost(channel string, err error) error {
	if refused, ok := err.(redis.Error); ok { // redigo returns it bare
		err = newServerError(string(refused))
	}
	return fmt.Errorf("subscription to %q at %s lost: %w", channel, d.addr, err)
}
