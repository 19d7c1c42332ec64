package thoonk

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Watch says what a subscription is about. The zero value is about nothing, which is refused.
type Watch struct {
	Feeds    []string // names
	Patterns []string // of names, in Redis' glob style: "user.*"
	Registry bool     // feeds that are created, deleted or given another config, of all names
}

var errNothing = errors.New("nothing to subscribe to: name feeds or patterns, or set Registry")

// Subscribe returns the events of feeds, whether they exist or not, on a connection of its own. The loop over them is
// where they are read: it ends by break, with ctx, or when the client is closed. Each loop subscribes anew.
//
// The first event is Connected, or Disconnected where Redis cannot be reached. A connection that is lost is made again,
// with growing pauses up to a second; Disconnected and then Connected say so, and what happened in between was missed.
// A loop that does not read for long is cut off by Redis, which shows in the same way. Who is named by two patterns
// tells each event twice.
func (c *Client) Subscribe(ctx context.Context, w Watch) (iter.Seq[Event], error) {
	for _, name := range w.Feeds {
		if err := checkName("feed", name); err != nil {
			return nil, err
		}
	}
	patterns := c.patterns(w)
	if len(patterns) == 0 {
		return nil, errNothing
	}
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	return func(yield func(Event) bool) {
		c.listen(ctx, patterns, func(m message) bool {
			if m.what == Connected || m.what == Disconnected {
				return yield(Event{What: m.what, Err: m.err})
			}
			event, ours := c.event(m.channel, m.text)
			return !ours || yield(event)
		})
	}, nil
}

// patterns are what Redis is asked for.
func (c *Client) patterns(w Watch) []string {
	var patterns []string
	prefix := escaped(c.prefix)
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		for _, name := range w.Feeds {
			patterns = append(patterns, prefix+topic+":"+escaped(name))
		}
		for _, pattern := range w.Patterns {
			patterns = append(patterns, prefix+topic+":"+pattern)
		}
	}
	if w.Registry {
		for _, channel := range slices.Sorted(maps.Keys(registry)) {
			patterns = append(patterns, prefix+channel)
		}
	}
	return patterns
}

// escaped makes a pattern that only the text itself matches.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// message is what was heard on a channel, or that the connection stands or does not.
type message struct {
	what    What // Connected, Disconnected, or Published
	channel string
	text    []byte
	err     error // of Disconnected
}

// listen tells messages until tell returns false, ctx ends or the client is closed.
func (c *Client) listen(ctx context.Context, patterns []string, tell func(message) bool) {
	ctx, end := c.within(ctx)
	defer end()
	l := &listener{client: c, patterns: patterns, yield: tell, end: end}
	l.listen(ctx)
}

// listener is one loop over messages. One goroutine uses it.
type listener struct {
	client   *Client
	patterns []string
	yield    func(message) bool
	end      func()
	over     bool // the loop was left: yield must not be called again
	silent   bool // Disconnected has been said
	pause    time.Duration
}

func (l *listener) listen(ctx context.Context) {
	l.pause = pauseMin
	for ctx.Err() == nil {
		err := l.client.store.Driver().SubscribePatterns(ctx, l.patterns, l.connected, l.heard)
		if ctx.Err() != nil {
			return
		}
		if !l.silent {
			l.silent = true
			l.tell(message{what: Disconnected, err: err})
		}
		if !sleep(ctx, l.pause) {
			return
		}
		l.pause = min(2*l.pause, pauseMax)
	}
}

func (l *listener) connected() {
	l.silent, l.pause = false, pauseMin
	l.tell(message{what: Connected})
}

func (l *listener) heard(channel string, text []byte) {
	l.tell(message{what: Published, channel: channel, text: text})
}

func (l *listener) tell(m message) {
	if !l.over && !l.yield(m) {
		l.over = true
		l.end()
	}
}
