package goredis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookEvery is how often a lookout looks, and so about how long a connection of one's own may stay with a primary that
// the Sentinels have replaced.
const lookEvery = time.Second

// lookout finds out that the Sentinels name another primary, and breaks the connections to the one before. That one may
// be alive, cut off from all but its clients: it answers and blocks as ever, so that nothing else tells. go-redis
// closes connections of its pool alone.
//
// It dials as the client does and compares where that ends. The client's dialer is the only one that knows: a client of
// the program's tells neither its Sentinels nor the address that they name, and a Sentinel that was asked beside it may
// know less, or more, than the one whose word new connections follow. Each look is a question to a Sentinel and a
// connection to the primary on which nothing is sent but the handshake of TLS. There are none while nothing is watched.
type lookout struct {
	client *redis.Client
	life   context.Context // ends with the driver
	every  time.Duration   // lookEvery, but in tests

	mu      sync.Mutex
	wires   map[*wire]bool // that were not broken at the last look
	looking bool
}

// watch has a connection broken that is not with the primary any more. A lookout that is nil watches nothing: of the
// server there is no other.
func (l *lookout) watch(w *wire) {
	if l == nil || l.life.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wires[w] = true
	if !l.looking {
		l.looking = true
		go l.run()
	}
}

// run looks for as long as there is a connection.
func (l *lookout) run() {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.life.Done():
			return
		}
		open := l.open()
		if open == nil {
			return
		}
		now := l.primary()
		for w, at := range open {
			if now != "" && at != "" && at != now {
				w.cut()
			}
		}
	}
}

// open is where the connections are that are not broken; nil if there are none, and then nobody looks any more. It is
// asked before a look, which says nothing of connections that are made meanwhile.
func (l *lookout) open() map[*wire]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := map[*wire]string{}
	for w := range l.wires {
		if w.broken() {
			delete(l.wires, w)
			continue
		}
		open[w] = w.remote()
	}
	if len(open) == 0 {
		l.looking = false
		return nil
	}
	return open
}

// primary is where a connection that is made now ends; empty if that cannot be told, as of one that is down.
func (l *lookout) primary() string {
	opt := l.client.Options()
	conn, err := opt.Dialer(l.life, opt.Network, opt.Addr)
	if err != nil {
		return ""
	}
	defer conn.Close() //lint:ignore errcheck nothing was sent
	return addrOf(conn)
}
