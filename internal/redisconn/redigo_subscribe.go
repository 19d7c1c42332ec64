package redisconn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A silent subscription is probed this often and given up after this silence, so a peer that died without closing the
// connection is noticed within that silence. A pool also looks by itself, about once a second; who
// listens to the feeds or processes of other programs misses what is published meanwhile. Among thousands of idle
// workers each probe costs Redis as much as a heartbeat.
const (
	defaultProbeEvery = 15 * time.Second
	defaultSilence    = 22 * time.Second
)

func (d *redigoDriver) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	return d.SubscribeAll(ctx, []string{channel}, ready, func(_ string, message []byte) { receive(message) })
}

func (d *redigoDriver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(string, []byte)) error {
	return (&subscription{driver: d, command: "SUBSCRIBE", channels: channels, ready: ready,
		receive: receive}).live(ctx)
}

func (d *redigoDriver) SubscribePatterns(ctx context.Context, patterns []string, ready func(),
	receive func(string, []byte)) error {
	return (&subscription{driver: d, command: "PSUBSCRIBE", channels: patterns, ready: ready,
		receive: receive}).live(ctx)
}

// subscription is one call of SubscribeAll or SubscribePatterns.
type subscription struct {
	driver   *redigoDriver
	command  string
	channels []string // or patterns
	standing int      // channels that Redis has confirmed
	ready    func()
	receive  func(channel string, message []byte)
}

// name stands for the channels in errors.
func (s *subscription) name() string { return strings.Join(s.channels, " ") }

func (s *subscription) live(ctx context.Context) error {
	err := s.run(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case s.driver.life.Err() != nil:
		return fmt.Errorf("subscription to %q at %s ended: %w", s.name(), s.driver.addr, ErrClosed)
	}
	return err
}

func (s *subscription) run(ctx context.Context) error {
	d := s.driver
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	shut := func() { conn.Close() } //lint:ignore errcheck closed to end the reading below
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	defer context.AfterFunc(d.life, shut)()

	names := make([]any, len(s.channels))
	for i, channel := range s.channels {
		names[i] = channel
	}
	if err := conn.Send(s.command, names...); err != nil {
		return s.lost(err)
	}
	if err := conn.Flush(); err != nil {
		return s.lost(err)
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
	return s.listen(conn)
}

// listen reads until the connection fails.
func (s *subscription) listen(conn redis.Conn) error {
	for {
		value, err := redis.ReceiveWithTimeout(conn, s.driver.silence)
		if err != nil {
			return s.lost(err)
		}
		push, _ := value.([]any)
		if len(push) < 2 {
			continue // PONG of a server that answers it as a status
		}
		kind, _ := push[0].([]byte)
		switch string(kind) {
		case "subscribe", "psubscribe":
			if s.standing++; s.standing == len(s.channels) {
				s.ready()
			}
		case "message", "pmessage":
			channel, named := push[len(push)-2].([]byte)
			if message, ok := push[len(push)-1].([]byte); ok && named {
				s.receive(string(channel), message)
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

func (s *subscription) lost(err error) error {
	if refused, ok := err.(redis.Error); ok { // redigo returns it bare
		err = ParseServerError(string(refused))
	}
	return fmt.Errorf("subscription to %q at %s lost: %w", s.name(), s.driver.addr, err)
}
