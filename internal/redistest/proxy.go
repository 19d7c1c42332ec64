package redistest

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and a Redis and fails on demand.
type Proxy struct {
	listener net.Listener
	done     sync.WaitGroup
	gate     sync.RWMutex // held for writing while paused
	pausing  sync.Mutex
	paused   bool

	mu        sync.Mutex
	target    string
	links     map[*proxied]struct{}
	match     string
	swallowed chan struct{} // not nil: the reply to the next matching request is swallowed
	closed    bool
	latency   time.Duration // see Slow
	piece     int
}

// proxied is one connection through the proxy.
type proxied struct {
	client, redis net.Conn
	swallow       chan struct{} // guarded by the proxy's mu
	deserted      bool          // as above: Redis has gone, the client does not know; see HalfOpen
}

// NewProxy starts a proxy to the Redis at addr. It ends with the test.
func NewProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: addr, listener: listener, links: map[*proxied]struct{}{}}
	p.done.Add(1)
	go p.accept()
	t.Cleanup(p.close)
	return p
}

// Addr is what the client connects to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// DSN is database 0 through the proxy.
func (p *Proxy) DSN() string { return "redis://" + p.Addr() + "/0" }

// SwallowReply lets the next request that contains match reach Redis and, once Redis has answered it, closes the
// client's connection without the answer. The channel is closed when that has happened.
func (p *Proxy) SwallowReply(match string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.swallowed = match, make(chan struct{})
	return p.swallowed
}

// Redirect has new connections go to another Redis, as after a failover. Present ones stay as they are.
func (p *Proxy) Redirect(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Cut closes all present connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Pause lets nothing through, in both directions, until Resume. Connections stay open, new ones are accepted.
func (p *Proxy) Pause() {
	p.pausing.Lock()
	defer p.pausing.Unlock()
	if !p.paused {
		p.gate.Lock()
		p.paused = true
	}
}

// Resume ends a Pause: what was held back goes on its way.
func (p *Proxy) Resume() {
	p.pausing.Lock()
	defer p.pausing.Unlock()
	if p.paused {
		p.gate.Unlock()
		p.paused = false
	}
}

func (p *Proxy) close() {
	p.listener.Close() //lint:ignore errcheck ends accept
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.Resume() // so that the copies see that they are closed
	p.done.Wait()
}

func (p *Proxy) accept() {
	defer p.done.Done()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		redis, err := net.Dial("tcp", target)
		if err != nil {
			client.Close() //lint:ignore errcheck as if Redis had refused it
			continue
		}
		p.serve(&proxied{client: client, redis: redis})
	}
}

func (p *Proxy) serve(l *proxied) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.done.Add(2)
	go p.copy(l, l.client, l.redis, p.request)
	go p.copy(l, l.redis, l.client, p.reply)
}

// copy passes chunks on while look allows it.
func (p *Proxy) copy(l *proxied, from, to net.Conn, look func(l *proxied, chunk []byte) bool) {
	defer p.done.Done()
	defer func() {
		if from == l.redis && p.isDeserted(l) {
			return // the client must not learn of it
		}
		l.close()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if p.isDeserted(l) {
			continue // nobody is there to get it
		}
		p.gate.RLock()
		passes := look(l, buffer[:n])
		if passes {
			err = p.deliver(to, buffer[:n])
		}
		p.gate.RUnlock()
		if p.isDeserted(l) && to == l.redis {
			continue
		}
		if !passes || err != nil {
			return
		}
	}
}

func (p *Proxy) request(l *proxied, chunk []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.swallowed != nil && bytes.Contains(chunk, []byte(p.match)) {
		l.swallow, p.swallowed = p.swallowed, nil
	}
	return true
}

func (p *Proxy) reply(l *proxied, _ []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.swallow == nil {
		return true
	}
	l.client.Close() //lint:ignore errcheck before the signal: the client must not see the answer
	close(l.swallow)
	l.swallow = nil
	return false
}

func (l *proxied) close() {
	l.client.Close() //lint:ignore errcheck closing is all that is wanted
	l.redis.Close()  //lint:ignore errcheck as above
}
