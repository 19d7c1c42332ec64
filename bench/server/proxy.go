package server

import (
	"bufio"
	"net"
	"sync"
)

// Exchange is one request that went through a Proxy, and what Redis answered.
type Exchange struct {
	Request []string
	Reply   any // nil, string, int64, or []any of these
}

// Proxy stands between a library and a Redis and shows every request with its reply. It adds a copy and a goroutine
// per direction, so nothing is timed through it.
type Proxy struct {
	target   string
	listener net.Listener
	seen     func(Exchange)

	mu     sync.Mutex
	links  map[net.Conn]struct{}
	closed bool
	done   sync.WaitGroup
}

// NewProxy starts a proxy to addr. seen is called by many goroutines, once for each reply; what Redis sends without
// being asked is not shown. The caller closes it.
func NewProxy(addr string, seen func(Exchange)) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: addr, listener: listener, seen: seen, links: map[net.Conn]struct{}{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr is what the library connects to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		redis, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close() //lint:ignore errcheck as if Redis had refused it
			continue
		}
		p.serve(client, redis)
	}
}

func (p *Proxy) serve(client, redis net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		client.Close() //lint:ignore errcheck nothing was sent
		redis.Close()  //lint:ignore errcheck nothing was sent
		return
	}
	p.links[client], p.links[redis] = struct{}{}, struct{}{}
	link := &link{proxy: p, client: client, redis: redis}
	p.done.Go(link.requests)
	p.done.Go(link.replies)
}

// Close ends all connections.
func (p *Proxy) Close() {
	p.listener.Close() //lint:ignore errcheck ends accept
	p.mu.Lock()
	p.closed = true
	for conn := range p.links {
		conn.Close() //lint:ignore errcheck closing is all that is wanted
	}
	p.mu.Unlock()
	p.done.Wait()
}

// link is one connection through the proxy. Replies come in the order of the requests.
type link struct {
	proxy         *Proxy
	client, redis net.Conn

	mu      sync.Mutex
	pending [][]string
}

func (l *link) requests() {
	defer l.close()
	in := bufio.NewReader(l.client)
	for {
		raw := &recorder{}
		value, err := readValue(in, raw)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.pending = append(l.pending, words(value))
		l.mu.Unlock()
		if _, err := l.redis.Write(raw.bytes); err != nil {
			return
		}
	}
}

func (l *link) replies() {
	defer l.close()
	in := bufio.NewReader(l.redis)
	for {
		raw := &recorder{}
		value, err := readValue(in, raw)
		if err != nil {
			return
		}
		l.answered(value)
		if _, err := l.client.Write(raw.bytes); err != nil {
			return
		}
	}
}

func (l *link) answered(reply any) {
	l.mu.Lock()
	if len(l.pending) == 0 || isPush(reply) {
		l.mu.Unlock()
		return
	}
	request := l.pending[0]
	l.pending = l.pending[1:]
	l.mu.Unlock()
	l.proxy.seen(Exchange{Request: request, Reply: reply})
}

func (l *link) close() {
	l.client.Close() //lint:ignore errcheck closing is all that is wanted
	l.redis.Close()  //lint:ignore errcheck closing is all that is wanted
	l.proxy.mu.Lock()
	delete(l.proxy.links, l.client)
	delete(l.proxy.links, l.redis)
	l.proxy.mu.Unlock()
}

func words(value any) []string {
	list, _ := value.([]any)
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, _ := item.(string)
		out = append(out, text)
	}
	return out
}
