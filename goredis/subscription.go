package goredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

func (d *driver) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	return d.SubscribeAll(ctx, []string{channel}, ready, func(_ string, message []byte) { receive(message) })
}

func (d *driver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(string, []byte)) error {
	return (&subscription{driver: d, channels: channels, ready: ready, receive: receive,
		subscribe: (*redis.PubSub).Subscribe}).live(ctx)
}

func (d *driver) SubscribePatterns(ctx context.Context, patterns []string, ready func(),
	receive func(string, []byte)) error {
	return (&subscription{driver: d, channels: patterns, ready: ready, receive: receive,
		subscribe: (*redis.PubSub).PSubscribe}).live(ctx)
}

// subscription is one call of SubscribeAll or SubscribePatterns. It has a connection that is made once, so that
// go-redis cannot make it anew: whoever listens must know that messages may be missing.
type subscription struct {
	driver    *driver
	channels  []string // or patterns
	subscribe func(*redis.PubSub, context.Context, ...string) error
	standing  int // channels that Redis has confirmed
	ready     func()
	receive   func(channel string, message []byte)
}

// name stands for the channels in errors.
func (s *subscription) name() string { return strings.Join(s.channels, " ") }

func (s *subscription) live(ctx context.Context) error {
	err := s.run(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case s.driver.life.Err() != nil:
		return fmt.Errorf("subscription to %q at %s ended: %w", s.name(), s.driver.nodes.name(), redisconn.ErrClosed)
	}
	return err
}

func (s *subscription) run(ctx context.Context) error {
	d := s.driver
	node, err := d.node(ctx, anySlot) // a cluster tells all its servers what is published
	if err != nil {
		return err
	}
	w := newWire(node)
	defer w.end()
	defer context.AfterFunc(ctx, w.cut)()
	defer context.AfterFunc(d.life, w.cut)()

	heard := w.client.Subscribe(ctx)
	defer heard.Close() //lint:ignore errcheck the connection is what matters, and that is ended above
	if err := s.subscribe(heard, ctx, s.channels...); err != nil {
		return notSent(w.addr, w.secret, err)
	}
	probing, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(probing)
		probe(heard, d.probeEvery, over)
	}()
	defer func() {
		w.cut() // first: a probe may be stuck in a write
		close(over)
		<-probing
	}()
	return s.listen(heard, w)
}

// listen reads until the connection fails.
func (s *subscription) listen(heard *redis.PubSub, w *wire) error {
	for {
		push, err := heard.ReceiveTimeout(context.Background(), s.driver.silence)
		if err != nil {
			return s.lost(w, err)
		}
		switch push := push.(type) {
		case *redis.Subscription:
			if s.standing++; s.standing == len(s.channels) {
				s.ready()
			}
		case *redis.Message:
			s.receive(push.Channel, []byte(push.Payload))
		}
	}
}

// probe makes the server answer now and then, until over. A failed write shows in the reading.
func probe(heard *redis.PubSub, every time.Duration, over <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			if heard.Ping(context.Background()) != nil {
				return
			}
		}
	}
}

func (s *subscription) lost(w *wire, err error) error {
	var refused redis.Error
	if errors.As(err, &refused) {
		err = redisconn.ParseServerError(refused.Error())
	}
	return fmt.Errorf("subscription to %q at %s lost: %w", s.name(), w.addr, err)
}
