package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/265d0351/work/internal/redisconn"
)

// Server is one Redis inside this process. Its methods may be called concurrently.
type Server struct {
	mini *miniredis.Miniredis
	srv  *server.Server
	addr string // "" of one that has no port
	name string // of memory://NAME; "" of one that has a port

	closed  atomic.Bool
	clients sync.Map // *server.Peer: the connections that have sent something
	see     atomic.Pointer[func(command string, args []string)]

	mu   sync.Mutex
	held time.Time // zero while the clock is the real one
}

// Start starts an empty server that listens on a free port of 127.0.0.1. Its clock, for TIME and for TTLs, is the real
// one until SetTime or Advance. The caller closes it.
func Start() (*Server, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("embedded Redis cannot listen on a free port of 127.0.0.1: %w", err)
	}
	s := newServer(mini)
	s.addr = mini.Addr()
	return s, nil
}

// StartUnlisted is Start without a port: only this process reaches the server, by its DSN. Its connections need no file
// descriptors, and in a bubble of testing/synctest, in which all of its clients are, it has the time of the bubble.
func StartUnlisted() (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	shared.made++
	return startNamed("unlisted-" + strconv.Itoa(shared.made))
}

// startNamed starts the server of memory://NAME; shared is locked.
func startNamed(name string) (*Server, error) {
	mini := miniredis.NewMiniRedis()
	first, err := mini.Dial() // which starts it
	if err != nil {
		return nil, fmt.Errorf("embedded Redis cannot start: %w", err)
	}
	defer first.Close() //lint:ignore errcheck it was never used
	s := newServer(mini)
	s.name = name
	shared.servers[name] = s
	return s, nil
}

func newServer(mini *miniredis.Miniredis) *Server {
	mini.ClockTTL(true)
	s := &Server{mini: mini, srv: mini.Server()}
	s.srv.SetPreHook(s.before)
	return s
}

// dial makes a connection within the process.
func (s *Server) dial(context.Context) (net.Conn, error) {
	if s.closed.Load() {
		return nil, errors.New("the embedded Redis was closed")
	}
	client, its := newPipe()
	s.srv.ServeConn(its)
	return client, nil
}

// before comes before every command, those inside scripts included.
func (s *Server) before(peer *server.Peer, command string, args ...string) (done bool) {
	if s.isClient(peer) {
		s.tick()
	}
	if see := s.see.Load(); see != nil {
		(*see)(command, args)
	}
	return false
}

// isClient tells a connection from what stands for one while a script runs. Only a connection has no context with its
// first command.
func (s *Server) isClient(peer *server.Peer) bool {
	if _, known := s.clients.Load(peer); known {
		return true
	}
	if peer.Ctx != nil {
		return false
	}
	s.clients.Store(peer, nil)
	peer.OnDisconnect(func() { s.clients.Delete(peer) })
	return true
}

// tick moves the clock up to the real one, and keeps it there until the next command of a client: miniredis looks at
// all keys whenever time has passed, and in a script it would with every call. The lock keeps the clock from going back
// where two connections do so.
func (s *Server) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.IsZero() {
		s.mini.SetTime(time.Now().UTC())
	}
}

// Addr is the host and port it listens on, also after Close; "" of one that is unlisted.
func (s *Server) Addr() string { return s.addr }

// DSN is what NewEnqueuer and WorkerOptions take.
func (s *Server) DSN() string {
	if s.addr == "" {
		return "memory://" + s.name
	}
	return "redis://" + s.addr + "/0"
}

// Close disconnects every client and forgets everything. It returns when all goroutines of the server have ended. A
// second Close does nothing.
func (s *Server) Close() {
	s.closed.Store(true)
	s.mini.Close()
	shared.Lock()
	defer shared.Unlock()
	if shared.servers[s.name] == s {
		delete(shared.servers, s.name)
	}
}

// SetTime holds the clock at t, for TIME and for TTLs: keys whose TTL has passed by then are gone. A t before the
// present time of the server gives keys their remaining TTL from t on. How long BLPOP waits follows the real clock.
func (s *Server) SetTime(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setTime(t)
}

// Advance moves the clock by d and holds it there.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.held
	if now.IsZero() {
		now = time.Now()
	}
	s.setTime(now.Add(d))
}

func (s *Server) setTime(t time.Time) {
	s.held = t
	s.mini.SetTime(t)
}

// FastForward takes d from every TTL and leaves TIME as it is.
func (s *Server) FastForward(d time.Duration) { s.mini.FastForward(d) }

// Hook calls see with every command before it runs, those inside scripts included, until another Hook or Hook(nil).
// The name is in upper case. see must not call the server and must not change args; it may run in several goroutines
// at once.
func (s *Server) Hook(see func(command string, args []string)) {
	if see == nil {
		s.see.Store(nil)
		return
	}
	s.see.Store(&see)
}

func init() { redisconn.RegisterScheme("memory", openMemory) }

// shared are the servers behind memory://NAME.
var shared = struct {
	sync.Mutex
	servers map[string]*Server
	made    int // servers that are unlisted
}{servers: map[string]*Server{}}

// openMemory makes connections of memory://NAME/DB?options to the server of that name.
func openMemory(u *url.URL) (redisconn.Driver, error) {
	if u.User != nil {
		return nil, fmt.Errorf("memory://%s has a user or password: the embedded Redis has none, leave them out",
			u.Host)
	}
	target, err := sharedServer(u.Host)
	if err != nil {
		return nil, err
	}
	return redisconn.OpenWithin(u, "memory://"+u.Host, target.dial)
}

func sharedServer(name string) (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if s := shared.servers[name]; s != nil {
		return s, nil
	}
	return startNamed(name)
}

// CloseShared closes the servers behind memory://NAME, with all that is in them. It is for tests that look for
// goroutines left behind; the next use of a name starts an empty server.
func CloseShared() {
	shared.Lock()
	all := slices.Collect(maps.Values(shared.servers))
	shared.Unlock()
	for _, s := range all {
		s.Close()
	}
}
