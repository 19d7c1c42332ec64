package topology

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/265d0351/work/internal/redistest"
)

// Server is a redis-server with an address of its own, with data or as a Sentinel.
type Server struct {
	t       testing.TB
	links   *links
	addr    string // without a port
	front   *gate
	bus     *gate // nil but in a cluster
	process *redistest.Process
	id      string // of a node of a cluster
}

// role is what a server is started as.
type role int

const (
	plain role = iota
	node
	sentinel
)

// start starts a server. In its arguments it announces the gates, and binds what it dials to its own address, by which
// the gates of the others know it.
func (n *links) start(t testing.TB, as role, config string, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, links: n, addr: newAddress()}
	s.front = s.gate(false)
	own := []string{s.config(config), "--bind-source-addr", s.addr}
	switch port := strconv.Itoa(s.front.port); as {
	case plain:
		own = append(own, "--replica-announce-ip", s.addr, "--replica-announce-port", port)
	case sentinel:
		own = append(own, "--sentinel")
	case node:
		s.bus = s.gate(true)
		free, err := redistest.FreePort("127.0.0.1")
		s.check(err)
		s.bus.target = net.JoinHostPort("127.0.0.1", strconv.Itoa(free))
		own = append(own, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(free),
			"--cluster-announce-ip", s.addr, "--cluster-announce-port", port,
			"--cluster-announce-bus-port", strconv.Itoa(s.bus.port),
			"--replica-announce-ip", s.addr, "--replica-announce-port", port)
	}
	if as != sentinel {
		n.change(func() { n.data[s.addr] = true })
		own = append(own, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
	}
	s.process = redistest.Dedicated(t, append(own, args...)...)
	s.front.target = s.process.Addr()
	s.check(s.open()) // nothing came in before there was a target
	t.Cleanup(s.Kill)
	t.Cleanup(s.testify)
	return s
}

// testify logs what the server has to say about the others when the test has failed.
func (s *Server) testify() {
	if !s.t.Failed() {
		return
	}
	for _, ask := range [][]any{{"INFO", "replication"}, {"INFO", "sentinel"}, {"CLUSTER", "NODES"}} {
		if said, err := redis.String(s.Do(ask[0].(string), ask[1:]...)); err == nil && said != "" {
			s.t.Logf("%s (%s) says:\n%s", s.Addr(), s.Direct(), said)
		}
	}
}

// config writes what the server may rewrite, as Sentinels do and as they have others do.
func (s *Server) config(text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "redis.conf")
	s.check(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// gate finds a port, and stays shut until the server runs.
func (s *Server) gate(bus bool) *gate {
	s.t.Helper()
	g, err := newGate(s.links, s.addr, bus)
	if unusable(err) {
		redistest.Missing(s.t, fmt.Errorf("servers that are told apart by their addresses need all of 127.0.0.0/8, "+
			"as on Linux: %w", err))
	}
	s.check(err)
	s.t.Cleanup(g.shut)
	return g
}

func (s *Server) open() error {
	if s.bus != nil {
		if err := s.bus.reopen(); err != nil {
			return err
		}
	}
	return s.front.reopen()
}

// Addr is the address that it announces, of host and port, the same after Restart.
func (s *Server) Addr() string { return s.front.name() }

// Direct is its address past the proxy: Isolate and Lag are not about who calls it there.
func (s *Server) Direct() string { return s.process.Addr() }

// ID is the one that it has in a Cluster, and empty elsewhere.
func (s *Server) ID() string { return s.id }

// Kill ends it with SIGKILL. It keeps nothing: none of its data was on disk. It may be called again.
func (s *Server) Kill() {
	s.process.Kill()
	s.front.shut()
	if s.bus != nil {
		s.bus.shut()
	}
}

// Restart starts it again, killed before if need be, on the same addresses. A node of a Cluster knows the others still;
// one that Sentinels watch begins as it was configured last, by them if they have.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.check(s.process.Restart())
	s.check(s.open())
}

// Pause stops it in its tracks: connections stay open and nothing answers.
func (s *Server) Pause() {
	s.t.Helper()
	s.check(s.process.Pause())
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.check(s.process.Resume())
}

// Isolate cuts it off from all other servers. Clients reach it as before.
func (s *Server) Isolate() { s.links.change(func() { s.links.isolated[s.addr] = true }) }

// Heal ends Isolate: what was sent meanwhile arrives.
func (s *Server) Heal() { s.links.change(func() { delete(s.links.isolated, s.addr) }) }

// Do asks it, past the proxy, over a connection of its own. It may be called concurrently.
func (s *Server) Do(command string, args ...any) (any, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, args...)
}

func (s *Server) dial() (redis.Conn, error) {
	return redis.Dial("tcp", s.Direct(), redis.DialConnectTimeout(5*time.Second),
		redis.DialReadTimeout(10*time.Second), redis.DialWriteTimeout(10*time.Second))
}

// must is Do of what has to succeed.
func (s *Server) must(command string, args ...any) any {
	s.t.Helper()
	value, err := s.Do(command, args...)
	if err != nil {
		s.t.Fatalf("%s %v at %s: %v", command, args, s.Addr(), err)
	}
	return value
}

func (s *Server) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Info is one line of INFO, such as master_link_status, or empty if it does not answer.
func (s *Server) Info(name string) string {
	info, err := redis.String(s.Do("INFO", "everything"))
	if err != nil {
		return ""
	}
	return line(info, name+":")
}
