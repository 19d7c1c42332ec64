package dashboard

import (
	"net"
	"net/netip"
	"sync"
)

// The most connections in all, and of one address, which may be a proxy. Further connections are closed at once.
const (
	maxConns = 1000
	maxOfOne = 250
)

// crowd is a listener that bounds its connections, since each costs memory before anybody has logged in.
type crowd struct {
	net.Listener
	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
}

func newCrowd(l net.Listener) *crowd { return &crowd{Listener: l, from: map[netip.Addr]int{}} }

// Accept waits for a connection that has a place.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // of a zero one all are counted together
		if c.enter(peer.Addr()) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { c.leave(peer.Addr()) })}, nil
		}
		_ = conn.Close() // nothing was sent on it
	}
}

func (c *crowd) enter(addr netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= maxConns || c.from[addr] >= maxOfOne {
		return false
	}
	c.all++
	c.from[addr]++
	return true
}

func (c *crowd) leave(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[addr]--; c.from[addr] == 0 {
		delete(c.from, addr)
	}
}

// counted is a connection that has a place until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close gives the place back.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
