package redisconn

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A silent subscription is probed this often and given up after this silence, so a peer that died without closing the
// connection is noticed within that silence. A pool also looks by itself, about once a second; who
// listens to the feeds or processes of other programs misses what is published meanwhile. Among thousands of idle
// workers each probe costs Redis as much as a heartbeat.
const (
	ProbeEvery = 15 * time.Second
	Silence    = 22 * time.Second
)

// What a driver subscribes with.
const (
	ToShard    = "SSUBSCRIBE" // what scripts and Publish tell the servers of the channel's slot
	ToChannels = "SUBSCRIBE"
	ToPatterns = "PSUBSCRIBE"
)

// Publish tells those who listen with Subscribe, as scripts do by tell of lua/prelude.lua.
func Publish(ctx context.Context, on pipeliner, channel, message string) error {
	_, err := Do(ctx, on, Call{Command: "SPUBLISH", Args: []any{channel, message}})
	if notSharded(err) {
		_, err = Do(ctx, on, Call{Command: "PUBLISH", Args: []any{channel, message}})
	}
	return err
}

// Line is a connection that listens. A driver makes it for one subscription, and never anew: whoever listens must know
// that messages may be missing.
type Line interface {
	// Ask subscribes. What Redis says to it comes by Next.
	Ask(ctx context.Context, command string, channels []string) error

	// Next waits for what Redis says, no longer than silence. What Redis refuses is a *ServerError.
	Next(silence time.Duration) (Push, error)

	// Probe makes Redis say something. It may be called beside Next; that it failed shows there.
	Probe() error

	// Cut ends the connection, and Probe and Next with it. It may be called from any goroutine, more than once.
	Cut()

	// Addr is the server, without user and password.
	Addr() string
}

// Push is what Redis says to one who listens.
type Push struct {
	Kind    string // "subscribe", "smessage", ...: lower case; empty for what answers a probe
	Channel string
	Message []byte
}

// Subscription is one call of Subscribe, SubscribeAll or SubscribePatterns of a driver.
type Subscription struct {
	Open       func(ctx context.Context, command string) (Line, error)
	Life       context.Context // of the driver
	At         string          // its server or servers, in the error of one that was closed
	ProbeEvery time.Duration
	Silence    time.Duration

	Channels []string // or patterns
	Ready    func()
	Receive  func(channel string, message []byte)

	standing int // channels that Redis has confirmed
}

// Listen subscribes with a command, and listens until ctx ends. A server that has no channels for shards is asked for
// the other kind, which is what is published there.
func (s *Subscription) Listen(ctx context.Context, command string) error {
	err := s.run(ctx, command)
	if command == ToShard && notSharded(err) && s.standing == 0 {
		err = s.run(ctx, ToChannels)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case s.Life.Err() != nil:
		return fmt.Errorf("subscription to %q at %s ended: %w", s.name(), s.At, ErrClosed)
	}
	return err
}

// notSharded tells whether a server does not know the commands of shards, or does not let this user use them.
func notSharded(err error) bool {
	m := MeaningOf(err)
	return m == NoRight || m == Unfit
}

// name stands for the channels in errors.
func (s *Subscription) name() string { return strings.Join(s.Channels, " ") }

func (s *Subscription) run(ctx context.Context, command string) error {
	line, err := s.Open(ctx, command)
	if err != nil {
		return err
	}
	defer line.Cut()
	defer context.AfterFunc(ctx, line.Cut)()
	defer context.AfterFunc(s.Life, line.Cut)()
	if err := line.Ask(ctx, command, s.Channels); err != nil {
		return s.lost(line, err)
	}
	probing, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(probing)
		probe(line, s.ProbeEvery, over)
	}()
	defer func() {
		line.Cut() // first: a probe may be stuck in a write
		close(over)
		<-probing
	}()
	return s.listen(line)
}

// listen reads until the connection fails.
func (s *Subscription) listen(line Line) error {
	for {
		push, err := line.Next(s.Silence)
		if err != nil {
			return s.lost(line, err)
		}
		switch push.Kind {
		case "subscribe", "psubscribe", "ssubscribe":
			if s.standing++; s.standing == len(s.Channels) {
				s.Ready()
			}
		case "sunsubscribe": // nobody asked for it
			return s.lost(line, fmt.Errorf("the slot of %q was given to another server", push.Channel))
		case "message", "pmessage", "smessage":
			s.Receive(push.Channel, push.Message)
		}
	}
}

// probe makes the server answer now and then, until over. A failed write shows in the reading.
func probe(line Line, every time.Duration, over <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			if line.Probe() != nil {
				return
			}
		}
	}
}

func (s *Subscription) lost(line Line, err error) error {
	return fmt.Errorf("subscription to %q at %s lost: %w", s.name(), line.Addr(), err)
}
