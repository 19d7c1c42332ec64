package topology

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/265d0351/work/internal/redistest"
)

var addresses atomic.Uint32

// newAddress is one in 127.0.0.0/8 that no other server of this process has, and hardly one of another process.
func newAddress() string {
	n := addresses.Add(1) + uint32(os.Getpid())<<9
	return fmt.Sprintf("127.%d.%d.%d", 64+n>>16%128, n>>8%256, n%256)
}

// gate is a port of a server's own address, behind which stands a port of 127.0.0.1. It is shut while the server does
// not run, so that whoever dials it is refused as on a machine whose server has died.
type gate struct {
	links  *links
	addr   string // the server's own
	target string
	bus    bool

	mu       sync.Mutex
	port     int
	listener net.Listener
	open     map[*link]bool
	done     sync.WaitGroup
}

// newGate finds a port, on which the gate is shut. With bus it is the one of a cluster's bus.
func newGate(n *links, addr string, bus bool) (*gate, error) {
	g := &gate{links: n, addr: addr, bus: bus, open: map[*link]bool{}}
	var err error
	g.port, err = redistest.FreePort(addr)
	return g, err
}

func (g *gate) serve(listener net.Listener) {
	g.listener = listener
	g.done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.mu.Lock()
			if g.listener == listener {
				g.done.Go(func() { g.pass(conn) })
			} else {
				_ = conn.Close() // the server has gone
			}
			g.mu.Unlock()
		}
	})
}

// pass carries one connection to its end. What a server that is cut off dials takes until it is healed.
func (g *gate) pass(caller net.Conn) {
	called, err := net.Dial("tcp", g.target)
	if err != nil {
		_ = caller.Close() // as if the server had refused it
		return
	}
	l := &link{server: g.addr, bus: g.bus, caller: caller, called: called, ended: make(chan struct{})}
	if peer, _, err := net.SplitHostPort(caller.RemoteAddr().String()); err == nil && peer != "127.0.0.1" {
		l.peer = peer
	}
	g.mu.Lock()
	shut := g.listener == nil
	g.open[l] = true
	g.mu.Unlock()
	if shut {
		l.end()
	}
	var ways sync.WaitGroup
	ways.Go(func() { g.links.carry(l, caller, called, false) })
	ways.Go(func() { g.links.carry(l, called, caller, true) })
	ways.Wait()
	g.mu.Lock()
	delete(g.open, l)
	g.mu.Unlock()
}

// shut ends all connections and refuses new ones.
func (g *gate) shut() {
	g.mu.Lock()
	if g.listener != nil {
		_ = g.listener.Close() // ends the accepting
		g.listener = nil
	}
	for l := range g.open {
		l.end()
	}
	g.mu.Unlock()
	g.done.Wait()
}

// reopen listens on the same port again.
func (g *gate) reopen() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", g.name())
	if err != nil {
		return err
	}
	g.serve(listener)
	return nil
}

func (g *gate) name() string { return net.JoinHostPort(g.addr, strconv.Itoa(g.port)) }

// unusable tells whether this machine lacks the addresses.
func unusable(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }
