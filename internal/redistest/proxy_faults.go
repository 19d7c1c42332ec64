package redistest

import (
	"net"
	"time"
)

// Slow delivers everything in pieces of at most that many bytes, each after that latency. Slow(0, 0) ends it.
func (p *Proxy) Slow(latency time.Duration, piece int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency, p.piece = latency, piece
}

// HalfOpen makes Redis' side of all present connections go away without a word to the client: what it sends is lost and
// nothing comes back, as after a crash of the other machine or behind a firewall that forgot the connection. New
// connections work. It returns how many there were.
func (p *Proxy) HalfOpen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	deserted := 0
	for l := range p.links {
		if !l.deserted {
			l.deserted = true
			l.redis.Close() //lint:ignore errcheck closing is all that is wanted
			deserted++
		}
	}
	return deserted
}

func (p *Proxy) isDeserted(l *proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.deserted
}

// deliver writes a chunk at the present speed.
func (p *Proxy) deliver(to net.Conn, chunk []byte) error {
	for len(chunk) > 0 {
		p.mu.Lock()
		latency, piece := p.latency, p.piece
		p.mu.Unlock()
		next := chunk
		if latency > 0 {
			next = chunk[:min(piece, len(chunk))]
			<-time.After(latency) // the fault is that it takes so long
		}
		if _, err := to.Write(next); err != nil {
			return err
		}
		chunk = chunk[len(next):]
	}
	return nil
}
